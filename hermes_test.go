//go:build unix

package hermes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// open opens an environment that is closed at the end of the test.
func open(t *testing.T, o hermes.Options) *hermes.Env {
	t.Helper()
	e, err := hermes.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	testenv.CloseAfter(t, e)
	return e
}

// both runs a test on the local backend and through the bare agent.
func both(t *testing.T, test func(t *testing.T, o hermes.Options)) {
	t.Helper()
	for _, name := range []string{"local", "pipe"} {
		t.Run(name, func(t *testing.T) { test(t, options(t, name)) })
	}
}

// onReady is an Events that calls what when the script prints "ready".
func onReady(what func()) func(hermes.Event) {
	var once sync.Once
	return func(e hermes.Event) {
		if e.Type == hermes.EventStdout && strings.Contains(e.Text, "ready") {
			once.Do(what)
		}
	}
}

const forever = "import time\nprint('ready')\nwhile True: time.sleep(0.05)\n"

func TestInterrupt(t *testing.T) {
	for _, tt := range []struct {
		name, code string
		cause      error
		output     string
		exit       int
	}{
		{"P33 B036 SIGINT first", forever, &hermes.Interrupt{}, "ready\n[execution interrupted]", -2},
		{"P3 with a reason", forever, &hermes.Interrupt{Reason: "user typed stop"}, "ready\n[execution interrupted — user typed stop]", -2},
		{"B037 the cause of a plain cancel is not invented", forever, context.Canceled, "ready\n[execution interrupted]", -15},
		{"at once", "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + forever, &hermes.Interrupt{Kill: true}, "ready\n[execution interrupted]", -9},
		{"a script that ends in order", "import signal, sys\nsignal.signal(signal.SIGINT, lambda *a: sys.exit(0))\n" + forever, &hermes.Interrupt{}, "ready\n[execution interrupted]", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			both(t, func(t *testing.T, o hermes.Options) {
				e := open(t, o)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				r := e.Run(ctx, hermes.Script{Code: []byte(tt.code), Stream: true, Events: onReady(func() { cancel(tt.cause) })})
				if r.Status != hermes.Interrupted || r.ErrorKind != hermes.KindInterrupted || r.ExitStatus() != 130 {
					t.Errorf("status %s, kind %s", r.Status, r.ErrorKind)
				}
				if r.Output != tt.output {
					t.Errorf("output %q, want %q", r.Output, tt.output)
				}
				if r.ExitCode == nil || *r.ExitCode != tt.exit {
					line, _ := hermes.JSON(r)
					t.Errorf("exit code: %s; want %d", line, tt.exit)
				}
			})
		})
	}
}

func TestInterruptBeforeTheRun(t *testing.T) {
	e := open(t, options(t, "local"))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&hermes.Interrupt{Reason: "changed my mind"})
	r := e.Run(ctx, hermes.Script{Code: []byte("print(1)")})
	if r.Status != hermes.Interrupted || r.Output != "[execution interrupted — changed my mind]" || r.ExitCode != nil {
		t.Errorf("%+v", r)
	}
}

func TestInterruptOpen(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&hermes.Interrupt{Reason: "changed my mind"})
	_, err := hermes.Open(ctx, options(t, "local"))
	if r := hermes.Failed(err); r.Status != hermes.Interrupted || r.ExitStatus() != 130 {
		t.Errorf("%v: %+v", err, r)
	}
}

// A deadline of the caller's own is an interrupt, wherever it finds the run.
func TestCallersDeadline(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	o := options(t, "local")
	_, err := hermes.Open(ctx, o)
	s := hermes.NewSessions(nil)
	testenv.CloseAfter(t, s)
	for name, r := range map[string]*hermes.Result{
		"open": hermes.Failed(err),
		"run":  open(t, o).Run(ctx, hermes.Script{Code: []byte("print(1)")}),
		"cell": s.Run(ctx, "s", o, hermes.Script{Code: []byte("print(1)")}, false),
	} {
		if r.Status != hermes.Interrupted || r.ErrorKind != hermes.KindInterrupted {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestEnvIsUsedAgain(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		e := open(t, o)
		staging := "import os, sys; print(os.path.dirname(sys.argv[0]))"
		first := e.Run(t.Context(), hermes.Script{Code: []byte(staging)})
		dir := strings.TrimSpace(first.Output)
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("staging: %v", err)
		}
		e.Run(t.Context(), hermes.Script{Code: []byte("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")})
		if r := e.Run(t.Context(), hermes.Script{Code: []byte("print('still')")}); r.Output != "still\n" {
			t.Errorf("after a crash: %+v", r)
		}
		testenv.Eventually(t, "the staging directory of the first run is gone", func() bool {
			_, err := os.Stat(dir)
			return errors.Is(err, fs.ErrNotExist)
		})
	})
}

