//go:build unix

package hermes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// with returns options with other variables.
func with(o hermes.Options, vars map[string]string) hermes.Options {
	own := maps.Clone(o.Environ)
	maps.Copy(own, vars)
	o.Environ, o.Openers = own, openers(own, o.Dir)
	return o
}

// What one call has passed stays in the kernel, and a secret: the next call does not show it.
func TestSessionsKeepSecrets(t *testing.T) {
	c := newCells(t, "local")
	o := with(c.options, map[string]string{"MY_API_KEY": "supersecretvalue123"})
	o.Settings.EnvPassthrough = []string{"MY_API_KEY"}
	if r := c.in(o, "a", "import os; key = os.environ['MY_API_KEY']"); r.Status != hermes.Success {
		t.Fatalf("%+v", r)
	}
	c.prints("a", "print(len(key), key)", "19 ***\n")
}

// Another interpreter is another state, and so is another backend.
func TestSessionsTarget(t *testing.T) {
	c := newCells(t, "local")
	c.options.Settings.Python = ""
	fresh := hermes.KernelState{Session: "a", ExecutionCount: 1, StateLost: true, Reason: hermes.LostTarget}
	c.prints("a", "x = 1", "")
	pid := c.pid("a")

	o := with(c.options, map[string]string{"VIRTUAL_ENV": venv(t)})
	r := c.in(o, "a", "import sys; print(sys.prefix)")
	if strings.TrimSpace(r.Output) != o.Environ["VIRTUAL_ENV"] {
		t.Errorf("%s %s", r.Output, r.Error)
	}
	c.state(r, fresh)
	gone(t, pid)
	c.state(c.in(o, "a", "1"), hermes.KernelState{Session: "a", ExecutionCount: 2, Reused: true})

	o = c.options
	o.Settings.Python, o.Settings.Backend = testenv.Python(t), "pipe"
	c.state(c.in(o, "a", "1"), fresh)
	o = with(o, map[string]string{"DOCKER_HOST": "tcp://elsewhere"})
	c.state(c.in(o, "a", "1"), fresh)
	o = with(o, map[string]string{"LANG": "C", "VIRTUAL_ENV": "/nowhere"}) // no business of that target
	c.state(c.in(o, "a", "1"), hermes.KernelState{Session: "a", ExecutionCount: 2, Reused: true})
}

