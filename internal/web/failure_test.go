package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// served is a server that handles one connection after another, and closes each.
func served(t *testing.T, handle func(c net.Conn)) (address string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			handle(c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return "http://" + l.Addr().String()
}

// raw is a server that answers each connection with what it is given, and closes it.
func raw(t *testing.T, answer string) (address string) {
	t.Helper()
	return served(t, func(c net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(c))
		_, _ = io.WriteString(c, answer)
	})
}

// Where a connection fails, the error says what and where, and nothing of how programs call it.
func TestFailures(t *testing.T) {
	const nothing = "the server closed the connection without an answer"
	for name, c := range map[string]struct{ answer, want string }{
		"nothing":         {"", nothing},
		"another status":  {"HTTP/1.1 not OK\r\n\r\n", `the server's answer is not as HTTP has it: malformed HTTP status code "not"`},
		"another service": {"220 mail.example ESMTP\r\n", `the server's answer is not as HTTP has it: malformed HTTP status code "mail.example"`},
		"half a page":     {"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nhalf", "only a part of the page came: the server closed the connection before its end"},
		"half a chunk":    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf", "only a part of the page came: the server closed the connection before its end"},
	} {
		t.Run(name, func(t *testing.T) {
			address := raw(t, c.answer)
			if _, err := fetch(t.Context(), local(nil), address); err == nil || err.Error() != address+": "+c.want {
				t.Errorf("%v\nwant %s", err, c.want)
			}
			want := "SearXNG: " + strings.ReplaceAll(c.want, "the page", "the answer")
			if !strings.Contains(c.want, "part of the page") {
				want += "; is web.searxng_url right, and does the instance run?"
			}
			if _, _, err := search(t.Context(), searxng{address}, 1); err == nil || err.Error() != want {
				t.Errorf("searching: %v\nwant %s", err, want)
			}
		})
	}
	_, err := fetch(t.Context(), local(nil), "http://127.0.0.1:1/x")
	if want := "http://127.0.0.1:1/x: cannot connect to 127.0.0.1:1: connection refused"; err == nil || err.Error() != want || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%v\nwant %s", err, want)
	}
	_, err = fetch(t.Context(), NewClient(false, nil), "http://127.0.0.1/x")
	if want := "http://127.0.0.1/x: the address 127.0.0.1 is not public (loopback); web.allow_private permits it"; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	for _, port := range []string{"99999", "0", "65536", "123456789123456789123456789"} {
		wants(t, local(nil), "http://site.example:"+port+"/", ": there is no port "+port+": they are 1 to 65535")
	}
}

// A name that leads nowhere is named, not who was asked for it.
func TestNoSuchHost(t *testing.T) {
	for code, want := range map[dnsmessage.RCode]string{
		dnsmessage.RCodeNameError:     "http://nope.invalid/: there is no host nope.invalid",
		dnsmessage.RCodeServerFailure: "http://nope.invalid/: the address of nope.invalid cannot be found: the name server gives no answer that can be used",
	} {
		c := local(nil)
		c.resolver = resolverOf(t, func(m *dnsmessage.Message, _ dnsmessage.Question) { m.RCode = code })
		_, err := fetch(t.Context(), c, "http://nope.invalid/")
		if lookup := (*net.DNSError)(nil); err == nil || err.Error() != want || !errors.As(err, &lookup) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	lookup := &net.DNSError{Err: "i/o timeout", Name: "slow.example", Server: "10.0.0.1:53", IsTimeout: true}
	if got := unanswered(&net.OpError{Op: "dial", Err: lookup}).Error(); got != "the address of slow.example was not found in time: the name server does not answer" {
		t.Error(got)
	}
}

// What takes too long says how long it was given.
func TestTimesOfTransport(t *testing.T) {
	s := site(t, map[string]http.HandlerFunc{"/": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }})
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // which never accepts, nor says a word of TLS
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	tr := &http.Transport{ResponseHeaderTimeout: 20 * time.Millisecond, TLSHandshakeTimeout: 20 * time.Millisecond}
	t.Cleanup(tr.CloseIdleConnections)
	for address, want := range map[string]string{
		s.URL:                            "the server did not begin to answer within 30s",
		"https://" + l.Addr().String():   "the server took the connection and did not encrypt it within 10s",
		"http://" + l.Addr().String():    "the server did not begin to answer within 30s",
		"http://127.0.0.1:1/in/no/time/": "cannot connect to 127.0.0.1:1: connection refused",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := tr.RoundTrip(newRequest(t.Context(), u))
		if err == nil {
			resp.Body.Close()
			t.Fatalf("%s answers", address)
		}
		if got := unanswered(err); got.Error() != want || !errors.Is(got, err) {
			t.Errorf("%s: %v, want %s", address, got, want)
		}
	}
	slow := &net.OpError{Op: "dial", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}, Err: context.DeadlineExceeded}
	if got := unanswered(slow).Error(); got != "cannot connect to 192.0.2.1:80: no answer within 10s" {
		t.Error(got)
	}
}

// told is a connection that tells when it is closed.
type told struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (c *told) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// A server may close a connection before the request is on its way, which net/http tells by an error of its own.
func TestClosedBeforeRequest(t *testing.T) {
	address := served(t, func(net.Conn) {})
	closed := make(chan struct{})
	tr := newTransport(nil, anywhere)
	dial := tr.DialContext
	tr.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		return &told{Conn: c, closed: closed}, err
	}
	t.Cleanup(tr.CloseIdleConnections)
	// The transport has noticed that it is closed before it begins with the request.
	within, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ctx := httptrace.WithClientTrace(within, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		select {
		case <-closed:
		case <-within.Done():
		}
	}})
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(newRequest(ctx, u))
	if err == nil {
		resp.Body.Close()
		t.Fatal("the server answers")
	}
	if got := unanswered(err); errors.Is(err, io.EOF) || got.Error() != "the server closed the connection without an answer" {
		t.Errorf("%v, of %v", got, err)
	}
}

// When a server wants to be asked again is told as long as somebody may wait for it.
func TestLater(t *testing.T) {
	date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	now := date(time.Hour)
	for header, want := range map[string]string{
		"": "", "30": "30 s", "86400": "86400 s", "86401": "more than a day", strings.Repeat("9", 500): "more than a day", now: now,
		date(48 * time.Hour): "more than a day", "Fri, 31 Dec 9999 23:59:59 GMT": "more than a day", "soon\tor later": "soon or later", strings.Repeat("x", 500): strings.Repeat("x", 200) + "...",
	} {
		if got := later(header); got != want {
			t.Errorf("%.40q: %q, want %q", header, got, want)
		}
	}
	for _, wait := range []string{"9999999999", strings.Repeat("9", 30)} {
		s := siteOf(t, refuse(http.StatusTooManyRequests, "text/plain", "", "Retry-After", wait))
		_, waits, err := search(t.Context(), brave{s.URL, "k"}, 1)
		if want := "it wants to be asked again in more than a day, which is too long to wait"; err == nil || !strings.Contains(err.Error(), want) || len(waits) > 0 {
			t.Errorf("%v, waited %v", err, waits)
		}
		wants(t, local(nil), s.URL, fmt.Sprintf("429 Too Many Requests; it wants to be asked again after %s", "more than a day"))
	}
}