func TestRunsAtOnce(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		e := open(t, o)
		var runs sync.WaitGroup
		for i := range 6 {
			runs.Go(func() {
				r := e.Run(t.Context(), hermes.Script{Code: fmt.Appendf(nil, "from hermes_tools import terminal\nprint([terminal('echo %d')['output'] for i in range(3)])", i)})
				if want := fmt.Sprintf("['%[1]d\\n', '%[1]d\\n', '%[1]d\\n']\n", i); r.Output != want || r.ToolCallsMade != 3 {
					t.Errorf("run %d: %+v", i, r)
				}
			})
		}
		runs.Wait()
	})
}

func TestCloseDuringARun(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		o.Settings.KillGrace = time.Minute
		e := open(t, o)
		ready := make(chan struct{})
		var closing sync.WaitGroup
		closing.Go(func() {
			<-ready
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
		r := e.Run(t.Context(), hermes.Script{
			Code: []byte("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + forever), Stream: true, Events: onReady(func() { close(ready) }),
		})
		closing.Wait()
		if r.Status != hermes.Interrupted || !strings.HasPrefix(r.Output, "ready\n[execution interrupted") {
			t.Errorf("%+v", r)
		}
		if r := e.Run(t.Context(), hermes.Script{Code: []byte("print(1)")}); r.ErrorKind != hermes.KindBackend || !strings.Contains(r.Error, net.ErrClosed.Error()) {
			t.Errorf("after Close: %+v", r)
		}
		if err := e.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
	})
}

// TestSecondInterrupt is how the command line ends a run whose script does not heed the first one:
// it closes the environment.
func TestSecondInterrupt(t *testing.T) {
	o := options(t, "local")
	o.Settings.KillGrace = time.Minute
	e := open(t, o)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var closing sync.WaitGroup
	r := e.Run(ctx, hermes.Script{
		Code:   []byte("import signal\nsignal.signal(signal.SIGINT, lambda *a: print('ready again'))\n" + strings.Replace(forever, "ready", "start", 1)),
		Stream: true,
		Events: func(event hermes.Event) {
			switch {
			case event.Type != hermes.EventStdout:
			case strings.Contains(event.Text, "start"):
				cancel(&hermes.Interrupt{})
			case strings.Contains(event.Text, "again"):
				closing.Go(func() { _ = e.Close() })
			}
		},
	})
	closing.Wait()
	if r.Status != hermes.Interrupted || !strings.HasSuffix(r.Output, "[execution interrupted]") {
		t.Errorf("%+v", r)
	}
}

// agent is Python for the pid of the guest agent: it stands above the supervisor of the script.
const agent = "int(open(f'/proc/{__import__(\"os\").getppid()}/stat').read().rsplit(')', 1)[1].split()[1])"

// killOnReady sends a signal to the agent, whose pid the script has printed, when it prints "ready".
func killOnReady(t *testing.T, sig syscall.Signal) func(hermes.Event) {
	printed := ""
	return func(e hermes.Event) {
		printed += e.Text
		if !strings.Contains(printed, "ready\n") {
			return
		}
		var pid int
		if _, err := fmt.Sscanf(printed, "agent %d\n", &pid); err != nil {
			t.Errorf("%q: %v", printed, err)
		}
		printed = ""
		if err := syscall.Kill(pid, sig); err != nil {
			t.Error(err)
		}
	}
}

// TestLostEnvironment is B019 and B106: without an exit status there is no success, and what was
// printed is kept.
func TestLostEnvironment(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		e := open(t, o)
		r := e.Run(t.Context(), hermes.Script{
			Code:   []byte("print('agent', " + agent + ")\n" + forever),
			Stream: true,
			Events: killOnReady(t, syscall.SIGKILL),
		})
		if r.Status != hermes.Failure || r.ErrorKind != hermes.KindTransport || r.ExitCode != nil || r.ExitStatus() != 125 {
			line, _ := hermes.JSON(r)
			t.Errorf("%s", line)
		}
		if !strings.Contains(r.Error, "no exit status") || !strings.HasSuffix(r.Output, "\nready\n") {
			t.Errorf("error %q, output %q", r.Error, r.Output)
		}
	})
}

