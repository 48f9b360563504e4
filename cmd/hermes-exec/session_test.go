//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/owner"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// shell calls hermes-exec as from a shell, with a HERMES_HOME and a temporary directory of its own.
type shell struct {
	t    *testing.T
	dir  string
	home string
}

// newShell returns a shell whose server has ended, with all that it made, at the end of the test.
func newShell(t *testing.T) *shell {
	t.Helper()
	s := &shell{t: t, dir: testenv.TempDir(t)}
	s.home = filepath.Join(s.dir, "home")
	for _, dir := range []string{s.home, s.dir + "/tmp"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if out, err := s.command("session", "end", "--all").CombinedOutput(); err != nil {
			t.Errorf("end all: %v: %s", err, out)
		}
		testenv.NoProcesses(t, "TMPDIR="+s.dir+"/tmp")
		left, _ := os.ReadDir(s.dir + "/tmp")
		for _, entry := range left {
			t.Errorf("left behind: %s", entry.Name())
		}
	})
	return s
}

// command is a call that ends with the test. It is not killed by the test's context, whose end comes
// before the server is told to end.
func (s *shell) command(args ...string) *exec.Cmd {
	cmd := exec.Command("hermes-exec", args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HOME="+s.home, "HERMES_HOME="+s.home, "TMPDIR="+s.dir+"/tmp", "HERMES_EXEC_SERVER_IDLE=1m")
	return cmd
}

// cell is a call that runs a cell of the session s from its stdin.
func (s *shell) cell(code string, args ...string) *exec.Cmd {
	cmd := s.command(append([]string{"run", "--session", "s", "--output", "json"}, args...)...)
	cmd.Stdin = strings.NewReader(code)
	return cmd
}

// run runs a cell to its end.
func (s *shell) run(code string, args ...string) hermes.Result {
	s.t.Helper()
	var stderr bytes.Buffer
	cmd := s.cell(code, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || stderr.Len() > 0 {
		s.t.Fatalf("%v: %s", err, stderr.String())
	}
	return result(s.t, string(out))
}

// start starts a cell and waits until it has made a file.
func (s *shell) start(cmd *exec.Cmd, file string) *bytes.Buffer {
	s.t.Helper()
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	testenv.Eventually(s.t, "the cell makes "+file, func() bool {
		_, err := os.Stat(filepath.Join(s.dir, file))
		return err == nil
	})
	return &out
}

// server is the process that holds the sessions.
func (s *shell) server() int {
	s.t.Helper()
	dirs, err := filepath.Glob(s.home + "/run-*")
	if err != nil || len(dirs) != 1 {
		s.t.Fatalf("directories of the server: %v, %v", dirs, err)
	}
	m, err := owner.Read(dirs[0])
	if err != nil {
		s.t.Fatal(err)
	}
	return m.PID
}

// P160: the server has nothing of its callers in its arguments and its environment. What a call
// passes to a cell, the cell has.
func TestServerHasNothingOfItsCallers(t *testing.T) {
	s := newShell(t)
	const secret = "a-value-nobody-may-see"
	cmd := s.command("run", "--session", "s", "--env", "PASSED")
	cmd.Env = append(cmd.Env, "PASSED="+secret, "OTHER="+secret)
	cmd.Stdin = strings.NewReader("import os; print(len(os.environ['PASSED']), 'OTHER' in os.environ)")
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != fmt.Sprintf("%d False\n", len(secret)) {
		t.Errorf("%v: %q", err, out)
	}
	for _, name := range []string{"environ", "cmdline"} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.server(), name))
		if err != nil {
			testenv.Missing(t, "/proc", err.Error())
		}
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s of the server: %q", name, data)
		}
	}
}

// Ten first calls start one server and one kernel, and all cells run.
func TestTenCallsAtOnce(t *testing.T) {
	s := newShell(t)
	counts := make([]int, 10)
	var calls sync.WaitGroup
	for i := range counts {
		calls.Go(func() {
			r := s.run("print('cell')")
			if r.Output != "cell\n" || r.Kernel == nil {
				t.Errorf("%+v", r)
				return
			}
			counts[i] = r.Kernel.ExecutionCount
		})
	}
	calls.Wait()
	slices.Sort(counts)
	if !slices.Equal(counts, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
		t.Errorf("the cells were numbers %v of one kernel", counts)
	}
	servers := testenv.Processes(serveName)
	servers = slices.DeleteFunc(servers, func(p string) bool { return !strings.Contains(p, s.home) })
	if len(servers) != 1 {
		t.Errorf("servers: %q", servers)
	}
}

