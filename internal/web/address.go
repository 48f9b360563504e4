package web

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
)

// addressError says that an address may not be dialled.
type addressError struct {
	addr netip.Addr
	kind string
}

func (e *addressError) Error() string {
	return fmt.Sprintf("the address %s is not public (%s); web.allow_private permits it", e.addr, e.kind)
}

// rule says which addresses are public. It is made once for a transport, and asked at every dial.
type rule struct {
	special []block
	given   netip.Prefix // of IPv6
}

// block are addresses that are not for the public.
type block struct {
	prefix netip.Prefix
	kind   string
}

func newRule() rule {
	r := rule{given: netip.MustParsePrefix("2000::/3")}
	for _, s := range special() {
		r.special = append(r.special, block{netip.MustParsePrefix(s[0]), s[1]})
	}
	return r
}

// special are the blocks that are not for the public, and of what kind they are, as the registries of
// special-purpose addresses have them. Of IPv6 nothing but 2000::/3 is given out, so that the rest needs
// no list.
func special() [][2]string {
	return [][2]string{
		{"0.0.0.0/8", "this network"},
		{"10.0.0.0/8", "private"},
		{"100.64.0.0/10", "shared by carriers"},
		{"127.0.0.0/8", "loopback"},
		{"169.254.169.254/32", "link-local, where a cloud hands out the credentials of its machine"},
		{"169.254.0.0/16", "link-local"},
		{"172.16.0.0/12", "private"},
		{"192.0.0.0/24", "reserved"},
		{"192.0.2.0/24", "documentation"},
		{"192.88.99.0/24", "a relay for IPv6"},
		{"192.168.0.0/16", "private"},
		{"198.18.0.0/15", "benchmarks"},
		{"198.51.100.0/24", "documentation"},
		{"203.0.113.0/24", "documentation"},
		{"224.0.0.0/4", "multicast"},
		{"240.0.0.0/4", "reserved"},
		{"::/128", "unspecified"},
		{"::1/128", "loopback"},
		{"64:ff9b::/96", "NAT64"},
		{"64:ff9b:1::/48", "NAT64"},
		{"fc00::/7", "private"},
		{"fe80::/10", "link-local"},
		{"fec0::/10", "site-local"},
		{"ff00::/8", "multicast"},
		{"2001::/23", "reserved"}, // Teredo among it, which carries IPv4 addresses
		{"2001:db8::/32", "documentation"},
		{"2002::/16", "6to4, which carries an IPv4 address"},
		{"3fff::/20", "documentation"},
	}
}

// check says why an address is not public.
func (r rule) check(a netip.Addr) error {
	plain := a.Unmap().WithZone("")
	for _, s := range r.special {
		if s.prefix.Contains(plain) {
			return &addressError{a, s.kind}
		}
	}
	if plain.Is6() && !r.given.Contains(plain) {
		return &addressError{a, "reserved"}
	}
	return nil
}

// newTransport returns a transport that asks check about every address that it is about to dial:
// the socket is there and the name was resolved, so nothing can change behind the answer. It uses no
// proxy, which would dial in its place.
func newTransport(resolver *net.Resolver, check func(netip.Addr) error) *http.Transport {
	dialer := &net.Dialer{
		Timeout: dialTime, Resolver: resolver,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			a, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("dial %s: %w", address, err)
			}
			return check(a.Addr())
		},
	}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // what comes is unpacked where it is counted
		MaxIdleConnsPerHost:    parallel,
		MaxResponseHeaderBytes: 256 << 10,
		TLSHandshakeTimeout:    tlsTime,
		ResponseHeaderTimeout:  answerTime,
	}
}
