//go:build unix

package backendtest

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/guest"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// slow limits the suite to cases that move little, for links that move little.
func slow(name string) bool {
	for _, heavy := range []string{
		"MiB", "1 GB", "10 GB", "1,000", "300", "100 at once", "16 connections", "many at once", "atomic", "stalled", "argv",
		"slow", "complete", "discarded", "not read", "until", "never ends", "control ordered", "keep head and tail",
		"writing after", "impossible", "cannot be", "round trip", "what was put", "everything", "fails", "env is", "whole or not",
	} {
		if strings.Contains(name, heavy) {
			return false
		}
	}
	return true
}

// TestPipeChopped takes the suite over a link on which no frame comes in one piece: a header has 12
// bytes.
func TestPipeChopped(t *testing.T) {
	TestBackend(t, Config{only: slow, Open: func(t *testing.T) backend.Backend { return openPipe(t, &Link{Chop: 7}) }})
}

// TestPipeDelayed takes the suite over a link on which nothing is there at once.
func TestPipeDelayed(t *testing.T) {
	few := func(name string) bool {
		return slow(name) && (strings.HasPrefix(name, "signal") || strings.HasPrefix(name, "control") ||
			strings.HasPrefix(name, "listen unix") || strings.HasPrefix(name, "close") || strings.HasPrefix(name, "wait"))
	}
	TestBackend(t, Config{only: few, Open: func(t *testing.T) backend.Backend {
		return openPipe(t, &Link{Delay: 3 * time.Millisecond, Chop: 1000})
	}})
}

// faulty opens a Pipe with a link and a lease in it, for a case of its own.
func faulty(t *testing.T, lease time.Duration) (*env, *Link) {
	t.Helper()
	link := &Link{}
	cfg := PipeConfig{Python: testenv.Python(t), Dir: t.TempDir(), Env: testenv.Environ(), Lease: lease}
	cfg.Wrap = func(inner guest.Link) guest.Link { return link.Wrap(inner) }
	b, err := Pipe(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		link.Thaw()
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &env{TB: t, Backend: b, mark: "hx" + rand.Text()}, link
}

// wantLost fails the test unless the environment is gone for the host: for a process that ran in it
// and for all verbs.
func wantLost(ctx context.Context, e *env, p *proc) {
	e.Helper()
	e.wantErr("wait", p.Wait(ctx), backend.ErrUnavailable)
	_, err := e.Start(ctx, e.sh("true"))
	e.wantErr("start", err, backend.ErrUnavailable)
	_, err = e.Get(ctx, "/etc/hostname")
	e.wantErr("get", err, backend.ErrUnavailable)
	e.wantErr("put", e.Put(ctx, e.scratch("x"), strings.NewReader(""), 0), backend.ErrUnavailable)
	_, err = e.Listen(ctx, "unix", "")
	e.wantErr("listen", err, backend.ErrUnavailable)
	_, err = e.Share(ctx, "")
	e.wantErr("share", err, backend.ErrUnavailable)
}

// wantNothingLeft waits until the guest's side has ended itself. The host is this machine, too.
func wantNothingLeft(e *env) {
	e.Helper()
	testenv.NoProcesses(e.TB, e.mark)
	testenv.Eventually(e.TB, "the scratch is gone", func() bool {
		_, err := os.Lstat(e.Info().Scratch)
		return errors.Is(err, os.ErrNotExist)
	})
}

// TestPipeCut (B019, B025): a link that breaks is no exit, and the far side ends by itself.
func TestPipeCut(t *testing.T) {
	for _, what := range []string{"idle", "flooding"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			e, link := faulty(t, 0)
			p := e.ready(ctx, e.script("tree.py", "wait", "deaf"))
			e.linger(ctx)
			if what == "flooding" {
				e.ready(ctx, e.py("print('ready')\nwhile True: print('x'*10000)"))
			}
			link.Cut()
			wantLost(ctx, e, p)
			wantNothingLeft(e)
		})
	}
}

// TestPipeFrozen: nothing tells that the network is gone. Both sides find out by the lease.
func TestPipeFrozen(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	e, link := faulty(t, 2*time.Second)
	p := e.ready(ctx, e.script("tree.py", "wait", "deaf"))
	e.linger(ctx)
	link.Freeze()
	wantNothingLeft(e)
	wantLost(ctx, e, p)
}

