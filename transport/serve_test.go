package transport

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
)

// handler answers with a function and counts refusals.
type handler struct {
	handle func(ctx context.Context, c *Call) (json.RawMessage, error)

	mu      sync.Mutex
	refused []error
}

func (h *handler) Handle(ctx context.Context, c *Call) (json.RawMessage, error) {
	return h.handle(ctx, c)
}

func (h *handler) Refuse(reason error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused = append(h.refused, reason)
}

func echo(_ context.Context, c *Call) (json.RawMessage, error) { return c.Args, nil }

// served is an endpoint under test with its handler.
type served struct {
	*Stream
	t    *testing.T
	done chan error
}

func serve(t *testing.T, o Options, h Handler) *served {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	s := &served{Stream: NewStream(ln, ln.Addr().String(), o), t: t, done: make(chan error, 1)}
	go func() { s.done <- s.Serve(context.WithoutCancel(t.Context()), h) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-s.done; err == nil {
			t.Error("Serve ended without a reason")
		}
	})
	return s
}

// dial returns a connection with a line reader.
func (s *served) dial() *client {
	s.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(s.t.Context(), "unix", s.Env()[EnvSocket])
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return &client{Conn: conn, r: bufio.NewReader(conn), s: s}
}

type client struct {
	net.Conn
	r *bufio.Reader
	s *served
}

// send writes a request, with TOKEN replaced.
func (c *client) send(format string, args ...any) {
	c.s.t.Helper()
	if _, err := c.Write(append(line(c.s.wire, fmt.Sprintf(format, args...)), '\n')); err != nil {
		c.s.t.Fatal(err)
	}
}

// want reads a reply.
func (c *client) want(reply string) {
	c.s.t.Helper()
	got, err := c.r.ReadString('\n')
	if err != nil {
		c.s.t.Fatalf("read: %v after %.200q", err, got)
	}
	if got != reply+"\n" {
		c.s.t.Fatalf("got  %.300s\nwant %.300s", got, reply)
	}
}

func TestServeReplies(t *testing.T) {
	s := serve(t, Options{}, &handler{handle: func(ctx context.Context, c *Call) (json.RawMessage, error) {
		switch c.Tool {
		case "fail":
			return nil, errors.New("no \"such\" thing <&>\n\xff")
		case "panic":
			panic("secret")
		case "lines":
			return json.RawMessage("{\n\"a\": 1}"), nil
		case "nothing":
			return nil, nil
		}
		return echo(ctx, c)
	}})
	c := s.dial()
	for _, tc := range [][2]string{
		{`{"token":"TOKEN","id":1,"tool":"t","args":{"a": "ö\u0000"}}`, `{"id":1,"result":{"a": "ö\u0000"}}`},
		{`{"token":"TOKEN","tool":"t","args":{}}`, `{"result":{}}`},
		{`{"token":"TOKEN","id":"x","tool":"fail","args":{}}`, `{"id":"x","result":{"error":"no \"such\" thing <&>\n` + "\uFFFD" + `"}}`},
		{`{"token":"TOKEN","id":2,"tool":"panic","args":{}}`, `{"id":2,"result":{"error":"internal error in tool panic"}}`},
		{`{"token":"TOKEN","id":3,"tool":"lines","args":{}}`, `{"id":3,"result":{"a":1}}`},
		{`{"token":"TOKEN","id":4,"tool":"nothing","args":{}}`, `{"id":4,"result":{"error":"internal error: the result is empty"}}`},
		{`{"token":"bad","id":5,"tool":"t","args":{}}`, `{"id":5,"result":{"error":"Unauthorized RPC request"}}`},
		{`{"token":"TOKEN","id":6,"tool":"t","args":[]}`, `{"id":6,"result":{"error":"Invalid RPC request: args must be an object"}}`},
		{"\n \t\n\r\n" + `{"token":"TOKEN","id":7,"tool":"t","args":{}}`, `{"id":7,"result":{}}`},
	} {
		c.send("%s", tc[0])
		c.want(tc[1])
	}
}

