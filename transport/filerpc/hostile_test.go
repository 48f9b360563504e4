//go:build unix

package filerpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/hermes-exec/hermes-exec/transport"
)

// TestHostileSpool: what a guest plants redirects and blocks nothing.
func TestHostileSpool(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHandler()
	s := open(t, Transport{}, h)
	in := func(name string) string { return filepath.Join(s.dir, "in", name) }
	out := func(name string) string { return filepath.Join(s.dir, "out", name) }
	for _, err := range []error{
		os.Symlink(outside, in("req_link")),
		os.Symlink("/dev/zero", in("req_zero")),
		os.Symlink("nowhere", in("req_dangling")),
		os.Symlink("req_loop", in("req_loop")),
		syscall.Mkfifo(in("req_fifo"), 0o600),
		os.Mkdir(in("req_empty"), 0o700),
		os.MkdirAll(in("full1/x"), 0o700),
		os.MkdirAll(in("full2/x"), 0o700),
		os.Rename(in("full1"), in("req_full")),
		os.Rename(in("full2"), in("end_full")),
		syscall.Mkfifo(in(".wake"), 0o600),
		os.WriteFile(in("other"), []byte("SECRET"), 0o600),
		os.WriteFile(in("sparse"), nil, 0o600),
		os.Truncate(in("sparse"), 1<<40),
		os.Rename(in("sparse"), in("req_sparse")),
		// Where answers and FIFOs go:
		os.Symlink(outside, out(".res_x.1")),
		os.Symlink(outside, out("res_x.2")),
		os.Symlink(outside, out(".wake_x")),
		os.MkdirAll(out("res_y.1/z"), 0o700),
		os.WriteFile(out(".wake_y"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"link", "zero", "dangling", "loop", "fifo", "empty"} {
		s.want(name, refusedFile)
	}
	s.want("sparse", `{"result":{"error":"Unauthorized RPC request"}}`)
	s.put("y.1", `{"token":"TOKEN","tool":"t","args":{}}`)
	s.put("y.2", `{"token":"TOKEN","tool":"t","args":{}}`)
	for _, name := range []string{"x.1", "x.2"} {
		s.put(name, `{"token":"TOKEN","tool":"t","args":{"n":"`+name+`"}}`)
		s.want(name, `{"result":{"n":"`+name+`"}}`)
	}
	s.want("y.2", `{"result":{}}`)
	if data, err := os.ReadFile(outside); err != nil || string(data) != "SECRET" {
		t.Errorf("the file outside: %q, %v", data, err)
	}
	if data, err := os.ReadFile(out(".wake_y")); err != nil || len(data) != 0 {
		t.Errorf("the false FIFO: %q, %v", data, err)
	}
	if !exists(in("req_full")) {
		t.Error("a full directory was removed")
	}
	if h.calls != 4 {
		t.Errorf("%d calls", h.calls)
	}
}

// TestSparseWithToken: the size is checked before anything is read.
func TestSparseWithToken(t *testing.T) {
	s := open(t, Transport{}, newHandler())
	path := filepath.Join(s.dir, "in", ".big")
	head := strings.ReplaceAll(`{"token":"TOKEN","id":1,"tool":"t","args":{"a":"`, "TOKEN", s.Env()[transport.EnvToken])
	if err := errors.Join(os.WriteFile(path, []byte(head), 0o600), os.Truncate(path, 1<<40),
		os.Rename(path, filepath.Join(s.dir, "in", "req_big"))); err != nil {
		t.Fatal(err)
	}
	s.want("big", `{"id":1,"result":{"error":"Invalid RPC request: the request is longer than 67108864 bytes"}}`)
}

// TestUnwatchable: a watcher that cannot start is one line in the log, and polling.
func TestUnwatchable(t *testing.T) {
	var log bytes.Buffer
	tr := Transport{Options: transport.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}}
	share := newDirShare(t)
	e, err := newEndpoint(share, tr)
	if err != nil {
		t.Fatal(err)
	}
	s := &spool{endpoint: e, t: t, dir: share.dir, log: &log, done: make(chan error, 1)}
	watched := e.dir
	e.dir = filepath.Join(share.dir, "nowhere")
	if w := newServer(e, newHandler()).watch(t.Context()); w != nil {
		t.Fatal("watched nothing")
	}
	e.dir = watched
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("log: %s", &log)
	}
	s.close()
}