// A server that a script has started ends with the script, as all that it starts does. Its results say
// so, and so does the next call.
func TestServerInsideARun(t *testing.T) {
	s := newShell(t)
	cmd := s.command("run", "-")
	cmd.Stdin = strings.NewReader(`
import subprocess
for code in ["x = 1", "print(x)"]:
    subprocess.run(["hermes-exec", "run", "--session", "s"], input=code, text=True, check=True)
`)
	const warning = "hermes-exec: warning: the session server was started inside of a run and ends with that"
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || string(out) != "1\n" || strings.Count(stderr.String(), warning) != 2 {
		t.Errorf("%v: %s: %s", err, out, &stderr)
	}
	r := s.run("print('x' in globals())")
	if r.Output != "False\n" || r.Kernel.Reason != hermes.LostServer || strings.Contains(r.Warning, "inside of a run") {
		t.Errorf("%+v, kernel %+v", r, r.Kernel)
	}
}

// Two HERMES_HOMEs know nothing of each other.
func TestTwoHomes(t *testing.T) {
	a, b := newShell(t), newShell(t)
	a.run("x = 1")
	if r := b.run("print('x' in globals())"); r.Output != "False\n" {
		t.Errorf("%+v", r)
	}
	if a.server() == b.server() {
		t.Error("one server")
	}
}

// B122: the path of HERMES_HOME may be longer than that of a socket.
func TestLongHome(t *testing.T) {
	s := newShell(t)
	s.home = filepath.Join(s.home, strings.Repeat("long/", 30))
	s.run("x = 1")
	if r := s.run("print(x)"); r.Output != "1\n" {
		t.Errorf("%+v", r)
	}
}

// Another user of the same HERMES_HOME has a server of his own.
func TestTwoUsers(t *testing.T) {
	if os.Getuid() != 0 {
		testenv.Missing(t, "root", "only root can be another user")
	}
	setpriv := testenv.Require(t, "setpriv")
	s := newShell(t)
	s.run("x = 1")
	for _, dir := range []string{s.dir, s.home, s.dir + "/tmp"} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(s.home + "/cache"); err != nil { // root's alone
		t.Fatal(err)
	}
	if err := os.Chmod(s.home+"/logs", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(s.home + "/logs/agent.log"); err != nil {
		t.Fatal(err)
	}
	as := func(args ...string) *exec.Cmd {
		cmd := s.command(args...)
		cmd.Args = append([]string{setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", cmd.Path}, args...)
		cmd.Path = setpriv
		return cmd
	}
	if as("version").Run() != nil {
		testenv.Missing(t, "root", "the other user cannot run the program where it lies")
	}
	cmd := as("run", "--session", "s", "--output", "json")
	cmd.Stdin = strings.NewReader("import os; print(os.getuid(), 'x' in globals())")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if r := result(t, string(out)); r.Output != "65534 False\n" {
		t.Errorf("%+v", r)
	}
	if out, err := as("session", "end", "--all").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if r := s.run("print(x)"); r.Output != "1\n" {
		t.Errorf("%+v", r)
	}
}

// A first signal interrupts the cell, and the caller still gets its result.
func TestSignalInterruptsACell(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			s := newShell(t)
			cmd := s.cell(running)
			out := s.start(cmd, "pid")
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // its status is checked
			r := result(t, out.String())
			if cmd.ProcessState.ExitCode() != 130 || r.Status != hermes.Interrupted || r.Output != "so far\n[execution interrupted]" ||
				r.Kernel.Reason != hermes.LostInterrupted {
				t.Errorf("%v: %+v, kernel %+v", cmd.ProcessState, r, r.Kernel)
			}
		})
	}
}

// stubborn does not end at the first signal.
const stubborn = `
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
` + running

// A second signal does not wait for the grace of the first.
func TestSecondSignalKillsACell(t *testing.T) {
	s := newShell(t)
	config := "code_execution: {kill_grace: 600}\n"
	if err := os.WriteFile(s.home+"/config.yaml", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := s.cell(stubborn)
	out := s.start(cmd, "pid")
	for range 2 {
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Eventually(t, "the second signal ends the cell", func() bool {
		_ = cmd.Process.Signal(syscall.SIGINT) // two that come together are one
		return syscall.Kill(s.kernel(), 0) != nil
	})
	_ = cmd.Wait() // its status is checked
	if r := result(t, out.String()); cmd.ProcessState.ExitCode() != 130 || r.Status != hermes.Interrupted {
		t.Errorf("%v: %+v", cmd.ProcessState, r)
	}
}

// The server that the first call of a pipeline starts does not hold the pipe open, nor anything else
// that the shell has given to the call.
func TestPipelineEnds(t *testing.T) {
	s := newShell(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := s.command("run", "--session", "s")
	cmd.Stdin = strings.NewReader("print('x')")
	cmd.ExtraFiles = []*os.File{w, w, w, w, w, w}
	defer func() {
		w.Close()
		if data, err := io.ReadAll(r); len(data) > 0 || err != nil {
			t.Errorf("read %q, %v", data, err)
		}
	}()
	out, err := cmd.Output() // which waits for the end of the pipe
	if string(out) != "x\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", s.server())); err == nil && out != "/" {
		t.Errorf("the server is in %s", out)
	}
}
