package backendtest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
)

func signalCases() []testCase {
	return []testCase{
		{"signal right after Start", signalAtOnce},
		{"signal Interrupt is KeyboardInterrupt", signalInterrupt},
		{"signal Terminate reaches the whole tree", signalTree},
		{"signal after the end is no error", signalAfterEnd},
		{"signal to one process spares the others", signalOthers},
		{"signal Kill to a stopped process", signalStopped},
	}
}

func signalAtOnce(ctx context.Context, e *env) {
	for i := range 30 {
		sig := []backend.Signal{backend.Terminate, backend.Interrupt, backend.Kill}[i%3]
		p := e.start(ctx, backend.Cmd{Args: []string{"sleep", "600"}, Env: e.vars()})
		if err := p.Signal(ctx, sig); err != nil {
			e.Fatalf("signal %d: %v", sig, err)
		}
		p.wantSignal(ctx, sig)
	}
}

func signalInterrupt(ctx context.Context, e *env) {
	code := "import time\ntry:\n print('ready',flush=True);time.sleep(600)\nexcept KeyboardInterrupt:\n print('caught')"
	p := e.ready(ctx, e.py(code))
	if err := p.Signal(ctx, backend.Interrupt); err != nil {
		e.Fatal(err)
	}
	p.wait(ctx)
	if got := p.out.String(); got != "ready\ncaught\n" {
		e.Errorf("got %q", got)
	}
	p = e.ready(ctx, e.py("import time;print('ready',flush=True);time.sleep(600)"))
	if err := p.Signal(ctx, backend.Interrupt); err != nil {
		e.Fatal(err)
	}
	p.wantSignal(ctx, backend.Interrupt)
	if got := p.err.String(); !strings.Contains(got, "KeyboardInterrupt") {
		e.Errorf("stderr %q", got)
	}
}

func signalTree(ctx context.Context, e *env) {
	e.put(ctx, e.scratch("trace/x"), "", 0o600)
	p := e.ready(ctx, e.script("tree.py", "wait", "polite", e.scratch("trace")))
	if err := p.Signal(ctx, backend.Terminate); err != nil {
		e.Fatal(err)
	}
	p.wantSignal(ctx, backend.Terminate)
	for _, name := range []string{"child", "parent", "grandchild", "setsid", "daemon"} {
		if e.stat(ctx, e.scratch("trace/"+name))[0].Kind == "" {
			e.Errorf("%s got no SIGTERM", name)
		}
	}
	e.wantGone(ctx, e)
}

func signalAfterEnd(ctx context.Context, e *env) {
	p := e.start(ctx, e.sh("exit 3"))
	if got := p.exit(ctx).Code; got != 3 {
		e.Errorf("exit %d", got)
	}
	for _, sig := range []backend.Signal{backend.Interrupt, backend.Terminate, backend.Kill} {
		if err := p.Signal(ctx, sig); err != nil {
			e.Errorf("signal %d: %v", sig, err)
		}
	}
	if got := p.exit(ctx).Code; got != 3 {
		e.Errorf("exit %d afterwards", got)
	}
}

func signalOthers(ctx context.Context, e *env) {
	code := "import sys;print('ready',flush=True);print(sys.stdin.read())"
	other := e.py(code)
	near, far := duplex()
	other.Stdin = near
	spared := e.ready(ctx, other)
	e.ready(ctx, e.script("tree.py", "wait", "deaf")).kill(ctx)
	if _, err := far.Write([]byte("alive")); err != nil {
		e.Fatal(err)
	}
	far.Close()
	spared.wait(ctx)
	if got := spared.out.String(); got != "ready\nalive\n" {
		e.Errorf("got %q", got)
	}
}

func signalStopped(ctx context.Context, e *env) {
	for _, manners := range []string{"polite", "deaf"} {
		p := e.ready(ctx, e.script("tree.py", "stop", manners))
		// The process stops itself only after it has said ready: either way the signal ends it.
		p.kill(ctx)
		e.wantGone(ctx, e)
	}
}

func treeCases() []testCase {
	return []testCase{
		{"tree ends with its process", treeLeft},
		{"tree killed with setsid children and daemons", treeKilled},
		{"tree of 300 sessions", treeWide},
		{"tree with zombies", treeZombies},
		{"tree that moves on", treeHops},
		{"linger leaves processes until Signal", lingerSignal},
		{"linger leaves processes until Close", lingerClose},
		{"linger goes on writing after its parent", lingerWrites},
	}
}

// treeLeft: what a script leaves running ends with it, deaf or not, and does not delay Wait by
// holding its output open (B020, B022).
func treeLeft(ctx context.Context, e *env) {
	for _, manners := range []string{"polite", "deaf"} {
		p := e.start(ctx, e.script("tree.py", "exit", manners))
		p.wait(ctx)
		if got := p.out.String(); got != "ready\n" {
			e.Errorf("%s: got %q", manners, got)
		}
		if left := p.Survivors(); len(left) > 0 {
			e.Errorf("%s: survivors %q", manners, left)
		}
		e.wantGone(ctx, e)
	}
}