// TestSweep: FIFOs of the dead are removed once they are old; others, and what is no FIFO, stay.
func TestSweep(t *testing.T) {
	s := open(t, Transport{}, newHandler())
	_ = s.fifo("living")
	_ = s.fifo("dead").Close()
	if err := os.WriteFile(filepath.Join(s.dir, "out", ".wake_file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	srv := newServer(s.endpoint, newHandler())
	srv.sweep(time.Now())
	left := func() string {
		names, err := list(s.out, wakePrefix)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	if got := left(); got != ".wake_dead .wake_file .wake_living" {
		t.Errorf("young: %s", got)
	}
	srv.sweep(time.Now().Add(2 * old))
	if got := left(); got != ".wake_file .wake_living" {
		t.Errorf("old: %s", got)
	}
}

// TestEventsLie: events that are late, doubled, of other files, of nothing, or lost do not matter.
func TestEventsLie(t *testing.T) {
	share := newDirShare(t)
	e, err := newEndpoint(share, Transport{})
	if err != nil {
		t.Fatal(err)
	}
	h := newHandler()
	s := &spool{endpoint: e, t: t, dir: share.dir, log: &bytes.Buffer{}, done: make(chan error, 1)}
	events, problems := make(chan fsnotify.Event), make(chan error)
	srv := newServer(e, h)
	go func() {
		err := srv.loop(context.WithoutCancel(t.Context()), events, problems)
		srv.wait()
		s.done <- err
	}()
	for i := range 50 {
		name := fmt.Sprintf("a.%d", i)
		s.put(name, `{"token":"TOKEN","tool":"t","args":{}}`)
		for range 3 {
			events <- fsnotify.Event{Name: filepath.Join(e.dir, "req_"+name), Op: fsnotify.Create}
		}
		events <- fsnotify.Event{Name: filepath.Join(e.dir, "req_nothing"), Op: fsnotify.Create}
		events <- fsnotify.Event{Name: filepath.Join(e.dir, "req_"+name), Op: fsnotify.Remove}
		events <- fsnotify.Event{Name: "..", Op: fsnotify.Create}
		if i%10 == 0 {
			problems <- fsnotify.ErrEventOverflow
		}
		s.put(name+"lost", `{"token":"TOKEN","tool":"t","args":{}}`)
	}
	close(events)
	close(problems)
	for i := range 50 {
		s.want(fmt.Sprintf("a.%d", i), `{"result":{}}`)
		s.want(fmt.Sprintf("a.%dlost", i), `{"result":{}}`)
	}
	s.close()
	if err := <-s.done; !errors.Is(err, net.ErrClosed) {
		t.Errorf("loop: %v", err)
	}
	if h.calls != 100 {
		t.Errorf("%d calls", h.calls)
	}
}

// TestFullMemory: a request that does not fit waits where it is, and the calls that hold the memory
// can still be given up.
func TestFullMemory(t *testing.T) {
	h := newHandler()
	s := open(t, Transport{Options: transport.Options{MaxLine: 4096, MaxInFlight: 4096}}, h)
	big := strings.Repeat("d", 1000)
	s.put("big.1", `{"token":"TOKEN","tool":"wait","args":{},"cwd":"`+big+`"}`)
	<-h.entered
	s.put("big.2", `{"token":"TOKEN","tool":"t","args":{},"cwd":"`+big+`"}`)
	end := filepath.Join(s.dir, "in", "end_big.1")
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-h.ended; !errors.Is(err, errGone) {
		t.Errorf("cause %v", err)
	}
	s.want("big.2", `{"result":{}}`)
	if h.calls != 2 {
		t.Errorf("%d calls", h.calls)
	}
}
