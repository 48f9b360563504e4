//go:build unix

package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/owner"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// impostor is a server that does what a test says.
type impostor struct {
	*house
	listener net.Listener
	codec    codec
}

// impostor returns a client that starts one.
func (h *house) impostor(serve func(s *impostor)) *Client {
	c := h.client("one")
	c.Start = func(p Place, f *os.File) error {
		listener, err := net.FileListener(f)
		if err != nil {
			return err
		}
		codec, err := newCodec()
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		s := &impostor{h, listener, codec}
		h.started = append(h.started, "impostor")
		h.serving.Go(func() {
			<-h.ctx.Done()
			s.end()
		})
		h.serving.Go(func() { serve(s) })
		return owner.Self().Write(p.Dir)
	}
	return c
}

// end has it be called by nobody any more.
func (s *impostor) end() {
	s.place.clear()
	_ = s.listener.Close()
}

// next is the next connection, which lives until the test ends.
func (s *impostor) next() *conn {
	accepted, err := s.listener.Accept()
	if err != nil {
		return &conn{Conn: broken{}, codec: s.codec}
	}
	s.serving.Go(func() {
		<-s.ctx.Done()
		_ = accepted.Close()
	})
	return &conn{Conn: accepted, codec: s.codec}
}

// broken is a connection of a server that has ended.
type broken struct{ net.Conn }

func (broken) Read([]byte) (int, error)    { return 0, io.EOF }
func (broken) Write(p []byte) (int, error) { return 0, io.ErrClosedPipe }
func (broken) Close() error                { return nil }

// take receives a request and accepts it.
func (c *conn) take() {
	_, _, _ = c.receive()
	_ = c.send(kindAccepted, nil)
}

// A server that is killed leaves a result of what was seen.
func TestServerLost(t *testing.T) {
	h := newHouse(t)
	c := h.impostor(func(s *impostor) {
		conn := s.next()
		conn.take()
		_ = conn.sendRaw(kindStdout, []byte("0123456789abcdefghij\n"))
		_ = conn.sendRaw(kindStderr, []byte("bad\n"))
		s.end()
		conn.close()
	})
	cell := h.cell("s", "1")
	cell.Options.Settings.MaxStdout, cell.Options.Warnings = 10, []string{"a warning"}
	var stdout, stderr strings.Builder
	cell.Script.Stdout, cell.Script.Stderr = &stdout, &stderr
	r := c.Run(t.Context(), cell)
	if r.Status != hermes.Failure || r.ErrorKind != hermes.KindBackend || r.ExitStatus() != 125 || !strings.Contains(r.Error, ErrLost.Error()) {
		t.Errorf("%+v", r)
	}
	if !strings.HasPrefix(r.Output, "0123\n") || !strings.HasSuffix(r.Output, "fghij\n\n--- stderr ---\nbad\n") || !r.StdoutTruncated ||
		r.StdoutTotal != 21 || r.StdoutCaptured != 10 || r.StdoutOmitted != 11 {
		t.Errorf("output %q, %+v", r.Output, r)
	}
	if stdout.Len() != 21 || stderr.String() != "bad\n" {
		t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
	}
	if !strings.HasPrefix(r.Warning, "a warning\n") || !strings.Contains(r.Warning, "may be incomplete") {
		t.Errorf("warning %q", r.Warning)
	}
	if want := (hermes.KernelState{Session: "s", StateLost: true, Ended: true, Reason: hermes.LostServer}); *r.Kernel != want {
		t.Errorf("kernel %+v", r.Kernel)
	}
}