// TestServeLimits: a line at the limit works, one over it is answered, and the next one works
// (PARITY 167).
func TestServeLimits(t *testing.T) {
	for _, limit := range []int{1000, 100_000, 1 << 20} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			h := &handler{handle: echo}
			c := serve(t, Options{MaxLine: limit}, h).dial()
			frame := len(line(c.s.wire, `{"token":"TOKEN","id":1,"tool":"t","args":{"a":""}}`))
			full := strings.Repeat("x", limit-frame)
			c.send(`{"token":"TOKEN","id":1,"tool":"t","args":{"a":"%s"}}`, full)
			c.want(`{"id":1,"result":{"a":"` + full + `"}}`)
			c.send(`{"token":"TOKEN","id":2,"tool":"t","args":{"a":"%sx"}}`, full)
			c.want(fmt.Sprintf(`{"id":2,"result":{"error":"Invalid RPC request: the request is longer than %d bytes"}}`, limit))
			c.send(`{"token":"nobody","id":3,"tool":"t","args":{"a":"%s%s"}}`, full, full)
			c.want(`{"id":3,"result":{"error":"Unauthorized RPC request"}}`)
			c.send(`{"token":"TOKEN","id":4,"tool":"t","args":{}}`)
			c.want(`{"id":4,"result":{}}`)
			if len(h.refused) != 2 {
				t.Errorf("refused: %v", h.refused)
			}
		})
	}
}

func TestServeLongReply(t *testing.T) {
	big := json.RawMessage(`"` + strings.Repeat("y", 200_000) + `"`)
	c := serve(t, Options{MaxLine: 150_000}, &handler{handle: func(_ context.Context, c *Call) (json.RawMessage, error) {
		if c.Tool == "fits" {
			return big[50_002:], nil
		}
		return big, nil
	}}).dial()
	c.send(`{"token":"TOKEN","id":1,"tool":"long","args":{}}`)
	c.want(`{"id":1,"result":{"error":"the result of 200002 bytes is longer than the limit of 150000 bytes"}}`)
	c.send(`{"token":"TOKEN","id":2,"tool":"fits","args":{}}`)
	c.want(`{"id":2,"result":` + string(big[50_002:]) + `}`)
}

func TestServePipelined(t *testing.T) {
	c := serve(t, Options{}, &handler{handle: echo}).dial()
	const n = 3 * pipelined
	go func() {
		for i := range n {
			_, _ = c.Write(line(c.s.wire, fmt.Sprintf(`{"token":"TOKEN","id":%d,"tool":"t","args":{"i":%d}}`+"\n", i, i)))
		}
	}()
	for i := range n {
		c.want(fmt.Sprintf(`{"id":%d,"result":{"i":%d}}`, i, i))
	}
}

// TestServeStalled: a connection that stops in the middle of a line delays nobody, and its half
// line is never run.
func TestServeStalled(t *testing.T) {
	calls := make(chan string, 10)
	s := serve(t, Options{MaxLine: 1 << 20, MaxInFlight: 1 << 20}, &handler{handle: func(_ context.Context, c *Call) (json.RawMessage, error) {
		calls <- c.Tool
		return c.Args, nil
	}})
	slow := s.dial()
	_, _ = slow.Write(line(s.wire, `{"token":"TOKEN","id":1,"tool":"slow","args":{}}`))
	c := s.dial()
	c.send(`{"token":"TOKEN","id":1,"tool":"quick","args":{}}`)
	c.want(`{"id":1,"result":{}}`)
	_ = slow.Close()
	c.send(`{"token":"TOKEN","id":2,"tool":"quick","args":{}}`)
	c.want(`{"id":2,"result":{}}`)
	_ = s.Close()
	s.done <- <-s.done
	close(calls)
	for tool := range calls {
		if tool != "quick" {
			t.Errorf("ran %s", tool)
		}
	}
}

