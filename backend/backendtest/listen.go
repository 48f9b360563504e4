package backendtest

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
)

// listenCases are run for both networks.
func listenCases() []testCase {
	shared := []struct {
		name string
		run  func(ctx context.Context, e *env, l net.Listener)
	}{
		{"1 MiB both ways", listenEcho},
		{"16 connections", listenMany},
		{"300 connections one after another", listenSeries},
		{"half-close by the guest", listenGuestHalfClose},
		{"half-close by the host", listenHostHalfClose},
		{"stalled connections do not stop others", listenStalled},
		{"guest dies in a connection", listenGuestDies},
		{"deadlines are kept or refused", listenDeadlines},
		{"close", listenClose},
	}
	var cases []testCase
	for _, network := range []string{"unix", "tcp"} {
		for _, tc := range shared {
			cases = append(cases, testCase{"listen " + network + " " + tc.name, func(ctx context.Context, e *env) {
				tc.run(ctx, e, e.listen(ctx, network, ""))
			}})
		}
	}
	return append(cases,
		testCase{"listen unix is private", listenPrivate},
		testCase{"listen at an address", listenAddress},
		testCase{"listen at an address that is taken", listenTaken},
		testCase{"listen on an unknown network", listenUnknown},
		testCase{"listen outlives its ctx", listenCtx},
	)
}

// listen opens a listener that is closed with the case.
func (e *env) listen(ctx context.Context, network, address string) net.Listener {
	e.Helper()
	l, err := e.Listen(ctx, network, address)
	if err != nil {
		e.Fatalf("listen %s %q: %v", network, address, err)
	}
	e.Cleanup(func() { shut(l) })
	return l
}

// dial is a command that connects to l from inside and does what the mode says.
func (e *env) dial(l net.Listener, mode string, args ...string) backend.Cmd {
	return e.script("dial.py", append([]string{l.Addr().Network(), l.Addr().String(), mode}, args...)...)
}

// accept accepts a connection that is closed with the case.
func (e *env) accept(l net.Listener) net.Conn {
	e.Helper()
	conn, err := l.Accept()
	if err != nil {
		e.Fatalf("accept: %v", err)
	}
	e.Cleanup(func() { shut(conn) })
	return conn
}

// closeWrite ends the host's direction of a connection.
func (e *env) closeWrite(conn net.Conn) {
	e.Helper()
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok {
		e.Fatalf("%T cannot be closed by halves", conn)
	}
	if err := half.CloseWrite(); err != nil {
		e.Errorf("close write: %v", err)
	}
}

// serveEcho answers every connection with what it says until l is closed. The function that it
// returns waits for all of them.
func serveEcho(l net.Listener) (wait func()) {
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer shut(conn)
				_, _ = io.Copy(conn, conn)
			})
		}
	})
	return wg.Wait
}

func listenEcho(ctx context.Context, e *env, l net.Listener) {
	defer serveEcho(l)()
	defer shut(l)
	if got := e.output(ctx, e.dial(l, "echo", "1", itoa(1<<20))); got != "1 echoed\n" {
		e.Errorf("got %q", got)
	}
}

func listenMany(ctx context.Context, e *env, l net.Listener) {
	defer serveEcho(l)()
	defer shut(l)
	if got := e.output(ctx, e.dial(l, "echo", "16", "300000")); got != "16 echoed\n" {
		e.Errorf("got %q", got)
	}
}

func listenSeries(ctx context.Context, e *env, l net.Listener) {
	defer serveEcho(l)()
	defer shut(l)
	if got := e.output(ctx, e.dial(l, "series", "300")); got != "300 echoed\n" {
		e.Errorf("got %q", got)
	}
}

func listenGuestHalfClose(ctx context.Context, e *env, l net.Listener) {
	p := e.start(ctx, e.dial(l, "ask"))
	conn := e.accept(l)
	if got, err := io.ReadAll(conn); string(got) != "question" || err != nil {
		e.Errorf("got %q, %v", got, err)
	}
	if _, err := io.WriteString(conn, "answer"); err != nil {
		e.Errorf("answer: %v", err)
	}
	shut(conn)
	p.wait(ctx)
	if got := p.out.String(); got != "answer\n" {
		e.Errorf("the guest got %q", got)
	}
}

func listenHostHalfClose(ctx context.Context, e *env, l net.Listener) {
	p := e.start(ctx, e.dial(l, "answer"))
	conn := e.accept(l)
	if _, err := io.WriteString(conn, "question"); err != nil {
		e.Errorf("ask: %v", err)
	}
	e.closeWrite(conn)
	if got, err := io.ReadAll(conn); string(got) != "answer to question" || err != nil {
		e.Errorf("got %q, %v", got, err)
	}
	p.wait(ctx)
}

// listenStalled: one connection whose host does not read and one whose guest does not read are
// full, and another one works.
func listenStalled(ctx context.Context, e *env, l net.Listener) {
	flood := e.ready(ctx, e.dial(l, "flood"))
	unread := e.accept(l)
	idle := e.ready(ctx, e.dial(l, "idle"))
	full := e.accept(l)
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(full, &zeros{}) })
	echo := e.start(ctx, e.dial(l, "echo", "1", "4000000"))
	conn := e.accept(l)
	wg.Go(func() { _, _ = io.Copy(conn, conn); shut(conn) })
	echo.wait(ctx)
	shut(full)
	shut(unread)
	wg.Wait()
	flood.wait(ctx) // ends when its connection does
	idle.kill(ctx)
}

