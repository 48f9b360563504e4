package web

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// public makes one address of this machine one that the rule lets through, as a server in the world
// would be.
func public(a string) func(netip.Addr) error {
	rule := newRule()
	return func(got netip.Addr) error {
		if got.Unmap() == netip.MustParseAddr(a) {
			return nil
		}
		return rule.check(got)
	}
}

func TestPrivateAddresses(t *testing.T) {
	var hits atomic.Int32
	s := site(t, map[string]http.HandlerFunc{"/": func(http.ResponseWriter, *http.Request) { hits.Add(1) }})
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	c := NewClient(false, nil)
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254", "[64:ff9b::7f00:1]"} {
		wants(t, c, "http://"+host+":"+port+"/", "is not public")
	}
	t.Setenv("HTTP_PROXY", s.URL) // would dial in our place
	t.Setenv("http_proxy", s.URL)
	wants(t, c, "http://169.254.169.254/latest/meta-data",
		"the address 169.254.169.254 is not public (link-local, where a cloud hands out the credentials of its machine); web.allow_private permits it")
	wants(t, c, "http://169.254.1.1/", "the address 169.254.1.1 is not public (link-local); web.allow_private permits it")
	if hits.Load() != 0 {
		t.Errorf("%d requests came", hits.Load())
	}
}

func TestRedirectToPrivate(t *testing.T) {
	var hits atomic.Int32
	inner := site(t, map[string]http.HandlerFunc{"/": func(http.ResponseWriter, *http.Request) { hits.Add(1) }})
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(inner.URL, "http://"))
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.2:0")
	if err != nil {
		t.Skip("this system has no address 127.0.0.2: ", err)
	}
	targets := []string{"http://127.0.0.1:" + port, "http://localhost:" + port, "http://169.254.169.254/", "http://[::ffff:7f00:1]:" + port}
	outer := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, targets[len(r.URL.Path)-1], http.StatusFound)
	})}
	go func() { _ = outer.Serve(l) }()
	t.Cleanup(func() { _ = outer.Close() })
	c := NewClient(false, nil)
	c.refuse = public("127.0.0.2")
	for i, target := range targets {
		wants(t, c, "http://"+l.Addr().String()+"/"+strings.Repeat("x", i), "redirected to "+target)
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests came", hits.Load())
	}
}

// A name that is public when it is asked for first, and private then.
func TestRebindingResolver(t *testing.T) {
	var hits, answers atomic.Int32
	inner := http.Server{ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		w.Header().Set("Connection", "close") // the next request needs a new address
		if r.URL.Path == "/start" {
			http.Redirect(w, r, "/next", http.StatusFound)
		}
	})}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = inner.Serve(l) }()
	t.Cleanup(func() { _ = inner.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())

	c := NewClient(false, nil)
	c.refuse = public("127.0.0.2")
	c.resolver = resolver(t, func() [4]byte {
		if answers.Add(1) == 1 {
			return [4]byte{127, 0, 0, 2}
		}
		return [4]byte{127, 0, 0, 1}
	})
	wants(t, c, "http://rebind.example:"+port+"/start", "the address 127.0.0.1 is not public")
	if hits.Load() != 1 || answers.Load() != 2 {
		t.Errorf("%d requests came, %d names were resolved", hits.Load(), answers.Load())
	}
}

// resolver answers every question for an IPv4 address with what answer says.
func resolver(t *testing.T, answer func() [4]byte) *net.Resolver {
	t.Helper()
	return resolverOf(t, func(m *dnsmessage.Message, q dnsmessage.Question) {
		if q.Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: &dnsmessage.AResource{A: answer()},
			}}
		}
	})
}

// resolverOf answers with what answer makes of a reply.
func resolverOf(t *testing.T, answer func(reply *dnsmessage.Message, q dnsmessage.Question)) *net.Resolver {
	t.Helper()
	p, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := p.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Additionals = true, nil
			answer(&m, m.Questions[0])
			if reply, err := m.Pack(); err == nil {
				_, _ = p.WriteTo(reply, from)
			}
		}
	}()
	t.Cleanup(func() { _ = p.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", p.LocalAddr().String())
	}}
}
