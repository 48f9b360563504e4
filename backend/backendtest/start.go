package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
)

func startCases() []testCase {
	return []testCase{
		{"start not found", startNotFound},
		{"start not executable", startNotExecutable},
		{"start in a missing dir", startMissingDir},
		{"start with arguments that cannot be", startImpossible},
		{"start ctx cancelled afterwards leaves the process", startCancelledAfter},
		{"start ctx cancelled before starts nothing", startCancelledBefore},
		{"start given up in between leaves nothing", startGivenUp},
		{"start 100 at once", startMany},
		{"start 300 one after another", startSeries},
	}
}

// wantStart fails the test unless starting cmd answers an error that wraps want.
func (e *env) wantStart(ctx context.Context, cmd backend.Cmd, want error) {
	e.Helper()
	p, err := e.Start(ctx, cmd)
	if err == nil {
		_ = p.Signal(ctx, backend.Kill)
		_ = p.Wait(ctx)
	}
	e.wantErr(fmt.Sprintf("start %.60q in %q", cmd.Args, cmd.Dir), err, want)
}

func startNotFound(ctx context.Context, e *env) {
	for _, program := range []string{"hx-no-such-program", "/no/such/program", "./no-such-program", ""} {
		e.wantStart(ctx, backend.Cmd{Args: []string{program}, Env: e.vars()}, fs.ErrNotExist)
	}
	e.wantStart(ctx, backend.Cmd{Args: []string{"sh"}, Env: map[string]string{"PATH": "/nonexistent"}}, fs.ErrNotExist)
	e.output(ctx, e.sh("true")) // and the environment goes on
}

func startNotExecutable(ctx context.Context, e *env) {
	plain, garbage := e.scratch("plain"), e.scratch("garbage")
	e.put(ctx, plain, "#!/bin/sh\n", 0o600)
	e.put(ctx, garbage, "\x00\x01\x02 no program", 0o755)
	for _, program := range []string{plain, garbage, e.Info().Scratch} {
		e.wantStart(ctx, backend.Cmd{Args: []string{program}, Env: e.vars()}, backend.ErrNotExecutable)
	}
	// One that is found in PATH, but not fit to run.
	cmd := backend.Cmd{Args: []string{"plain"}, Env: e.vars("PATH=" + e.Info().Scratch)}
	if _, err := e.Start(ctx, cmd); err == nil {
		e.Error("started a file without the x bit")
	}
}

func startMissingDir(ctx context.Context, e *env) {
	missing := e.scratch("no such dir")
	cmd := e.sh("true")
	cmd.Dir = missing
	e.wantStart(ctx, cmd, fs.ErrNotExist)
	if _, err := e.Start(ctx, cmd); err == nil || !strings.Contains(err.Error(), missing) {
		e.Errorf("the error does not name the directory: %v", err)
	}
	e.put(ctx, e.scratch("file"), "", 0o600)
	cmd.Dir = e.scratch("file")
	if _, err := e.Start(ctx, cmd); err == nil {
		e.Error("started in a directory that is a file")
	}
}

func startImpossible(ctx context.Context, e *env) {
	for name, cmd := range map[string]backend.Cmd{
		"no arguments":       {Env: e.vars()},
		"NUL in an argument": e.py("pass", "a\x00b"),
		"NUL in the program": {Args: []string{"/bin/sh\x00"}, Env: e.vars()},
		"NUL in Env":         {Args: []string{"/bin/sh"}, Env: e.vars("A=b\x00c")},
		"= in a name":        {Args: []string{"/bin/sh"}, Env: map[string]string{"A=B": "c"}},
		"huge argument":      e.py("pass", strings.Repeat("x", 8<<20)),
	} {
		if p, err := e.Start(ctx, cmd); err == nil {
			_ = p.Signal(ctx, backend.Kill)
			e.Errorf("%s: it started", name)
		}
	}
	e.output(ctx, e.sh("true"))
}

func startCancelledAfter(ctx context.Context, e *env) {
	starting, cancel := context.WithCancel(ctx)
	near, far := duplex()
	defer far.Close()
	cmd := e.py("import os;print(os.read(0,10).decode())")
	cmd.Stdin = near
	p := e.start(starting, cmd)
	cancel()
	if _, err := far.Write([]byte("go on")); err != nil {
		e.Fatal(err)
	}
	p.wait(ctx)
	if got := p.out.String(); got != "go on\n" {
		e.Errorf("got %q", got)
	}
}

func startCancelledBefore(ctx context.Context, e *env) {
	cause := errors.New("nobody wants it")
	cancelled, cancel := context.WithCancelCause(ctx)
	cancel(cause)
	cmd := e.sh("echo started >" + e.scratch("trace"))
	if _, err := e.Start(cancelled, cmd); !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
		e.Errorf("got %v", err)
	}
	e.output(ctx, e.sh("true"))
	if e.stat(ctx, e.scratch("trace"))[0].Kind != "" {
		e.Error("it was started all the same")
	}
}

func startMany(ctx context.Context, e *env) {
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			cmd := e.sh(`read -r x; echo "$1 $x"; echo "$x" >&2; exit "$1"`, itoa(i))
			cmd.Stdin = strings.NewReader(itoa(i*i) + "\n")
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			p, err := e.Start(ctx, cmd)
			if err == nil {
				err = p.Wait(ctx)
			}
			if status(err) != i {
				e.Errorf("%d: %v", i, err)
			}
			want := itoa(i*i) + "\n"
			if stdout.String() != itoa(i)+" "+want || stderr.String() != want {
				e.Errorf("%d: stdout %q, stderr %q", i, &stdout, &stderr)
			}
		})
	}
	wg.Wait()
	e.wantGone(ctx, e)
}

