package web

import (
	"net/netip"
	"testing"
)

// Every block is one, with the kind that an error tells, and no check parses it again.
func TestRule(t *testing.T) {
	for _, s := range special() {
		if p, err := netip.ParsePrefix(s[0]); err != nil || p != p.Masked() || s[1] == "" {
			t.Errorf("%q: %v, %v", s, p, err)
		}
	}
	r, a := newRule(), netip.MustParseAddr("8.8.8.8")
	if n := testing.AllocsPerRun(100, func() { _ = r.check(a) }); len(r.special) != len(special()) || n != 0 {
		t.Errorf("%d blocks, %v allocations", len(r.special), n)
	}
}

func TestCheckAddress(t *testing.T) {
	r := newRule()
	for _, a := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.9.9.9", "169.254.169.254", "172.16.0.1",
		"172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.7", "203.0.113.9",
		"224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::808:808",
		"64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "5f00::1", "fc00::1", "fd12::1",
		"fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "4000::1",
	} {
		if err := r.check(netip.MustParseAddr(a)); err == nil {
			t.Errorf("%s is public", a)
		}
	}
	for _, a := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.1.1.1", "128.0.0.1", "169.253.1.1",
		"172.15.0.1", "172.32.0.1", "192.0.1.1", "192.167.1.1", "198.17.1.1", "198.20.0.1", "223.255.255.255",
		"2001:200::1", "2606:4700::1111", "2a00::1", "::ffff:8.8.8.8",
	} {
		if err := r.check(netip.MustParseAddr(a)); err != nil {
			t.Errorf("%s: %v", a, err)
		}
	}
}