// venv makes a virtual environment.
func venv(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "venv")
	python := testenv.Python(t)
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(python, filepath.Join(dir, "bin", "python3")); err != nil {
		t.Fatal(err)
	}
	text := "home = " + filepath.Dir(python) + "\n"
	if err := os.WriteFile(filepath.Join(dir, "pyvenv.cfg"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// P127: where a cell cannot run as it is asked to, it runs nowhere. That, and other mistakes, cost no
// state.
func TestSessionsMistakes(t *testing.T) {
	c := newCells(t, "local")
	open := c.options.Openers["local"]
	c.options.Openers["full"] = func(ctx context.Context, u *url.URL) (backend.Backend, error) {
		b, err := open(ctx, u)
		return noStaging{b}, err
	}
	c.options.Openers["down"] = func(context.Context, *url.URL) (backend.Backend, error) {
		return nil, fmt.Errorf("%w: nobody answers", backend.ErrUnavailable)
	}
	c.prints("a", "x = 1", "")
	for name, change := range map[string]func(o *hermes.Options){
		"no backend":   func(o *hermes.Options) { o.Settings.Backend = "nowhere" },
		"not there":    func(o *hermes.Options) { o.Settings.Backend = "down" },
		"no python":    func(o *hermes.Options) { o.Settings.Python = "/nowhere/python3" },
		"no directory": func(o *hermes.Options) { o.Settings.Cwd = "/nowhere" },
		"no private directory": func(o *hermes.Options) {
			o.Settings.Backend, o.Settings.Mode = "full", config.Strict
		},
	} {
		o := c.options
		change(&o)
		r := c.in(o, "a", "open('canary', 'w')")
		if _, err := os.Stat(filepath.Join(c.options.Dir, "canary")); err == nil {
			t.Errorf("%s: it ran", name)
		}
		if r.Status != hermes.Failure || r.Execution != "" || r.Kernel == nil || r.Kernel.StateLost || r.Kernel.Ended {
			t.Errorf("%s: %s %s %+v: %s", name, r.Status, r.ErrorKind, r.Kernel, r.Error)
		}
		if name == "no directory" && r.ErrorKind != hermes.KindUsage {
			t.Errorf("%s: %s", name, r.ErrorKind)
		}
	}
	if r := c.run("a", " \n"); r.ErrorKind != hermes.KindUsage || !strings.Contains(r.Error, "No code provided.") {
		t.Errorf("no code: %s", r.Error)
	}
	script := hermes.Script{Code: []byte("1"), Stdin: strings.NewReader("x")}
	if r := c.set.Run(t.Context(), "a", c.options, script, false); r.ErrorKind != hermes.KindUsage {
		t.Errorf("stdin: %s", r.Error)
	}
	c.prints("a", "print(x)", "1\n")
}

// noStaging is an environment that is full.
type noStaging struct{ backend.Backend }

func (noStaging) Put(context.Context, string, io.Reader, fs.FileMode) error {
	return errors.New("no space left")
}

// The caller's directory moves the kernel when it changes, and not before.
func TestSessionsDirectory(t *testing.T) {
	c := newCells(t, "local")
	where := "import os; print(os.getcwd())"
	c.prints("a", where, c.options.Dir+"\n")
	c.prints("a", "os.chdir('/')", "")
	c.prints("a", where, "/\n")

	o := c.options
	o.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(o.Dir, "my_project.py"), []byte("x = 5"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := c.in(o, "a", where+"\nimport my_project"); r.Output != o.Dir+"\n" || r.Status != hermes.Success {
		t.Errorf("%s %s", r.Output, r.Error)
	}
	if r := c.in(o, "a", "from hermes_tools import terminal\nprint(terminal('pwd')['output'], end='')"); r.Output != o.Dir+"\n" {
		t.Errorf("%s %s", r.Output, r.Error)
	}
	o.Settings.CwdFallbacks = []config.Dir{{Path: "/nowhere", Origin: "environment TERMINAL_CWD"}, {Path: "/", Origin: "terminal.cwd"}}
	if r := c.in(o, "a", where); r.Output != "/\n" || !strings.Contains(r.Warning, "/nowhere (environment TERMINAL_CWD)") || r.Kernel.StateLost {
		t.Errorf("%s %s %s", r.Output, r.Error, r.Warning)
	}
}

// A caller whose directory was removed uses the session's; one that --cwd names has to be there.
func TestSessionsDirectoryGone(t *testing.T) {
	c := newCells(t, "local")
	where := "import os; print(os.getcwd())"
	c.prints("a", where, c.options.Dir+"\n")
	gone := filepath.Join(c.options.Dir, "gone")
	for _, cell := range []struct{ code, want string }{
		{where, c.options.Dir + "\n"}, {"os.chdir('/')", ""}, {where, "/\n"},
	} {
		o := c.options
		o.Dir = gone
		r := c.in(o, "a", cell.code)
		if r.Output != cell.want || r.Kernel.StateLost || !strings.Contains(r.Warning, gone+" (the caller's) does not exist") {
			t.Errorf("%s: %q, %q, kernel %+v", cell.code, r.Output, r.Warning, r.Kernel)
		}
		o.Settings.Cwd = gone
		if r := c.in(o, "a", where); r.ErrorKind != hermes.KindUsage || !strings.Contains(r.Error, gone) {
			t.Errorf("--cwd: %s %s", r.ErrorKind, r.Error)
		}
	}
	c.prints("a", where, "/\n") // its own directory has not changed
}

// What --cwd names is refused for the same reason in a session that lives as in one that begins.
func TestSessionsDirectoryUnusable(t *testing.T) {
	c := newCells(t, "local")
	file := filepath.Join(c.options.Dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.prints("a", "print(1)", "1\n")
	for name, why := range map[string]string{file: "not a directory", file + "-gone": "no such file or directory"} {
		o := c.options
		o.Settings.Cwd = name
		if r := c.in(o, "a", "print(2)"); r.ErrorKind != hermes.KindUsage || !strings.HasSuffix(r.Error, ": "+name+": "+why+"; make it, or name another with --cwd") || r.Kernel.Ended {
			t.Errorf("%s %s, kernel %+v", r.ErrorKind, r.Error, r.Kernel)
		}
	}
}

// A FILE is a cell with its content.
func TestSessionsFile(t *testing.T) {
	for _, name := range []string{"local", "pipe"} {
		c := newCells(t, name)
		file := filepath.Join(c.options.Dir, "cell.py")
		if err := os.WriteFile(file, []byte("import sys\nx = globals().get('x', 0) + 1\nprint(x, sys.argv)"), 0o644); err != nil {
			t.Fatal(err)
		}
		script := map[string]string{"local": file, "pipe": "cell.py"}[name] // the path means nothing on another machine
		for _, want := range []string{"1 ['" + script + "', 'a b']\n", "2 ['" + script + "', 'a b']\n"} {
			r := c.set.Run(t.Context(), "a", c.options, hermes.Script{File: "cell.py", Args: []string{"a b"}}, false)
			if r.Output != want {
				t.Errorf("%q %s", r.Output, r.Error)
			}
		}
	}
}

// P145 B017: a call of a thread whose cell has ended is refused, and what it prints joins the next
// cell's output.
func TestSessionsLateThread(t *testing.T) {
	for _, name := range []string{"local", "pipe"} {
		t.Run(name, func(t *testing.T) {
			c := newCells(t, name)
			c.prints("a", `
import threading
from hermes_tools import terminal
def late():
    while True:
        answer = terminal('true')
        if answer.get('error', '').startswith('No active'): break
    print(answer['error'], flush=True)
    open('seen', 'w')
thread = threading.Thread(target=late)
thread.start()
`, "")
			testenv.Eventually(t, "the thread was refused", func() bool {
				_, err := os.Stat(filepath.Join(c.options.Dir, "seen"))
				return err == nil
			})
			r := c.prints("a", "thread.join()\nprint('two')", "No active execute_code cell\ntwo\n")
			if r.ToolCallsMade != 0 || r.ToolCallsRefused != 0 {
				t.Errorf("%d made, %d refused", r.ToolCallsMade, r.ToolCallsRefused)
			}
		})
	}
}

// noRoom is an environment that starts no kernel as long as it is told so.
type noRoom struct {
	backend.Backend
	full *atomic.Bool
}

func (n noRoom) Start(ctx context.Context, cmd backend.Cmd) (backend.Process, error) {
	if cmd.Control != nil && n.full.Load() {
		return nil, errors.New("no room for a kernel")
	}
	return n.Backend.Start(ctx, cmd)
}

// P151: where no kernel can be started the cell runs alone, and says so.
func TestSessionsFallback(t *testing.T) {
	for _, name := range []string{"local", "pipe"} {
		t.Run(name, func(t *testing.T) { fallsBack(t, name) })
	}
}

func fallsBack(t *testing.T, name string) {
	c := newCells(t, name)
	full := &atomic.Bool{}
	full.Store(true)
	open := c.options.Openers[name]
	c.options.Openers = map[string]backend.Opener{name: func(ctx context.Context, u *url.URL) (backend.Backend, error) {
		b, err := open(ctx, u)
		return noRoom{b, full}, err
	}}
	for range 2 {
		r := c.prints("a", "from hermes_tools import terminal\nprint(terminal('echo hi')['output'], end='')", "hi\n")
		if r.Execution != "oneshot" || len(r.Fallback) != 1 || r.Fallback[0].From != "kernel" || r.Fallback[0].To != "oneshot" ||
			!strings.Contains(r.Fallback[0].Reason, "no room for a kernel") || r.ToolCallsMade != 1 {
			t.Errorf("%s %+v", r.Execution, r.Fallback)
		}
		c.state(r, hermes.KernelState{Session: "a", Ended: true})
	}
	full.Store(false)
	r := c.prints("a", "x = 1", "")
	if r.Execution != "kernel" || r.Fallback != nil {
		t.Errorf("%s %+v", r.Execution, r.Fallback)
	}
	c.state(r, hermes.KernelState{Session: "a", ExecutionCount: 1})
	c.prints("a", "print(x)", "1\n")
}

// An interpreter that dies when it starts as a kernel leaves a cell that runs alone.
func TestSessionsKernelDiesAtStart(t *testing.T) {
	c := newCells(t, "local")
	site := filepath.Join(c.options.Dir, "sitecustomize.py")
	code := "import sys\nif b'kernel.py' in open('/proc/self/cmdline', 'rb').read(): sys.exit('no kernel today')"
	if err := os.WriteFile(site, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	r := c.prints("a", "print('alone')", "alone\n")
	if len(r.Fallback) != 1 || !strings.Contains(r.Fallback[0].Reason, "no kernel today") {
		t.Errorf("%+v", r.Fallback)
	}
	if err := os.Remove(site); err != nil {
		t.Fatal(err)
	}
	c.state(c.prints("a", "print('well')", "well\n"), hermes.KernelState{Session: "a", ExecutionCount: 1})
}

// A reset, or the end of a session, reaches a cell that waits for its turn, too.
func TestSessionsEndWhileWaiting(t *testing.T) {
	c := newCells(t, "local")
	running := c.begin(t.Context(), "a", sleeps)
	waiting := make(chan *hermes.Result)
	go func() { waiting <- c.run("a", "print('ran')") }()
	testenv.Eventually(t, "the cell waits", func() bool { return c.set.Waiting("a") == 2 })
	c.set.End("a")
	for _, r := range []*hermes.Result{<-running, <-waiting} {
		if r.Status != hermes.Interrupted || !strings.Contains(r.Error, "ended") || strings.Contains(r.Output, "ran") {
			t.Errorf("%s: %s %s", r.Status, r.Error, r.Output)
		}
	}
}

// A reset while another cell waits: that one runs in a fresh kernel, and says so.
func TestSessionsResetWhileWaiting(t *testing.T) {
	c := newCells(t, "local")
	running := c.begin(t.Context(), "a", sleeps)
	waiting := make(chan *hermes.Result)
	go func() { waiting <- c.run("a", "print('ran')") }()
	testenv.Eventually(t, "the cell waits", func() bool { return c.set.Waiting("a") == 2 })
	c.set.Reset("a")
	if r := <-running; r.Status != hermes.Interrupted {
		t.Errorf("%s: %s", r.Status, r.Error)
	}
	r := <-waiting
	if r.Output != "ran\n" {
		t.Errorf("%s %s", r.Output, r.Error)
	}
	c.state(r, hermes.KernelState{Session: "a", ExecutionCount: 1, StateReset: true, StateLost: true, Reason: hermes.LostReset})
}
