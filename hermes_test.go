//go:build unix

package hermes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// open opens an environment that is closed at the end of the test.
func open(t *testing.T, o hermes.Options) *hermes.Env {
	t.Helper()
	e, err := hermes.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
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

func TestEvents(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		o.Settings.EnvPassthrough = []string{"TENOR_API_KEY"}
		e := open(t, o)
		var events []hermes.Event
		inside := false
		r := e.Run(t.Context(), hermes.Script{
			Code: []byte("import os, sys, time\nfrom hermes_tools import terminal, read_file\nk = os.environ['TENOR_API_KEY']\nprint('out é', k, flush=True)\n" +
				"terminal('echo ' + k)\nread_file('nowhere/' + k)\nfor c in k: print(c, end='', file=sys.stderr, flush=True)\nprint(file=sys.stderr)\n"),
			Stream: true,
			Events: func(e hermes.Event) {
				if inside {
					t.Error("two events at once")
				}
				inside = true
				events = append(events, e)
				inside = false
			},
		})
		texts := map[hermes.EventType]string{}
		var order []string
		last := 0.0
		for _, e := range events {
			line, err := hermes.JSON(e)
			if err != nil || strings.Contains(string(line), "tenor-secret-value") {
				t.Errorf("event %s, %v", line, err)
			}
			if e.Time < last {
				t.Errorf("time goes back: %s", line)
			}
			last = e.Time
			texts[e.Type] += e.Text
			if e.Type != hermes.EventStdout && e.Type != hermes.EventStderr {
				order = append(order, fmt.Sprint(e.Type, e.ID))
			}
		}
		if texts[hermes.EventStdout] != "out é ***\n" || !strings.HasSuffix(texts[hermes.EventStderr], "***\n") {
			t.Errorf("stdout %q, stderr %q", texts[hermes.EventStdout], texts[hermes.EventStderr])
		}
		if want := "start0 tool_call1 tool_result1 tool_call2 tool_result2 result0"; strings.Join(order, " ") != want {
			t.Errorf("order %v, want %s", order, want)
		}
		if end := events[len(events)-1]; end.Result != r || r.ToolCallsMade != 2 {
			t.Errorf("last event %+v", end)
		}
	})
}

func TestEventsWithoutStream(t *testing.T) {
	e := open(t, options(t, "local"))
	var types []string
	e.Run(t.Context(), hermes.Script{
		Code:   []byte("print(1)\nfrom hermes_tools import terminal\nterminal('true')"),
		Events: func(e hermes.Event) { types = append(types, string(e.Type)) },
	})
	if got := strings.Join(types, " "); got != "start tool_call tool_result result" {
		t.Errorf("events %s", got)
	}
}

// brokenWriter takes a few bytes and then fails.
type brokenWriter struct{ strings.Builder }

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.Len() > 0 {
		return 0, errors.New("nobody reads")
	}
	return w.Builder.Write(p)
}

func TestWriters(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		e := open(t, o)
		var out, errs strings.Builder
		r := e.Run(t.Context(), hermes.Script{
			Code:   []byte("import sys\nsys.stdout.buffer.write(b'\\x1b[1m\\xff' * 50000)\nprint('e', file=sys.stderr)"),
			Stdout: &out, Stderr: &errs,
		})
		if out.String() != strings.Repeat("\x1b[1m\xff", 50000) || errs.String() != "e\n" {
			t.Errorf("%d bytes, stderr %q", out.Len(), errs.String())
		}
		if !r.StdoutTruncated || r.StdoutSpillPath != "" || r.Warning != "" {
			t.Errorf("truncated %v, spill %q, warning %q", r.StdoutTruncated, r.StdoutSpillPath, r.Warning)
		}
		var broken brokenWriter
		r = e.Run(t.Context(), hermes.Script{Code: []byte("for i in range(1000): print(i, flush=True)"), Stdout: &broken})
		if r.Status != hermes.Success || !strings.HasSuffix(r.Output, "999\n") {
			t.Errorf("after a writer has failed: %+v", r)
		}
	})
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

