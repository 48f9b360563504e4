package kerneltest

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/kernel"
)

// errTime stands for any cause that is no *kernel.Interrupt.
var errTime = errors.New("time is over")

// forever prints "ready" and does not end by itself.
const forever = "import time\nprint('ready')\nwhile True: time.sleep(0.05)\n"

func stopCases() []testCase {
	return []testCase{
		{"a timeout is SIGTERM", func(ctx context.Context, e *env) {
			e.open(time.Minute)
			d := e.stopped(ctx, forever, errTime)
			e.wantStopped(d, errTime, -int(backend.Terminate))
		}},
		{"a script may end in order", func(ctx context.Context, e *env) {
			e.open(time.Minute)
			d := e.stopped(ctx, "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *a: sys.exit('bye'))\n"+forever, errTime)
			e.wantStopped(d, errTime, 1)
			e.wantStderr(d, "bye\n")
		}},
		{"B031 after the grace it is killed", func(ctx context.Context, e *env) {
			e.open(100 * time.Millisecond)
			d := e.stopped(ctx, "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"+forever, errTime)
			e.wantStopped(d, errTime, -int(backend.Kill))
		}},
		{"an interrupt is KeyboardInterrupt", func(ctx context.Context, e *env) {
			e.open(time.Minute)
			d := e.stopped(ctx, forever, &kernel.Interrupt{})
			if i := (*kernel.Interrupt)(nil); !errors.As(d.err, &i) {
				e.Errorf("error %v, want an Interrupt", d.err)
			}
			e.wantStderr(d, "KeyboardInterrupt")
		}},
		{"an interrupt that kills has no grace", func(ctx context.Context, e *env) {
			e.open(time.Minute)
			kill := &kernel.Interrupt{Kill: true}
			d := e.stopped(ctx, "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"+forever, kill)
			e.wantStopped(d, kill, -int(backend.Kill))
		}},
		{"B022 the whole tree ends", func(ctx context.Context, e *env) {
			e.open(100 * time.Millisecond)
			d := e.stopped(ctx, `import subprocess, sys, time
child = """
import os, time
os.setsid()
print("ready", flush=True)
while True:
    open("canary", "a").write("x")
    time.sleep(0.05)
"""
subprocess.Popen([sys.executable, "-c", child])
while True: time.sleep(0.05)
`, errTime)
			e.wantStopped(d, errTime, -int(backend.Terminate))
			e.wantStill(ctx, "canary")
		}},
		{"B006 B007 what was printed is not lost", func(ctx context.Context, e *env) {
			e.open(time.Minute)
			d := e.stopped(ctx, "import os\nprint('one')\nos.write(1, b'two')\n"+strings.ReplaceAll(forever, "ready", " ready"), &kernel.Interrupt{Kill: true})
			if d.stdout != "one\ntwo ready\n" {
				e.Errorf("stdout %q", d.stdout)
			}
		}},
		{"a context that has ended starts nothing", func(ctx context.Context, e *env) {
			e.open(0)
			e.want(e.cell(ctx, "print(1)"), 0, "1\n")
			over, cancel := context.WithCancelCause(ctx)
			cancel(errTime)
			for range 10 { // whatever else is ready
				if d := e.cell(over, "print(2)"); d.Outcome != nil || !errors.Is(d.err, errTime) {
					e.Fatalf("outcome %+v, error %v; want none, %v", d.Outcome, d.err, errTime)
				}
			}
		}},
		{"after a stop the next cell runs", func(ctx context.Context, e *env) {
			e.open(0)
			e.stopped(ctx, forever, errTime)
			e.want(e.cell(ctx, "print('two')"), 0, "two\n")
		}},
		{"what a cell left in open files is written at the end", func(ctx context.Context, e *env) {
			e.want(e.cell(ctx, "left = open('left', 'w')\nn = left.write('data')\n"), 0, "")
			if err := e.executor.Close(); err != nil {
				e.Error(err)
			}
			r, err := e.backend.Get(ctx, "left")
			if err != nil {
				e.Fatal(err)
			}
			defer r.Close()
			if text, err := io.ReadAll(r); string(text) != "data" || err != nil {
				e.Errorf("%q, %v", text, err)
			}
		}},
		{"Close twice", func(ctx context.Context, e *env) {
			e.want(e.cell(ctx, "print(1)"), 0, "1\n")
			for range 2 {
				if err := e.executor.Close(); err != nil {
					e.Error(err)
				}
			}
		}},
	}
}

// wantStopped fails the case unless the cell was ended for that cause and left that status.
func (e *env) wantStopped(d done, cause error, code int) {
	e.Helper()
	if !e.config.Fresh { // a kernel that is killed has delivered no status of its cell's
		if !errors.Is(d.err, cause) || d.Outcome == nil || d.Delivered || !d.Ended {
			e.Errorf("outcome %+v, error %v; want the kernel's end, %v", d.Outcome, d.err, cause)
		}
		return
	}
	if !errors.Is(d.err, cause) || d.code() != code {
		e.Errorf("status %d, error %v; want %d, %v\nstderr: %.2000s", d.code(), d.err, code, cause, d.stderr)
	}
}

// wantStill fails the case if a file of the environment still grows: two cells of Python look at it,
// the second after its writer would have written many times.
func (e *env) wantStill(ctx context.Context, name string) {
	e.Helper()
	const look = "import os, time\na = os.path.getsize('%[1]s') if os.path.exists('%[1]s') else 0\ntime.sleep(0.5)\n" +
		"b = os.path.getsize('%[1]s') if os.path.exists('%[1]s') else 0\nprint(b - a)\n"
	e.want(e.cell(ctx, strings.ReplaceAll(look, "%[1]s", name)), 0, "0\n")
}