func listenGuestDies(ctx context.Context, e *env, l net.Listener) {
	p := e.ready(ctx, e.dial(l, "idle"))
	conn := e.accept(l)
	p.kill(ctx)
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		e.Errorf("read %d bytes from the dead", n)
	}
	e.Cleanup(func() { shut(conn) })
}

func listenDeadlines(ctx context.Context, e *env, l net.Listener) {
	p := e.ready(ctx, e.dial(l, "idle"))
	conn := e.accept(l)
	err := conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if errors.Is(err, os.ErrNoDeadline) {
		p.kill(ctx)
		return // said, and not ignored
	}
	if err != nil {
		e.Fatal(err)
	}
	_, err = conn.Read(make([]byte, 1))
	e.wantErr("read after the deadline", err, os.ErrDeadlineExceeded)
	if err := conn.SetDeadline(time.Time{}); err != nil {
		e.Fatal(err)
	}
	if _, err := io.WriteString(conn, "goes on"); err != nil {
		e.Errorf("write: %v", err)
	}
	p.kill(ctx)
}

// listenClose: Close ends Accept, nobody can dial any more, and it may be called twice. A
// connection that is open lives on.
func listenClose(ctx context.Context, e *env, l net.Listener) {
	p := e.start(ctx, e.dial(l, "answer"))
	conn := e.accept(l)
	accepted := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		accepted <- err
	}()
	if err := l.Close(); err != nil {
		e.Errorf("close: %v", err)
	}
	e.wantErr("accept", <-accepted, net.ErrClosed)
	_ = l.Close()
	if got := e.start(ctx, e.dial(l, "idle")).exit(ctx); got.Code == 0 {
		e.Error("a closed listener was dialled")
	}
	if _, err := io.WriteString(conn, "still"); err != nil {
		e.Errorf("write: %v", err)
	}
	e.closeWrite(conn)
	if got, err := io.ReadAll(conn); string(got) != "answer to still" || err != nil {
		e.Errorf("got %q, %v", got, err)
	}
	p.wait(ctx)
	if l.Addr().Network() == "unix" && e.stat(ctx, l.Addr().String())[0].Kind != "" {
		e.Error("the socket stays")
	}
}

func listenPrivate(ctx context.Context, e *env) {
	address := e.listen(ctx, "unix", "").Addr().String()
	found := e.stat(ctx, address, path.Dir(address))
	if found[0].Kind != "socket" || found[0].Mode&0o777 != 0o600 || found[1].Mode != 0o700 {
		e.Errorf("socket %+v in %+v", found[0], found[1])
	}
	if len(address) > 103 {
		e.Errorf("%d bytes are more than macOS can bind: %s", len(address), address)
	}
	if other := e.listen(ctx, "unix", "").Addr().String(); other == address {
		e.Errorf("two listeners at %s", address)
	}
}

func listenAddress(ctx context.Context, e *env) {
	addresses := map[string]string{"unix": e.scratch("my.sock"), "tcp": "127.0.0.1:0"}
	for _, network := range e.networks {
		address := addresses[network]
		l := e.listen(ctx, network, address)
		if got := l.Addr().String(); network == "unix" && got != address {
			e.Errorf("listens at %q, not at %q", got, address)
		}
		wait := serveEcho(l)
		if got := e.output(ctx, e.dial(l, "echo", "1", "100")); got != "1 echoed\n" {
			e.Errorf("got %q", got)
		}
		shut(l)
		wait()
	}
}

func listenTaken(ctx context.Context, e *env) {
	e.put(ctx, e.scratch("file"), "mine", 0o600)
	if l, err := e.Listen(ctx, "unix", e.scratch("file")); err == nil {
		shut(l)
		e.Error("listens at a file")
	}
	if got := e.get(ctx, e.scratch("file")); got != "mine" {
		e.Errorf("the file is %q", got)
	}
	first := e.listen(ctx, "tcp", "")
	if l, err := e.Listen(ctx, "tcp", first.Addr().String()); err == nil {
		shut(l)
		e.Error("two listeners at one port")
	}
	if l, err := e.Listen(ctx, "unix", e.scratch(strings.Repeat("x", 200))); err == nil {
		shut(l)
		e.Error("listens at a path that is too long")
	}
}

func listenUnknown(ctx context.Context, e *env) {
	for _, network := range []string{"udp", "carrier pigeon", ""} {
		l, err := e.Listen(ctx, network, "")
		if err == nil {
			shut(l)
		}
		e.wantErr("listen "+network, err, errors.ErrUnsupported)
	}
}

func listenCtx(ctx context.Context, e *env) {
	short, cancel := context.WithCancel(ctx)
	l := e.listen(short, e.network(), "")
	cancel()
	defer serveEcho(l)()
	defer shut(l)
	if got := e.output(ctx, e.dial(l, "echo", "1", "100")); got != "1 echoed\n" {
		e.Errorf("got %q", got)
	}
}
