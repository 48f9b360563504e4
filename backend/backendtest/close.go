package backendtest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/hermes-exec/hermes-exec/backend"
)

func closeCases() []testCase {
	return []testCase{
		{"close twice and at once", closeTwice},
		{"close leaves nothing", closeLeavesNothing},
		{"close with everything running", closeRunning},
		{"close while a writer of the caller blocks", closeBlocked},
		{"close and then use", closeThenUse},
		{"close and then wait", closeThenWait},
	}
}

func closeTwice(_ context.Context, e *env) {
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := e.Close(); err != nil {
				e.Errorf("close: %v", err)
			}
		})
	}
	wg.Wait()
	if err := e.Close(); err != nil {
		e.Errorf("close again: %v", err)
	}
}

func closeLeavesNothing(ctx context.Context, e *env) {
	witness := e.another()
	e.put(ctx, e.scratch("a/b"), "x", 0o400)
	e.output(ctx, e.sh(`cd "$1" && mkdir locked && touch locked/x && chmod 0 locked && ln -s / root && mkfifo fifo`, e.Info().Scratch))
	above := strings.Fields(e.output(ctx, e.script("above.py")))
	if err := e.Close(); err != nil {
		e.Errorf("close: %v", err)
	}
	look := &env{TB: e.TB, Backend: witness, mark: "looking"}
	if found := look.stat(ctx, e.Info().Scratch)[0]; found.Kind != "" {
		e.Errorf("the scratch stays: %+v", found)
	}
	if left := look.output(ctx, look.script("above.py", above...)); left != "" {
		e.Errorf("the agent or a supervisor stays: %s", left)
	}
}

// closeRunning closes an environment in which everything is going on, and sees that all of it ends,
// on both sides.
func closeRunning(ctx context.Context, e *env) {
	witness := e.another()
	procs := []*proc{
		e.ready(ctx, e.script("tree.py", "wait", "deaf")),
		e.ready(ctx, e.script("tree.py", "stop", "deaf")),
		e.ready(ctx, e.py("import sys\nprint('ready',flush=True)\nwhile True: sys.stdout.write('x'*10000)")),
	}
	e.linger(ctx)
	blocked := e.blocked(ctx)
	if err := e.Close(); err != nil {
		e.Errorf("close: %v", err)
	}
	e.wantGone(ctx, witness)
	for i, p := range procs {
		if err := p.Wait(ctx); err == nil || ctx.Err() != nil {
			e.Errorf("process %d: %v", i, err)
		}
	}
	for what, ended := range blocked {
		if err := <-ended; err == nil {
			e.Errorf("%s: no error", what)
		}
	}
}

// closeBlocked: a caller whose writer is stuck, as a terminal is after Ctrl-S, can close all the same.
func closeBlocked(ctx context.Context, e *env) {
	witness := e.another()
	stuck := newGate()
	cmd := e.py("import sys\nwhile True: sys.stdout.write('x'*10000)")
	cmd.Stdout = stuck
	p := e.start(ctx, cmd)
	<-stuck.reached
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			e.Errorf("close: %v", err)
		}
	case <-ctx.Done():
		e.Error("close hangs")
	}
	e.wantGone(ctx, witness)
	close(stuck.open)
	if err := p.Wait(ctx); err == nil || ctx.Err() != nil {
		e.Errorf("wait: %v", err)
	}
}

// blocked starts calls that block until the environment closes.
func (e *env) blocked(ctx context.Context) map[string]chan error {
	e.Helper()
	calls := map[string]func() error{}
	l := e.listen(ctx, e.network(), "")
	e.ready(ctx, e.dial(l, "idle"))
	conn := e.accept(l)
	calls["accept"] = func() error { _, err := l.Accept(); return err }
	calls["read from a connection"] = func() error { _, err := conn.Read(make([]byte, 1)); return err }
	calls["write to a connection"] = func() error { _, err := io.Copy(conn, &zeros{}); return err }
	e.output(ctx, e.sh(`truncate -s 10G "$1"`, e.scratch("huge")))
	r, err := e.Get(ctx, e.scratch("huge"))
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { r.Close() })
	calls["read from a file"] = func() error {
		_, err := io.Copy(io.Discard, r) // may come to its end: a file may be read past the environment
		return cmp.Or(err, io.EOF)
	}
	calls["put"] = func() error { return e.Put(ctx, e.scratch("endless"), &zeros{}, 0) }
	s := e.share(ctx, "")
	e.send(s, "file", "x")
	p := e.ready(ctx, e.script("tree.py", "wait", "polite"))
	calls["wait"] = func() error { return p.Wait(ctx) }
	ended := map[string]chan error{}
	for what, call := range calls {
		result := make(chan error, 1)
		ended[what] = result
		go func() { result <- call() }()
	}
	return ended
}

func closeThenUse(ctx context.Context, e *env) {
	info := e.Info()
	s := e.share(ctx, "")
	if err := e.Close(); err != nil {
		e.Errorf("close: %v", err)
	}
	_, err := e.Start(ctx, backend.Cmd{Args: []string{"/bin/true"}})
	e.wantErr("start", err, net.ErrClosed)
	e.wantErr("put", e.Put(ctx, info.Temp+"/hx-late", strings.NewReader(""), 0), net.ErrClosed)
	_, err = e.Get(ctx, "/etc/hostname")
	e.wantErr("get", err, net.ErrClosed)
	_, err = e.Listen(ctx, "unix", "")
	e.wantErr("listen", err, net.ErrClosed)
	_, err = e.Share(ctx, "")
	e.wantErr("share", err, net.ErrClosed)
	if got := e.Info(); got.Name != info.Name || got.Scratch != info.Scratch {
		e.Errorf("info is now %+v", got)
	}
	if _, err := os.Lstat(s.HostDir()); err == nil {
		e.Errorf("a share stays at %s", s.HostDir())
	}
}

func closeThenWait(ctx context.Context, e *env) {
	ended := e.start(ctx, e.sh("echo out; exit 7"))
	ended.exit(ctx)
	unasked := e.ready(ctx, e.sh("echo ready; exit 7"))
	running := e.ready(ctx, e.script("tree.py", "wait", "deaf"))
	if err := e.Close(); err != nil {
		e.Errorf("close: %v", err)
	}
	if got := ended.exit(ctx).Code; got != 7 {
		e.Errorf("exit %d after Close", got)
	}
	e.wantCounts(ended, backend.Counts{Total: 4}, backend.Counts{})
	_ = unasked.Wait(ctx)
	if err := running.Wait(ctx); !lost(err) && !bySignal(err) && !errors.Is(err, net.ErrClosed) {
		e.Errorf("what ran at Close: %v", err)
	}
	_ = running.Signal(ctx, backend.Kill) // must not panic or hang
	if ctx.Err() != nil {
		e.Error("something hangs")
	}
}
