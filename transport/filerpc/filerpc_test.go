//go:build unix

package filerpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
	"github.com/hermes-exec/hermes-exec/transport"
)

// dirShare is a shared directory without an environment.
type dirShare struct {
	dir  string
	root *os.Root
}

func newDirShare(t *testing.T) dirShare {
	t.Helper()
	s := dirShare{dir: t.TempDir()}
	var err error
	if s.root, err = os.OpenRoot(s.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.root.Close() })
	for _, sub := range []string{"in", "out"} {
		if err := os.Mkdir(filepath.Join(s.dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s dirShare) HostDir() string  { return s.dir }
func (s dirShare) Root() *os.Root   { return s.root }
func (s dirShare) GuestDir() string { return s.dir }
func (s dirShare) Close() error     { return os.RemoveAll(s.dir) }

// handler echoes, and waits for its context where the tool is "wait".
type handler struct {
	entered chan string
	ended   chan error

	mu      sync.Mutex
	calls   int
	refused []error
}

func newHandler() *handler {
	return &handler{entered: make(chan string, 100), ended: make(chan error, 100)}
}

func (h *handler) Handle(ctx context.Context, c *transport.Call) (json.RawMessage, error) {
	h.mu.Lock()
	h.calls++
	h.mu.Unlock()
	if c.Tool == "wait" {
		h.entered <- c.Tool
		<-ctx.Done()
		h.ended <- context.Cause(ctx)
	}
	return c.Args, nil
}

func (h *handler) Refuse(reason error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused = append(h.refused, reason)
}

// spool is an endpoint under test.
type spool struct {
	*endpoint
	t    *testing.T
	dir  string
	log  *bytes.Buffer // read it after Close
	done chan error
}

func open(t *testing.T, tr Transport, h transport.Handler) *spool {
	t.Helper()
	var log bytes.Buffer
	tr.Options.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	share := newDirShare(t)
	e, err := newEndpoint(share, tr)
	if err != nil {
		t.Fatal(err)
	}
	s := &spool{endpoint: e, t: t, dir: share.dir, log: &log, done: make(chan error, 1)}
	go func() { s.done <- s.Serve(context.WithoutCancel(t.Context()), h) }()
	t.Cleanup(s.close)
	return s
}

// close ends the endpoint and checks that the log tells nothing that a guest wrote.
func (s *spool) close() {
	if err := s.Close(); err != nil {
		s.t.Error(err)
	}
	if strings.Contains(s.log.String(), "SECRET") {
		s.t.Errorf("the log quotes the guest: %s", s.log)
	}
}

// put makes a request appear as the stub does, with TOKEN replaced.
func (s *spool) put(name, request string) {
	s.t.Helper()
	request = strings.ReplaceAll(request, "TOKEN", s.Env()[transport.EnvToken])
	hidden := filepath.Join(s.dir, "in", "."+name)
	if err := os.WriteFile(hidden, []byte(request), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(hidden, filepath.Join(s.dir, "in", "req_"+name)); err != nil {
		s.t.Fatal(err)
	}
}

// want waits for an answer and compares it.
func (s *spool) want(name, answer string) {
	s.t.Helper()
	path := filepath.Join(s.dir, "out", "res_"+name)
	testenv.Eventually(s.t, "an answer to "+name, func() bool {
		info, err := os.Lstat(path) // a planted symlink is no answer
		return err == nil && info.Mode().IsRegular()
	})
	got, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if strings.TrimSpace(string(got)) != answer {
		s.t.Fatalf("%s: got %.300s\nwant %.300s", name, got, answer)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		s.t.Errorf("mode of the answer: %v, %v", info.Mode(), err) // PARITY 162
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

const refusedFile = `{"result":{"error":"Invalid RPC request: it must be a regular file"}}`

// TestAnswers runs with events and with every event lost (B119).
func TestAnswers(t *testing.T) {
	for name, poll := range map[string]bool{"watched": false, "polled": true} {
		t.Run(name, func(t *testing.T) {
			h := newHandler()
			s := open(t, Transport{Poll: poll, Options: transport.Options{MaxLine: 1000}}, h)
			s.put("a.1", `{"token":"TOKEN","id":1,"tool":"t","args":{"a":"ö"}}`+"\n")
			s.want("a.1", `{"id":1,"result":{"a":"ö"}}`)
			s.put("a.2", `{"token":"TOKEN","tool":"t","args":{}}`)
			s.want("a.2", `{"result":{}}`)
			s.put("a.3", `SECRET`)
			s.want("a.3", `{"result":{"error":"Unauthorized RPC request"}}`)
			s.put("a.4", `{"token":"TOKEN","id":4,"tool":"t","args":["SECRET"]}`)
			s.want("a.4", `{"id":4,"result":{"error":"Invalid RPC request: args must be an object"}}`)
			s.put("a.5", ``)
			s.want("a.5", `{"result":{"error":"Unauthorized RPC request"}}`)
			s.put("a.6", `{"token":"TOKEN","id":6,"tool":"t","args":{"a":"`+strings.Repeat("x", 1000)+`"}}`)
			s.want("a.6", `{"id":6,"result":{"error":"Invalid RPC request: the request is longer than 1000 bytes"}}`)
			s.put("a.7", `{"token":"TOKEN","id":7,"tool":"t","args":{"SECRET`)
			s.want("a.7", `{"id":7,"result":{"error":"Invalid RPC request: not valid JSON at byte 109"}}`)
			if left, _ := os.ReadDir(filepath.Join(s.dir, "in")); len(left) != 0 {
				t.Errorf("requests are left: %v", left)
			}
			if h.calls != 2 || len(h.refused) != 5 {
				t.Errorf("%d calls, refused %v", h.calls, h.refused)
			}
		})
	}
}

func TestManyAtOnce(t *testing.T) {
	s := open(t, Transport{}, newHandler())
	const n = 300
	for i := range n {
		s.put(fmt.Sprintf("c.%d", i), fmt.Sprintf(`{"token":"TOKEN","id":%d,"tool":"t","args":{"i":%d}}`, i, i))
	}
	for i := range n {
		s.want(fmt.Sprintf("c.%d", i), fmt.Sprintf(`{"id":%d,"result":{"i":%d}}`, i, i))
	}
}

// TestRequestsBeforeServe: what lay there before the watcher did is answered.
func TestRequestsBeforeServe(t *testing.T) {
	share := newDirShare(t)
	e, err := newEndpoint(share, Transport{})
	if err != nil {
		t.Fatal(err)
	}
	s := &spool{endpoint: e, t: t, dir: share.dir, log: &bytes.Buffer{}, done: make(chan error, 1)}
	s.put("early.1", `{"token":"TOKEN","tool":"t","args":{}}`)
	go func() { s.done <- s.Serve(context.WithoutCancel(t.Context()), newHandler()) }()
	t.Cleanup(s.close)
	s.want("early.1", `{"result":{}}`)
}

// fifo makes the FIFO of a channel and opens its reading side.
func (s *spool) fifo(channel string) *os.File {
	s.t.Helper()
	path := filepath.Join(s.dir, "out", ".wake_"+channel)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		s.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestWakes(t *testing.T) {
	s := open(t, Transport{}, newHandler())
	mine, other := s.fifo("mine"), s.fifo("other")
	s.put("mine.1", `{"token":"TOKEN","tool":"t","args":{}}`)
	if n, err := mine.Read(make([]byte, 10)); n != 1 || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	s.want("mine.1", `{"result":{}}`)
	// Full: the host must not wait for room.
	raw, err := other.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) {
		for err == nil {
			_, err = syscall.Write(int(fd), make([]byte, 4096))
		}
	})
	for i := range 3 {
		name := fmt.Sprintf("other.%d", i)
		s.put(name, `{"token":"TOKEN","tool":"t","args":{}}`)
		s.want(name, `{"result":{}}`)
	}
}

// TestCallerDies: the FIFO of a caller loses its reader, and the call's context ends; others go on.
func TestCallerDies(t *testing.T) {
	h := newHandler()
	s := open(t, Transport{}, h)
	dying, _ := s.fifo("dying"), s.fifo("living")
	s.put("living.1", `{"token":"TOKEN","tool":"wait","args":{}}`)
	<-h.entered
	s.put("dying.1", `{"token":"TOKEN","tool":"wait","args":{}}`)
	<-h.entered
	_ = dying.Close()
	if err := <-h.ended; !errors.Is(err, errGone) {
		t.Errorf("cause %v", err)
	}
	s.put("new.1", `{"token":"TOKEN","tool":"t","args":{}}`)
	s.want("new.1", `{"result":{}}`)
	if len(h.ended) != 0 {
		t.Error("the living caller's call ended too")
	}
	if exists(filepath.Join(s.dir, "out", "res_dying.1")) {
		t.Error("an answer for a dead caller")
	}
}

// TestGivenUp: a caller that gives up says so, also where there is no FIFO.
func TestGivenUp(t *testing.T) {
	h := newHandler()
	s := open(t, Transport{}, h)
	s.put("a.1", `{"token":"TOKEN","tool":"wait","args":{}}`)
	<-h.entered
	end := filepath.Join(s.dir, "in", "end_a.1")
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-h.ended; !errors.Is(err, errGone) {
		t.Errorf("cause %v", err)
	}
	testenv.Eventually(t, "the note is removed", func() bool { return !exists(end) })
}

// TestServeReturns: what ends Serve is what it returns.
func TestServeReturns(t *testing.T) {
	why := errors.New("why")
	for name, tc := range map[string]struct {
		end  func(s *spool, cancel context.CancelCauseFunc)
		want error
	}{
		"context":  {func(_ *spool, cancel context.CancelCauseFunc) { cancel(why) }, why},
		"close":    {func(s *spool, _ context.CancelCauseFunc) { go s.close() }, net.ErrClosed},
		"vanished": {func(s *spool, _ context.CancelCauseFunc) { _ = os.RemoveAll(s.dir) }, backend.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			share := newDirShare(t)
			e, err := newEndpoint(share, Transport{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			h := newHandler()
			s := &spool{endpoint: e, t: t, dir: share.dir, log: &bytes.Buffer{}, done: make(chan error, 1)}
			go func() { s.done <- s.Serve(ctx, h) }()
			s.put("a.1", `{"token":"TOKEN","tool":"wait","args":{}}`)
			<-h.entered
			tc.end(s, cancel)
			if err := <-s.done; !errors.Is(err, tc.want) {
				t.Errorf("Serve: %v", err)
			}
			if len(h.ended) != 1 {
				t.Error("Serve did not wait for the handler")
			}
			s.close()
			if exists(s.dir) {
				t.Error("the spool is left")
			}
			if err := s.Serve(ctx, h); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Serve after Close: %v", err)
			}
		})
	}
}

func TestOpenWithoutDirectories(t *testing.T) {
	s := newDirShare(t)
	if err := os.Remove(filepath.Join(s.dir, "out")); err != nil {
		t.Fatal(err)
	}
	if _, err := newEndpoint(s, Transport{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