func TestSpillFailure(t *testing.T) {
	o := options(t, "local")
	if err := os.WriteFile(filepath.Join(o.Settings.Home, "cache"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := open(t, o).Run(t.Context(), hermes.Script{Code: []byte("print('x' * 100000)")})
	if r.Status != hermes.Success || r.StdoutSpillPath != "" || !strings.Contains(r.Warning, "could not be kept") || !r.StdoutTruncated {
		t.Errorf("P206: %s, %q, %q", r.Status, r.StdoutSpillPath, r.Warning)
	}
}

func TestSpillIsReadBack(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		e := open(t, o)
		first := e.Run(t.Context(), hermes.Script{Code: []byte("for i in range(20000): print('line', i)")})
		read := fmt.Appendf(nil, "from hermes_tools import read_file\nprint(read_file(%q, offset=10001, limit=1)['content'], end='')", first.StdoutSpillPath)
		r := e.Run(t.Context(), hermes.Script{Code: read, Spills: []string{first.StdoutSpillPath}})
		if r.Output != "line 10000\n" {
			t.Errorf("B003: %+v", r)
		}
	})
}

func TestBackgroundEndsWithTheRun(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		e := open(t, o)
		mark := "HXMARK" + filepath.Base(o.Dir) + t.Name()[len(t.Name())-4:]
		r := e.Run(t.Context(), hermes.Script{Code: fmt.Appendf(nil,
			"from hermes_tools import terminal\nprint(terminal('%s=1 sleep 600 > /dev/null 2>&1 &')['exit_code'])", mark)})
		if r.Output != "0\n" {
			t.Errorf("%+v", r)
		}
		testenv.NoProcesses(t, mark)
	})
}

func TestCall(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		e := open(t, o)
		got, err := e.Call(t.Context(), "terminal", json.RawMessage(`{"command":"echo hi; pwd"}`))
		if want := fmt.Sprintf(`{"output":"hi\n%s\n","exit_code":0}`, o.Dir); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
		if _, err := e.Call(t.Context(), "no_such", json.RawMessage(`{}`)); err == nil || !strings.Contains(err.Error(), "Available: ") {
			t.Errorf("unknown tool: %v", err)
		}
		if _, err := e.Call(t.Context(), "terminal", json.RawMessage(`{"command":"ls","command":"pwd"}`)); err == nil || !strings.Contains(err.Error(), "not valid JSON") {
			t.Errorf("a name twice: %v", err)
		}
	})
}

// A module beside the script comes before the run's own: the result says so.
func TestShadowedTools(t *testing.T) {
	o := options(t, "local")
	e := open(t, o)
	dir := t.TempDir()
	script := filepath.Join(dir, "script.py")
	if err := os.WriteFile(script, []byte("import hermes_tools"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := e.Run(t.Context(), hermes.Script{File: script}); r.Warning != "" {
		t.Errorf("warning %q", r.Warning)
	}
	shadow := filepath.Join(dir, "hermes_tools.py")
	if err := os.WriteFile(shadow, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.py")
	if err := os.Symlink(script, link); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{script, link} {
		if r := e.Run(t.Context(), hermes.Script{File: file}); !strings.Contains(r.Warning, shadow) {
			t.Errorf("%s: warning %q", file, r.Warning)
		}
	}
	if r := e.Run(t.Context(), hermes.Script{Code: []byte("import hermes_tools")}); r.Warning != "" {
		t.Errorf("warning %q", r.Warning)
	}
}