func TestServeClosedPeerCancels(t *testing.T) {
	entered, ended := make(chan struct{}), make(chan error)
	s := serve(t, Options{}, &handler{handle: func(ctx context.Context, c *Call) (json.RawMessage, error) {
		if c.Tool == "wait" {
			close(entered)
			<-ctx.Done()
			ended <- context.Cause(ctx)
		}
		return c.Args, nil
	}})
	c, other := s.dial(), s.dial()
	c.send(`{"token":"TOKEN","id":1,"tool":"wait","args":{}}`)
	<-entered
	_ = c.Close()
	if err := <-ended; !errors.Is(err, errGone) {
		t.Errorf("cause %v", err)
	}
	other.send(`{"token":"TOKEN","id":1,"tool":"t","args":{}}`)
	other.want(`{"id":1,"result":{}}`)
}

// TestServeReturns: what ends Serve is what it returns, and it waits for handlers.
func TestServeReturns(t *testing.T) {
	why := errors.New("why")
	for name, tc := range map[string]struct {
		end  func(s *Stream, cancel context.CancelCauseFunc)
		want error
	}{
		"context":  {func(_ *Stream, cancel context.CancelCauseFunc) { cancel(why) }, why},
		"close":    {func(s *Stream, _ context.CancelCauseFunc) { _ = s.Close() }, net.ErrClosed},
		"listener": {func(s *Stream, _ context.CancelCauseFunc) { _ = s.ln.Close() }, backend.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			entered := make(chan struct{})
			var returned bool
			h := &handler{handle: func(ctx context.Context, c *Call) (json.RawMessage, error) {
				close(entered)
				<-ctx.Done()
				returned = true
				return c.Args, nil
			}}
			ln, err := (&net.ListenConfig{}).Listen(ctx, "unix", filepath.Join(t.TempDir(), "s"))
			if err != nil {
				t.Fatal(err)
			}
			s := &served{Stream: NewStream(ln, ln.Addr().String(), Options{}), t: t, done: make(chan error, 1)}
			go func() { s.done <- s.Serve(ctx, h) }()
			c := s.dial()
			c.send(`{"token":"TOKEN","id":1,"tool":"t","args":{}}`)
			<-entered
			tc.end(s.Stream, cancel)
			if err := <-s.done; !errors.Is(err, tc.want) {
				t.Errorf("Serve: %v", err)
			}
			if !returned {
				t.Error("Serve did not wait for the handler")
			}
			_, _ = io.Copy(io.Discard, c.r) // ends, because the connection does
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestServeAfterClose(t *testing.T) {
	s := serve(t, Options{}, &handler{handle: echo})
	_ = s.Close()
	if err := <-s.done; !errors.Is(err, net.ErrClosed) {
		t.Errorf("first: %v", err)
	}
	if err := s.Serve(t.Context(), &handler{handle: echo}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("second: %v", err)
	}
	s.done <- net.ErrClosed
}

// TestServeMemory: many large requests at once wait for each other, and all are answered.
func TestServeMemory(t *testing.T) {
	const limit, budget, clients = 1 << 20, 4 << 20, 16
	var mu sync.Mutex
	var now, most int
	s := serve(t, Options{MaxLine: limit, MaxInFlight: budget}, &handler{handle: func(_ context.Context, c *Call) (json.RawMessage, error) {
		mu.Lock()
		now += len(c.Args)
		most = max(most, now)
		mu.Unlock()
		defer func() {
			mu.Lock()
			now -= len(c.Args)
			mu.Unlock()
		}()
		return json.RawMessage(fmt.Sprint(len(c.Args))), nil
	}})
	body := strings.Repeat("z", limit*9/10)
	var wg sync.WaitGroup
	for range clients {
		c := s.dial()
		wg.Go(func() {
			for i := range 3 {
				c.send(`{"token":"TOKEN","id":%d,"tool":"t","args":{"a":"%s"}}`, i, body)
				c.want(fmt.Sprintf(`{"id":%d,"result":%d}`, i, len(body)+8))
			}
		})
	}
	wg.Wait()
	if most > budget {
		t.Errorf("%d bytes in flight", most)
	}
}