// TestPipeFrozenClose: Close does not wait for a link that is frozen, and the guest ends all the same.
func TestPipeFrozenClose(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	e, link := faulty(t, 2*time.Second)
	e.ready(ctx, e.script("tree.py", "wait", "deaf"))
	link.Freeze()
	if err := e.Close(); err != nil {
		t.Logf("close: %v", err)
	}
	wantNothingLeft(e)
}

// TestPipeThawed: a link that was frozen for less than the lease has lost nothing.
func TestPipeThawed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	e, link := faulty(t, time.Minute)
	data := pattern(3 << 20)
	cmd := e.py("import sys,shutil;print('ready',flush=True);shutil.copyfileobj(sys.stdin.buffer,sys.stdout.buffer)")
	cmd.Stdin = strings.NewReader(data)
	p := e.ready(ctx, cmd)
	for range 5 {
		link.Freeze()
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		_ = p.Wait(short)
		cancel()
		link.Thaw()
	}
	p.wait(ctx)
	if p.out.String() != "ready\n"+data {
		t.Errorf("%d bytes came back changed", len(p.out.String()))
	}
}

// TestPipeLeaseIsKept: a host that has nothing to say keeps the lease by its pings.
func TestPipeLeaseIsKept(t *testing.T) {
	t.Parallel()
	e, _ := faulty(t, time.Second)
	p := e.start(t.Context(), e.sh("sleep 3; echo here"))
	p.wait(t.Context())
	if got := p.out.String(); got != "here\n" {
		t.Errorf("got %q", got)
	}
}

// TestPipeFrozenCtx: a ctx is kept while nothing comes through, and what was given up is not there
// afterwards.
func TestPipeFrozenCtx(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	e, link := faulty(t, time.Minute)
	p := e.ready(ctx, e.script("tree.py", "wait", "deaf"))
	e.output(ctx, e.sh(`truncate -s 1G "$1"`, e.scratch("huge")))
	open, err := e.Get(ctx, e.scratch("huge"))
	if err != nil {
		t.Fatal(err)
	}
	link.Freeze()
	for range 2 { // the first may fill what is between us and the link
		for what, call := range map[string]func(ctx context.Context) error{
			"start":  func(ctx context.Context) error { _, err := e.Start(ctx, e.sh("sleep 600")); return err },
			"signal": func(ctx context.Context) error { return p.Signal(ctx, backend.Interrupt) },
			"wait":   p.Wait,
			"put":    func(ctx context.Context) error { return e.Put(ctx, e.scratch("put"), &zeros{}, 0) },
			"get":    func(ctx context.Context) error { _, err := e.Get(ctx, e.scratch("huge")); return err },
			"listen": func(ctx context.Context) error { _, err := e.Listen(ctx, "unix", ""); return err },
			"share":  func(ctx context.Context) error { _, err := e.Share(ctx, ""); return err },
		} {
			short, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
			err := call(short)
			cancel()
			if what == "signal" && err == nil {
				continue // it is on its way
			}
			e.wantErr(what, err, context.DeadlineExceeded)
		}
	}
	if err := open.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	link.Thaw()
	p.kill(ctx)
	e.awaitGone(ctx, e)
	if e.stat(ctx, e.scratch("put"))[0].Kind != "" {
		t.Error("a Put that was given up has put")
	}
}

// TestPipeFewDescriptors: an agent that can open no more refuses, and goes on when others have closed.
func TestPipeFewDescriptors(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	python := filepath.Join(dir, "python")
	wrapper := "#!/bin/sh\nulimit -n 100\nexec " + testenv.Python(t) + " \"$@\"\n"
	if err := os.WriteFile(python, []byte(wrapper), 0o700); err != nil {
		t.Fatal(err)
	}
	e := &env{TB: t, Backend: open(t, PipeConfig{Python: python, Dir: dir, Env: testenv.Environ()}), mark: "hx" + rand.Text()}
	l := e.listen(ctx, "unix", "")
	holder := e.ready(ctx, e.dial(l, "hold", "60"))
	var running []backend.Process
	for {
		p, err := e.Start(ctx, e.script("tree.py", "wait", "deaf"))
		if err != nil {
			t.Logf("%d run; then: %v", len(running), err)
			break
		}
		running = append(running, p)
	}
	holder.kill(ctx)
	shut(l)
	for _, p := range running {
		if err := p.Signal(ctx, backend.Kill); err != nil {
			t.Errorf("kill: %v", err)
		}
		_ = p.Wait(ctx)
	}
	if got := e.output(ctx, e.sh("echo again")); got != "again\n" {
		t.Errorf("got %q", got)
	}
	if err := e.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	wantNothingLeft(e)
}