// The same with events: the result is the last of them and no earlier than those before.
func TestServerLostEvents(t *testing.T) {
	text := "no such file"
	for name, test := range map[string]struct {
		sent   []hermes.Event
		output string
		calls  []hermes.Call
		warns  string
	}{
		"nothing": {nil, "", []hermes.Call{}, "may be incomplete"},
		"output and calls": {
			[]hermes.Event{
				{Type: hermes.EventStart},
				{Type: hermes.EventToolCall, ID: 1, Tool: "read_file", ArgsPreview: "{}"},
				{Type: hermes.EventStdout, Text: "out\n"},
				{Type: hermes.EventToolResult, ID: 1, Tool: "read_file", Duration: 2, Error: &text},
				{Type: hermes.EventStderr, Text: "err\n", Time: 1e6},
			},
			"out\n\n--- stderr ---\nerr\n",
			[]hermes.Call{{Tool: "read_file", ArgsPreview: "{}", Duration: 2, Error: &text}},
			"may be incomplete",
		},
		"much output": {
			[]hermes.Event{{Type: hermes.EventStdout, Text: strings.Repeat("x", 60_000)}},
			strings.Repeat("x", 20_000) + "\n\n... [OUTPUT TRUNCATED - 10000 bytes omitted out of 60000 total] ...\n\n" + strings.Repeat("x", 30_000),
			[]hermes.Call{},
			"output was truncated: 50000 of 60000 bytes are shown",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			c := h.impostor(func(s *impostor) {
				conn := s.next()
				conn.take()
				for _, e := range test.sent {
					_ = conn.send(kindEvent, e)
				}
				s.end()
				conn.close()
			})
			cell := h.cell("s", "1")
			var seen []hermes.Event
			cell.Script.Stream, cell.Script.Trace = true, true
			cell.Script.Events = func(e hermes.Event) { seen = append(seen, e) }
			r := c.Run(t.Context(), cell)
			if r.Output != test.output || r.ToolCallsMade != int64(len(test.calls)) || fmt.Sprint(deref(r.ToolCalls)) != fmt.Sprint(deref(test.calls)) ||
				!strings.Contains(r.Warning, test.warns) {
				t.Errorf("%+v", r)
			}
			last := len(seen) - 1
			if last != len(test.sent) || seen[last].Result != r || last > 0 && seen[last].Time < seen[last-1].Time || seen[last].Time <= 0 {
				t.Errorf("events %+v", seen)
			}
		})
	}
}

// deref makes calls comparable.
func deref(calls []hermes.Call) (list []string) {
	for _, c := range calls {
		line := fmt.Sprint(c.Tool, c.ArgsPreview, c.Duration)
		if c.Error != nil {
			line += *c.Error
		}
		list = append(list, line)
	}
	return list
}

// A result that was told as an event is the result, also if the server ends right then.
func TestServerLostAfterTheResult(t *testing.T) {
	h := newHouse(t)
	c := h.impostor(func(s *impostor) {
		conn := s.next()
		conn.take()
		_ = conn.send(kindEvent, hermes.Event{Type: hermes.EventResult, Result: &hermes.Result{Status: hermes.Success, Output: "done"}})
		s.end()
		conn.close()
	})
	cell := h.cell("s", "1")
	var types []hermes.EventType
	cell.Script.Events = func(e hermes.Event) { types = append(types, e.Type) }
	if r := c.Run(t.Context(), cell); r.Status != hermes.Success || r.Output != "done" || !slices.Equal(types, []hermes.EventType{hermes.EventResult}) {
		t.Errorf("%+v, events %q", r, types)
	}
}

// A server that gives up a caller who takes nothing lives on, and nothing is known of the state.
func TestGivenUpByTheServer(t *testing.T) {
	h := newHouse(t)
	c := h.impostor(func(s *impostor) {
		conn := s.next()
		conn.take()
		conn.close()
		s.next().take() // which asks whether there is anybody
	})
	r := c.Run(t.Context(), h.cell("s", "1"))
	if want := (hermes.KernelState{Session: "s"}); r.ErrorKind != hermes.KindBackend || !strings.Contains(r.Error, "gave the call up") || *r.Kernel != want {
		t.Errorf("%+v, kernel %+v", r, r.Kernel)
	}
}

// A server that is stopped is given up, and no other is started beside it.
func TestServerSilent(t *testing.T) {
	h := newHouse(t)
	c := h.impostor(func(*impostor) {})
	c.Wait = 10 * time.Millisecond
	r := c.Run(t.Context(), h.cell("s", "1"))
	if r.ErrorKind != hermes.KindBackend || !strings.Contains(r.Error, ErrSilent.Error()) || !strings.Contains(r.Error, fmt.Sprintf("kill -KILL %d", os.Getpid())) {
		t.Errorf("%+v", r)
	}
	if want := (hermes.KernelState{Session: "s"}); *r.Kernel != want || r.Duration == 0 || r.Warning != "" {
		t.Errorf("%+v, kernel %+v", r, r.Kernel)
	}
	_, list := c.List(t.Context())
	_, reset := c.Reset(t.Context(), "s")
	_, end := c.End(t.Context(), "s")
	for _, err := range []error{list, reset, end, c.Stop(t.Context())} {
		if !errors.Is(err, ErrSilent) {
			t.Errorf("%v", err)
		}
	}
	if len(h.started) != 1 {
		t.Errorf("%d servers were started", len(h.started))
	}
}