// status is the exit status that err of Wait tells of, or −1000 if it tells of none.
func status(err error) int {
	var exit *backend.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.Code
	default:
		return -1000
	}
}

// startSeries finds what each start leaves behind: descriptors, processes, or now and then an empty
// output (B008).
func startSeries(ctx context.Context, e *env) {
	before := e.agentDescriptors(ctx)
	for i := range 300 {
		if got := e.output(ctx, e.sh("echo x")); got != "x\n" {
			e.Fatalf("%d: got %q", i, got)
		}
	}
	e.wantGone(ctx, e)
	if after := e.agentDescriptors(ctx); after > before+5 {
		e.Errorf("the agent had %d descriptors and has %d", before, after)
	}
}

// agentDescriptors counts what the process above the supervisor has open, or is 0 where that may not
// be seen.
func (e *env) agentDescriptors(ctx context.Context) int {
	e.Helper()
	code := `
import os
with open("/proc/%d/stat" % os.getppid()) as f:
    agent = f.read().rpartition(")")[2].split()[1]
try:
    print(len(os.listdir("/proc/" + agent + "/fd")))
except OSError:
    print(0)
`
	n, err := strconv.Atoi(strings.TrimSpace(e.output(ctx, e.py(code))))
	if err != nil {
		e.Fatal(err)
	}
	return n
}

// startGivenUp: a start that is given up in any moment leaves no process, and nothing that counts as
// one.
func startGivenUp(ctx context.Context, e *env) {
	before := e.agentDescriptors(ctx)
	for i := range 40 {
		soon, cancel := context.WithTimeout(ctx, time.Duration(i)*100*time.Microsecond)
		p, err := e.Start(soon, e.script("tree.py", "wait", "deaf"))
		if err == nil {
			err = p.Signal(ctx, backend.Kill)
		} else if !errors.Is(err, context.DeadlineExceeded) {
			e.Errorf("start: %v", err)
		}
		if p != nil && err == nil {
			_ = p.Wait(ctx)
		}
		cancel()
	}
	e.awaitGone(ctx, e)
	e.output(ctx, e.sh("true"))
	if after := e.agentDescriptors(ctx); after > before+5 {
		e.Errorf("the agent had %d descriptors and has %d", before, after)
	}
}

func waitCases() []testCase {
	return []testCase{
		{"wait twice and from two goroutines", waitTwice},
		{"wait ctx ends first", waitCtx},
		{"run ends a process whose time is over", runCtx},
		{"run kills what ignores TERM", runDeaf},
	}
}

func waitTwice(ctx context.Context, e *env) {
	p := e.start(ctx, e.sh("sleep 0.05; exit 7"))
	results := make(chan error, 4)
	for range cap(results) {
		go func() { results <- p.Wait(ctx) }()
	}
	for range cap(results) {
		var exit *backend.ExitError
		if err := <-results; !errors.As(err, &exit) || exit.Code != 7 {
			e.Errorf("got %v", err)
		}
	}
	if got := p.exit(ctx); got.Code != 7 {
		e.Errorf("later: %+v", got)
	}
}

func waitCtx(ctx context.Context, e *env) {
	cause := errors.New("impatient")
	p := e.ready(ctx, e.py("import time;print('ready',flush=True);time.sleep(600)"))
	impatient, cancel := context.WithCancelCause(ctx)
	waiting := make(chan error, 1)
	go func() { waiting <- p.Wait(impatient) }()
	cancel(cause)
	e.wantErr("wait", <-waiting, cause)
	if e.living(ctx, e) == "" {
		e.Error("the process did not go on")
	}
	p.kill(ctx)
}

func runCtx(ctx context.Context, e *env) {
	cause := errors.New("time is over")
	running, cancel := context.WithCancelCause(ctx)
	out := &buffer{}
	cmd := e.script("tree.py", "wait", "polite")
	cmd.Stdout = out
	go func() {
		_ = out.await(ctx, "ready\n")
		cancel(cause)
	}()
	p, err := backend.Run(running, e, cmd, func(error) backend.Stop { return backend.Stop{Grace: time.Minute} })
	e.wantErr("run", err, cause)
	var exit *backend.ExitError
	if err := p.Wait(ctx); !errors.As(err, &exit) || exit.Signal != backend.Terminate {
		e.Errorf("ended by %v", err)
	}
	e.wantGone(ctx, e)
}

// runDeaf (B031): TERM, grace, KILL.
func runDeaf(ctx context.Context, e *env) {
	cause := errors.New("time is over")
	running, cancel := context.WithCancelCause(ctx)
	out := &buffer{}
	cmd := e.script("tree.py", "wait", "deaf")
	cmd.Stdout = out
	go func() {
		_ = out.await(ctx, "ready\n")
		cancel(cause)
	}()
	stop := func(error) backend.Stop { return backend.Stop{Grace: 100 * time.Millisecond} }
	p, err := backend.Run(running, e, cmd, stop)
	e.wantErr("run", err, cause)
	var exit *backend.ExitError
	if err := p.Wait(ctx); !errors.As(err, &exit) || exit.Signal != backend.Kill {
		e.Errorf("ended by %v", err)
	}
	e.wantGone(ctx, e)
}