func treeKilled(ctx context.Context, e *env) {
	p := e.ready(ctx, e.script("tree.py", "wait", "deaf"))
	p.kill(ctx)
	e.wantGone(ctx, e)
	if left := p.Survivors(); len(left) > 0 {
		e.Errorf("survivors %q", left)
	}
}

// treeWide: killing takes a walk over all processes, and may not take one for each.
func treeWide(ctx context.Context, e *env) {
	code := `
import os, signal, time
for n in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
    signal.signal(n, signal.SIG_IGN)
for _ in range(300):
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
        os._exit(0)
print("ready", flush=True)
time.sleep(600)
`
	p := e.ready(ctx, e.py(code))
	p.kill(ctx)
	e.wantGone(ctx, e)
	if left := p.Survivors(); len(left) > 0 {
		e.Errorf("survivors %q", left)
	}
}

// treeZombies: a process that has ended and was not waited for is dead, and delays nothing.
func treeZombies(ctx context.Context, e *env) {
	const zombies = "import os,time\nfor _ in range(20):\n if os.fork()==0: os._exit(0)\n"
	p := e.ready(ctx, e.py(zombies+"print('ready',flush=True);time.sleep(600)"))
	p.kill(ctx)
	p = e.start(ctx, e.py(zombies))
	p.wait(ctx)
	if left := p.Survivors(); len(left) > 0 {
		e.Errorf("survivors %q", left)
	}
	e.wantGone(ctx, e)
}

// treeHops: a process that forks and ends over and over, each time in a new session, has another
// pid whenever one looks.
func treeHops(ctx context.Context, e *env) {
	code := `
import os, time
if os.fork() == 0:
    print("ready", flush=True)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if os.fork() != 0:
            os._exit(0)
        os.setsid()
        time.sleep(0.002)
time.sleep(600)
`
	p := e.ready(ctx, e.py(code))
	p.kill(ctx)
	e.wantGone(ctx, e)
}

func lingerSignal(ctx context.Context, e *env) {
	p := e.linger(ctx)
	other := e.linger(ctx)
	if err := p.Signal(ctx, backend.Kill); err != nil {
		e.Fatal(err)
	}
	if p.exit(ctx).Code != 0 {
		e.Error("the signal changed how the process had ended")
	}
	if err := other.Signal(ctx, backend.Kill); err != nil {
		e.Fatal(err)
	}
	e.awaitGone(ctx, e)
}

// linger runs a tree whose first process ends, and sees that the rest stays.
func (e *env) linger(ctx context.Context) *proc {
	e.Helper()
	cmd := e.script("tree.py", "exit", "deaf")
	cmd.Linger = true
	p := e.start(ctx, cmd)
	p.wait(ctx)
	if got := strings.Count(e.living(ctx, e), "\n"); got < 5 {
		e.Fatalf("%d of 5 processes linger", got)
	}
	if left := p.Survivors(); len(left) > 0 {
		e.Errorf("what may linger is called a survivor: %q", left)
	}
	return p
}

func lingerClose(ctx context.Context, e *env) {
	e.linger(ctx)
	witness := e.another()
	if err := e.Close(); err != nil {
		e.Errorf("close: %v", err)
	}
	e.wantGone(ctx, witness)
}

// lingerWrites: a server that was started in the background prints its log to the stdout that it
// inherited, and must not end because nobody reads that any more.
func lingerWrites(ctx context.Context, e *env) {
	code := `
import os, sys, time
print("parent", flush=True)
if os.fork() == 0:
    while os.getppid() == int(sys.argv[1]):
        time.sleep(0.01)
    for _ in range(100):
        os.write(1, b"x" * 10000)
        os.write(2, b"y" * 10000)
    open(sys.argv[2], "w").close()
    time.sleep(600)
`
	cmd := e.py("import os,sys;sys.argv.insert(1,str(os.getpid()))\n"+code, e.scratch("written"))
	cmd.Linger = true
	p := e.start(ctx, cmd)
	p.wait(ctx)
	if got := p.out.String(); !strings.HasPrefix(got, "parent\n") {
		e.Errorf("got %.100q", got)
	}
	e.awaitFile(ctx, e.scratch("written"))
	if err := p.Signal(ctx, backend.Kill); err != nil {
		e.Error(err)
	}
	e.awaitGone(ctx, e)
}

// awaitFile waits until all the files are there, as seen from inside.
func (e *env) awaitFile(ctx context.Context, names ...string) {
	e.Helper()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	missing := func(s stat) bool { return s.Kind == "" }
	for slices.ContainsFunc(e.stat(ctx, names...), missing) {
		select {
		case <-poll.C:
		case <-ctx.Done():
			e.Fatalf("never there: %q", names)
		}
	}
}