func TestOpenErrors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(o *hermes.Options)
		kind   hermes.ErrorKind
		parts  []string
	}{
		{"an unknown backend", func(o *hermes.Options) { o.Settings.Backend = "moon" }, hermes.KindUsage, []string{"moon", "local"}},
		{"a missing directory that was asked for", func(o *hermes.Options) { o.Settings.Cwd = "/no/such" }, hermes.KindUsage, []string{"/no/such"}},
		{"a missing interpreter", func(o *hermes.Options) { o.Settings.Python = "/no/such/python3" }, hermes.KindPython, []string{"/no/such/python3"}},
		{"an interpreter that is none", func(o *hermes.Options) { o.Settings.Python = "/bin/false" }, hermes.KindPython, []string{"/bin/false"}},
		{"no interpreter at all", func(o *hermes.Options) {
			o.Settings.Python = ""
			o.Environ["PATH"] = "/no/such"
		}, hermes.KindPython, []string{"install"}},
		{"an unknown transport", func(o *hermes.Options) { o.Settings.Transport = "pigeon" }, hermes.KindTransport, []string{"pigeon"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t, "local")
			tt.change(&o)
			_, err := hermes.Open(t.Context(), o)
			if err == nil {
				t.Fatal("no error")
			}
			r := hermes.Failed(err)
			if r.ErrorKind != tt.kind || r.Status != hermes.Failure {
				t.Errorf("kind %s: %s", r.ErrorKind, r.Error)
			}
			for _, part := range tt.parts {
				if !strings.Contains(r.Error, part) {
					t.Errorf("error %q lacks %q", r.Error, part)
				}
			}
		})
	}
}

func TestDirectories(t *testing.T) {
	there := t.TempDir()
	for _, tt := range []struct {
		name    string
		change  func(s *config.Settings)
		want    string // "" is the caller's
		warning string
	}{
		{"P92 the caller's", func(*config.Settings) {}, "", ""},
		{"the flag's", func(s *config.Settings) { s.Cwd = there }, there, ""},
		{"P93 the first that exists", func(s *config.Settings) {
			s.CwdFallbacks = []config.Dir{{Path: there, Origin: "environment TERMINAL_CWD"}, {Path: "/", Origin: "file"}}
		}, there, ""},
		{"P94 a missing one is passed over", func(s *config.Settings) {
			s.CwdFallbacks = []config.Dir{{Path: "/no/such", Origin: "environment TERMINAL_CWD"}}
		}, "", "/no/such (environment TERMINAL_CWD)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t, "local")
			tt.change(&o.Settings)
			if tt.want == "" {
				tt.want = o.Dir
			}
			r := open(t, o).Run(t.Context(), hermes.Script{Code: []byte("import os; print(os.getcwd())")})
			if r.Output != tt.want+"\n" || !strings.Contains(r.Warning, tt.warning) || tt.warning == "" && r.Warning != "" {
				t.Errorf("in %q, want %q; warning %q", r.Output, tt.want, r.Warning)
			}
		})
	}
}