// The process of a server before this one is not the one to kill.
func TestServerSilentOfUnknownProcess(t *testing.T) {
	h := newHouse(t)
	c := h.client("one")
	if err := c.Place.make(); err != nil {
		t.Fatal(err)
	}
	dead := owner.Self()
	dead.PID = testenv.DeadPID(t)
	for name, arrange := range map[string]func() error{
		"no mark":         func() error { return nil },
		"that of another": func() error { return dead.Write(c.Place.Dir) },
	} {
		if err := arrange(); err != nil {
			t.Fatal(err)
		}
		if err := c.silent(); !errors.Is(err, ErrSilent) || strings.Contains(err.Error(), "kill") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One that is stopped when it has accepted a request is given up as well. What it has said stays, and
// nobody knows what becomes of the state.
func TestServerSilentAfterAccept(t *testing.T) {
	h := newHouse(t)
	c := h.impostor(func(s *impostor) {
		conn := s.next()
		conn.take()
		_ = conn.sendRaw(kindStdout, []byte("so far\n"))
	})
	c.Wait = 2 * time.Second // enough to accept the request
	cell := h.cell("s", "1")
	cell.Options.Settings.Timeout = time.Millisecond
	cell.Script.Stdout = io.Discard
	r := c.Run(t.Context(), cell)
	if want := (hermes.KernelState{Session: "s"}); r.Output != "so far\n" || !strings.Contains(r.Error, ErrSilent.Error()) || *r.Kernel != want ||
		!strings.Contains(r.Warning, "may be incomplete") {
		t.Errorf("%+v, kernel %+v", r, r.Kernel)
	}
}

// One that is about to end, and stopped then, is given up too.
func TestServerSilentAtItsEnd(t *testing.T) {
	h := newHouse(t)
	c := h.impostor(func(s *impostor) {
		conn := s.next()
		conn.take()
		s.end()
	})
	c.Wait = time.Second // enough to accept the request
	if _, err := c.Reset(h.ctx, "s"); !errors.Is(err, ErrNoServer) {
		t.Errorf("without a server: %v", err)
	}
	cell := h.cell("s", "1")
	cell.Options.Settings.Timeout = time.Millisecond
	if r := c.Run(t.Context(), cell); r.ErrorKind != hermes.KindBackend || !strings.Contains(r.Error, ErrSilent.Error()) {
		t.Errorf("%+v", r)
	}
}

// One that answers others is waited for, however long the cell takes to end.
func TestServerSlow(t *testing.T) {
	h := newHouse(t)
	c := h.impostor(func(s *impostor) {
		conn := s.next()
		conn.take()
		other := s.next() // which asks whether there is anybody
		other.take()
		other.close()
		_ = conn.send(kindResult, &hermes.Result{Status: hermes.Timeout})
	})
	cell := h.cell("s", "1")
	cell.Options.Settings.Timeout = time.Millisecond
	if r := c.Run(t.Context(), cell); r.Status != hermes.Timeout {
		t.Errorf("%+v", r)
	}
}

// The result of a cell whose time is over does not wait for a reader of its output that has stalled.
func TestStalledReader(t *testing.T) {
	h := newHouse(t)
	cell := h.cell("s", "while True: print('x' * 1000)")
	cell.Options.Settings.Timeout = time.Second
	reading, writer := net.Pipe() // which nobody reads
	t.Cleanup(func() { _ = reading.Close() })
	cell.Script.Stdout = writer
	if r := h.client("one").Run(t.Context(), cell); r.Status != hermes.Timeout || r.StdoutTotal == 0 {
		t.Errorf("%+v", r)
	}
}

// After a frame that was sent in part nothing can follow.
func TestFrameSentInPart(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close() //nolint:errcheck // a pipe
	got := make(chan int)
	go func() {
		n, _ := io.ReadFull(there, make([]byte, 3)) // what came is counted
		_ = here.SetWriteDeadline(time.Now())
		rest, _ := io.Copy(io.Discard, there)
		got <- n + int(rest)
	}()
	c := &conn{Conn: here}
	if err := c.sendRaw(kindStdout, []byte("text")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the first: %v", err)
	}
	_ = here.SetWriteDeadline(time.Time{})
	if err := c.sendRaw(kindResult, nil); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the second: %v", err)
	}
	c.close()
	if n := <-got; n != 3 {
		t.Errorf("%d bytes came", n)
	}
}

// A server that has lost its place writes nothing that the next one may have written there.
func TestAliveOfAnother(t *testing.T) {
	codec, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	ours := true
	file := t.TempDir() + "/sessions"
	a := loadAlive(file, codec, hermes.NewSessions(nil), func() bool { return ours })
	if err := a.begin("a"); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(file)
	if err != nil || len(before) == 0 {
		t.Fatalf("%q, %v", before, err)
	}
	ours = false
	if err := errors.Join(a.begin("b"), a.done("a"), a.look(), a.clear()); err != nil {
		t.Error(err)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("%q, then %q, %v", before, after, err)
	}
}
