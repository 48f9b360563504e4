//go:build unix

package server

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/all"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// house is a HERMES_HOME whose servers run in this process.
type house struct {
	t       *testing.T
	place   Place
	idle    time.Duration
	version string          // of the servers that are started
	refused string          // how the error begins by which none of them begins; "": they serve
	ctx     context.Context //nolint:containedctx // the life of the servers
	end     context.CancelFunc

	mu      sync.Mutex
	started []string // the versions of the servers
	serving sync.WaitGroup
}

func newHouse(t *testing.T) *house {
	t.Helper()
	place, err := Locate(testenv.TempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, place: place, idle: time.Minute, version: "one"}
	h.ctx, h.end = context.WithCancel(context.Background()) //nolint:usetesting // servers end after the test's own context
	t.Cleanup(func() {
		h.end()
		h.serving.Wait()
		if _, err := os.Lstat(place.Socket); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the socket is left: %v", err)
		}
	})
	return h
}

// client is a client of a version, which starts servers in this process.
func (h *house) client(version string) *Client {
	return &Client{Place: h.place, Version: version, Start: func(p Place, f *os.File) error {
		l, err := net.FileListener(f)
		if err != nil {
			return err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.started = append(h.started, h.version)
		c := Config{Place: p, Version: h.version, Idle: h.idle, Openers: openers, Log: silent}
		h.serving.Go(func() {
			if err := Serve(h.ctx, c, l.(*net.UnixListener)); !h.expected(err) { //nolint:errcheck,forcetypeassert // it is one
				h.t.Errorf("serve: %v", err)
			}
		})
		return nil
	}}
}

// expected tells whether a server may end with err.
func (h *house) expected(err error) bool {
	if h.refused == "" {
		return err == nil
	}
	return err != nil && strings.HasPrefix(err.Error(), h.refused)
}

func openers(c Caller) map[string]backend.Opener {
	return all.Openers(all.Host{Env: c.Env, Dir: c.Dir, Log: c.Log, Progress: c.Progress})
}

func silent(slog.Level) *slog.Logger { return slog.New(slog.DiscardHandler) }

func (h *house) cell(session, code string) Cell {
	s := config.Defaults()
	s.Home, s.Python = h.place.Home, testenv.Python(h.t)
	return Cell{
		Session: session,
		Options: hermes.Options{Settings: s, Dir: h.place.Home, Environ: map[string]string{
			"PATH": os.Getenv("PATH"), "HOME": h.place.Home, "HERMES_HOME": h.place.Home, "TMPDIR": h.place.Home,
		}},
		Script: hermes.Script{Code: []byte(code)},
	}
}

func (h *house) run(c *Client, code string) *hermes.Result {
	h.t.Helper()
	r := c.Run(h.t.Context(), h.cell("s", code))
	if r.Status != hermes.Success {
		h.t.Errorf("%q: %+v", code, r)
	}
	return r
}

func TestOtherVersions(t *testing.T) {
	t.Run("a server with sessions stays and says so", func(t *testing.T) {
		h := newHouse(t)
		h.run(h.client("one"), "x = 1")
		h.version = "two"
		r := h.run(h.client("two"), "print(x)")
		if r.Output != "1\n" || !strings.Contains(r.Warning, "session server is still that of version one") {
			t.Errorf("%+v", r)
		}
		if !slices.Equal(h.started, []string{"one"}) {
			t.Errorf("started %q", h.started)
		}
		if r := h.run(h.client("one"), "print(x)"); r.Warning != "" {
			t.Errorf("warning %q", r.Warning)
		}
	})
	t.Run("one without is replaced", func(t *testing.T) {
		h := newHouse(t)
		one := h.client("one")
		h.run(one, "x = 1")
		if found, err := one.End(t.Context(), "s"); !found || err != nil {
			t.Errorf("end: %v, %v", found, err)
		}
		h.version = "two"
		r := h.run(h.client("two"), "print('x' in globals())")
		if r.Output != "False\n" || r.Warning != "" || r.Kernel.StateLost {
			t.Errorf("%+v, kernel %+v", r, r.Kernel)
		}
		if !slices.Equal(h.started, []string{"one", "two"}) {
			t.Errorf("started %q", h.started)
		}
	})
}

// Whoever has an answer finds a server that is not busy with the request any more, so that one of another
// version replaces it. The pipe holds the server in the middle of its answer.
func TestDoneBeforeTheAnswer(t *testing.T) {
	for _, q := range []request{{Op: opList}, {Op: opReset, Name: "s"}, {Op: opEnd, Name: "s"}} {
		t.Run(string(q.Op), func(t *testing.T) {
			codec, err := newCodec()
			if err != nil {
				t.Fatal(err)
			}
			s := &Server{config: Config{Version: "one"}, codec: codec, log: silent(0), sessions: hermes.NewSessions(silent(0))}
			s.alive = loadAlive(filepath.Join(t.TempDir(), "sessions"), codec, s.sessions, func() bool { return true })
			theirs, ours := net.Pipe()
			defer ours.Close() //nolint:errcheck // a pipe in memory
			answered := make(chan error, 1)
			go func() { answered <- s.answer(&conn{Conn: theirs, codec: codec}) }()
			caller := &conn{Conn: ours, codec: codec}
			q.Protocol, q.Version = protocol, "one"
			if err := caller.send(kindRequest, q); err != nil {
				t.Fatal(err)
			}
			if k, _, err := caller.receive(); k != kindAccepted || err != nil {
				t.Fatalf("%q, %v", k, err)
			}
			if _, err := io.ReadFull(ours, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if !s.replaced(request{Protocol: protocol, Version: "two"}) {
				t.Error("it is not replaced")
			}
			go func() { _, _ = io.Copy(io.Discard, ours) }()
			if err := <-answered; err != nil {
				t.Error(err)
			}
		})
	}
}

// A protocol that the server does not speak gets an error that names what to do, as long as there
// are sessions.
func TestOtherProtocol(t *testing.T) {
	h := newHouse(t)
	c := h.client("one")
	h.run(c, "x = 1")
	raw, err := c.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close() //nolint:errcheck // it is read to its end
	codec, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	conn := &conn{Conn: raw, codec: codec}
	if err := conn.send(kindRequest, map[string]any{"Protocol": 99, "Version": "later", "Op": "dance", "New": 1}); err != nil {
		t.Fatal(err)
	}
	k, payload, err := conn.receive()
	var other otherVersion
	if err != nil || k != kindOther || conn.decode(payload, &other) != nil {
		t.Fatalf("%q %x, %v", k, payload, err)
	}
	if want := (otherVersion{Protocol: protocol, Version: "one", Sessions: 1}); other != want {
		t.Errorf("%+v, want %+v", other, want)
	}
}

// A server ends when it has nothing to do, and the next call starts another.
func TestIdle(t *testing.T) {
	h := newHouse(t)
	h.idle = 50 * time.Millisecond
	c := h.client("one")
	h.run(c, "x = 1")
	if found, err := c.End(t.Context(), "s"); !found || err != nil {
		t.Fatalf("end: %v, %v", found, err)
	}
	h.serving.Wait()
	if _, err := c.End(t.Context(), "s"); !errors.Is(err, ErrNoServer) {
		t.Errorf("without a server: %v", err)
	}
	if list, err := c.List(t.Context()); len(list) != 0 || err != nil {
		t.Errorf("without a server: %v, %v", list, err)
	}
	if r := h.run(c, "print(2)"); r.Kernel.StateLost {
		t.Errorf("kernel %+v", r.Kernel)
	}
}

// A session whose kernel was idle for too long is told so by the next server too.
func TestIdleSessionAndServer(t *testing.T) {
	h := newHouse(t)
	h.idle = 50 * time.Millisecond
	cell := h.cell("s", "x = 1")
	cell.Options.Settings.KernelIdleTimeout = 10 * time.Millisecond
	if r := h.client("one").Run(t.Context(), cell); r.Status != hermes.Success {
		t.Fatalf("%+v", r)
	}
	h.serving.Wait()
	r := h.run(h.client("one"), "print('x' in globals())")
	if r.Output != "False\n" || !r.Kernel.StateLost || r.Kernel.Reason != hermes.LostIdle {
		t.Errorf("%+v, kernel %+v", r, r.Kernel)
	}
}

// A server whose socket was removed cannot be reached, and ends.
func TestSocketRemoved(t *testing.T) {
	h := newHouse(t)
	h.run(h.client("one"), "x = 1")
	if err := os.Remove(h.place.Socket); err != nil {
		t.Fatal(err)
	}
	h.serving.Wait()
	r := h.run(h.client("one"), "print('x' in globals())")
	if r.Output != "False\n" || r.Kernel.Reason != hermes.LostServer {
		t.Errorf("%+v, kernel %+v", r, r.Kernel)
	}
}

// A server that is told to end interrupts its cells, which have their grace, and whose callers are told why.
func TestToldToEnd(t *testing.T) {
	h := newHouse(t)
	cell := h.cell("s", "import time\ntry: print('begun', flush=True); time.sleep(600)\nfinally: print('put away')")
	cell.Script.Stdout = atWrite(h.end)
	r := h.client("one").Run(t.Context(), cell)
	if r.Status != hermes.Interrupted || !strings.Contains(r.Error, endSignal) || r.Kernel == nil || !r.Kernel.StateLost ||
		!strings.Contains(r.Output, "put away") {
		t.Errorf("%+v, kernel %+v", r, r.Kernel)
	}
	h.serving.Wait()
	h.ctx, h.end = context.WithCancel(context.Background()) //nolint:usetesting // as in newHouse
	t.Cleanup(h.end)
	if r := h.run(h.client("one"), "print(1)"); !r.Kernel.StateLost || r.Kernel.Reason != hermes.LostServer {
		t.Errorf("kernel %+v", r.Kernel)
	}
	h.end()
	h.serving.Wait()
}

// atWrite is a writer that calls a function at every write.
type atWrite func()

func (f atWrite) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

// What a request carries arrives as it was, also what is no UTF-8, and what is nothing at all.
func TestRequestRoundTrip(t *testing.T) {
	codec, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	s := config.Defaults()
	s.Tools, s.Cwd = []string{}, "/a\xff"
	s.OperatorTools = map[string]any{"t": map[string]any{"n": 1, "l": []any{"a", nil, true}}}
	want := request{Protocol: 1, Op: opRun, Name: "n\xfe", Cell: &cell{
		Settings: s, Environ: map[string]string{"A": "\xff", "": "x"}, Args: []string{"\x80"}, Code: []byte{0xff, 0},
	}}
	data, err := codec.enc.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got request
	if err := codec.dec.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	again, err := codec.enc.Marshal(got)
	if err != nil || len(again) != len(data) {
		t.Errorf("%v: %d bytes, then %d", err, len(data), len(again))
	}
	c := got.Cell
	if got.Name != want.Name || c.Environ["A"] != "\xff" || c.Args[0] != "\x80" || c.Settings.Cwd != "/a\xff" || c.Settings.Timeout != s.Timeout {
		t.Errorf("got %+v", got)
	}
	if c.Settings.Tools == nil {
		t.Error("no tools became all tools")
	}
	if s := (request{Cell: &cell{Settings: config.Defaults()}}); roundTrip(t, codec, s).Cell.Settings.Tools != nil {
		t.Error("all tools became none")
	}
}

func roundTrip(t *testing.T, c codec, q request) (got request) {
	t.Helper()
	data, err := c.enc.Marshal(q)
	if err == nil {
		err = c.dec.Unmarshal(data, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// The same output, events and result come of a cell as without a server.
func TestLive(t *testing.T) {
	h := newHouse(t)
	cell := h.cell("s", "import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(300)")
	var stdout, stderr strings.Builder
	var types []hermes.EventType
	cell.Script.Stdout, cell.Script.Stderr, cell.Script.Trace = &stdout, &stderr, true
	cell.Script.Events = func(e hermes.Event) { types = append(types, e.Type) }
	r := h.client("one").Run(t.Context(), cell)
	if stdout.String() != "out\n" || stderr.String() != "err\n" || r.ExitCode == nil || *r.ExitCode != 300&255 || r.ToolCalls == nil {
		t.Errorf("stdout %q, stderr %q, %+v", stdout.String(), stderr.String(), r)
	}
	if !slices.Equal(types, []hermes.EventType{hermes.EventStart, hermes.EventResult}) {
		t.Errorf("events %q", types)
	}
}

// Where the list of sessions cannot be written a caller knows what it cannot rely on, until it can be.
func TestListNotWritten(t *testing.T) {
	h := newHouse(t)
	c := h.client("one")
	h.run(c, "x = 1")
	temp := filepath.Join(h.place.Dir, ".sessions")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	listed := h.run(c, "x = 2")
	other := h.cell("other", "y = 1")
	unlisted := c.Run(t.Context(), other)
	if listed.Warning != "" || !strings.Contains(unlisted.Warning, "nobody will be told") || !strings.Contains(unlisted.Warning, "write the list of sessions: ") {
		t.Errorf("warnings %q and %q", listed.Warning, unlisted.Warning)
	}
	if _, err := os.Lstat(temp); err == nil {
		t.Errorf("%s is left", temp)
	}
	if r := c.Run(t.Context(), other); r.Status != hermes.Success || r.Warning != "" {
		t.Errorf("%+v", r)
	}
}

// P163: nobody but the user may come near the socket.
func TestModes(t *testing.T) {
	h := newHouse(t)
	h.run(h.client("one"), "1")
	for path, want := range map[string]fs.FileMode{
		h.place.Dir: fs.ModeDir | 0o700, h.place.Socket: fs.ModeSocket | 0o600, h.place.aliveFile(): 0o600, h.place.lockFile(): 0o600,
	} {
		if info, err := os.Lstat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", path, info, err, want)
		}
	}
}

func TestLocate(t *testing.T) {
	short, err := Locate("/home/u/.hermes")
	if err != nil || filepath.Dir(short.Socket) != short.Dir || filepath.Dir(short.Dir) != "/home/u/.hermes" {
		t.Errorf("%+v, %v", short, err)
	}
	long, err := Locate("/home/" + strings.Repeat("u", 100))
	if err != nil || len(long.Socket) > maxSocketPath || filepath.Dir(long.Socket) == long.Dir {
		t.Errorf("%+v, %v", long, err)
	}
	if p, err := Locate("relative"); err == nil {
		t.Errorf("%+v", p)
	}
}