func TestFile(t *testing.T) {
	const show = "import sys, os, helper\nprint(helper.x, os.path.basename(__file__), sys.argv[1:])"
	write := func(t *testing.T, dir string, files map[string]string) {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Run("here it runs in place", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, map[string]string{"job.py": show, "helper.py": "x = 7"})
		r := open(t, options(t, "local")).Run(t.Context(), hermes.Script{File: filepath.Join(dir, "job.py"), Args: []string{"a"}})
		if r.Output != "7 job.py ['a']\n" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("a relative name is the caller's", func(t *testing.T) {
		o := options(t, "local")
		write(t, o.Dir, map[string]string{"job.py": "print(1)"})
		o.Settings.Cwd = t.TempDir()
		if r := open(t, o).Run(t.Context(), hermes.Script{File: "job.py"}); r.Output != "1\n" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("elsewhere it is sent alone", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, map[string]string{"job.py": show, "helper.py": "x = 7"})
		r := open(t, options(t, "pipe")).Run(t.Context(), hermes.Script{File: filepath.Join(dir, "job.py")})
		if r.Status != hermes.Failure || !strings.Contains(r.Hint, "Only job.py itself was sent") {
			t.Errorf("%+v", r)
		}
	})
	for name, text := range map[string]string{"missing": "", "empty": "", "a directory": ""} {
		t.Run(name, func(t *testing.T) {
			o := options(t, "local")
			file := map[string]string{"missing": "no such.py", "empty": "empty.py", "a directory": "."}[name]
			write(t, o.Dir, map[string]string{"empty.py": text})
			r := open(t, o).Run(t.Context(), hermes.Script{File: file})
			if r.ErrorKind != hermes.KindUsage || r.ExitStatus() != 2 || r.Error == "" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// noSockets is a backend in which a network cannot be listened on.
type noSockets struct {
	backend.Backend
	networks string
}

func (b noSockets) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	if strings.Contains(b.networks, network) {
		return nil, fmt.Errorf("listen %s: %w", network, errors.ErrUnsupported)
	}
	return b.Backend.Listen(ctx, network, address)
}

func TestFallback(t *testing.T) {
	for _, tt := range []struct{ name, lacks, want, fallback string }{
		{"local", "", "uds", "[]"},
		{"local", "unix", "tcp", "[{uds tcp}]"},
		{"local", "unix tcp", "file", "[{uds tcp} {tcp file}]"},
		{"pipe", "unix", "file", "[{uds file}]"},
	} {
		t.Run(tt.name+" without "+tt.lacks, func(t *testing.T) {
			o := options(t, tt.name)
			opener := o.Openers[tt.name]
			o.Openers[tt.name] = func(ctx context.Context, u *url.URL) (backend.Backend, error) {
				b, err := opener(ctx, u)
				return noSockets{b, tt.lacks}, err
			}
			e := open(t, o)
			for range 2 { // the second run tries nothing again, and still tells
				r := e.Run(t.Context(), hermes.Script{Code: []byte("from hermes_tools import terminal\nprint(terminal('echo hi')['output'], end='')")})
				taken := []string{}
				for _, f := range r.Fallback {
					taken = append(taken, "{"+f.From+" "+f.To+"}")
					if !strings.Contains(f.Reason, "unsupported") {
						t.Errorf("reason %q", f.Reason)
					}
				}
				if string(r.Transport) != tt.want || fmt.Sprint(taken) != tt.fallback || r.Output != "hi\n" {
					t.Errorf("transport %s, fallback %v, output %q", r.Transport, taken, r.Output)
				}
			}
			for _, a := range e.Transports(t.Context()) {
				network := map[string]string{"uds": "unix", "tcp": "tcp", "file": "none"}[a.Transport]
				if (a.Err != nil) != strings.Contains(tt.lacks, network) {
					t.Errorf("%s: %v", a.Transport, a.Err)
				}
			}
		})
	}
}

func TestFallbackIsNotForTransportsAskedFor(t *testing.T) {
	o := options(t, "local")
	opener := o.Openers["local"]
	o.Openers["local"] = func(ctx context.Context, u *url.URL) (backend.Backend, error) {
		b, err := opener(ctx, u)
		return noSockets{b, "unix"}, err
	}
	o.Settings.Transport = "uds"
	_, err := hermes.Open(t.Context(), o)
	if r := hermes.Failed(err); r.ErrorKind != hermes.KindTransport {
		t.Errorf("%v", err)
	}
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
	})
}

func TestLongTemporaryDirectory(t *testing.T) {
	o := options(t, "local")
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	o.Environ["TMPDIR"] = long
	r := open(t, o).Run(t.Context(), hermes.Script{Code: []byte("from hermes_tools import terminal\nprint(terminal('echo hi')['output'], end='')")})
	if r.Output != "hi\n" || r.Transport != "uds" {
		t.Errorf("B122: %+v", r)
	}
}

func TestHomeThatCannotBeWritten(t *testing.T) {
	o := options(t, "local")
	delete(o.Environ, "HOME")
	r := open(t, o).Run(t.Context(), hermes.Script{Code: []byte("import os; open(os.path.expanduser('~/x'), 'w').write('1'); print('ok')")})
	if r.Output != "ok\n" {
		t.Errorf("%+v", r)
	}
}

func TestNothingIsLeft(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		temp := t.TempDir()
		o.Environ["TMPDIR"] = temp
		e, err := hermes.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		e.Run(t.Context(), hermes.Script{Code: []byte("print(1)")})
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		left, err := os.ReadDir(temp)
		if err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}
