package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// program is a running hermes-exec with a directory of its own.
type program struct {
	*exec.Cmd

	t      *testing.T
	dir    string
	stdout io.ReadCloser
	stderr bytes.Buffer
}

// start starts hermes-exec in a new directory with a script.py in it.
func start(t *testing.T, script string, args ...string) *program {
	t.Helper()
	if os.PathSeparator != '/' {
		t.Skip("signals are POSIX's")
	}
	dir := testenv.TempDir(t)
	for _, sub := range []string{"home", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "script.py"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &program{Cmd: exec.CommandContext(t.Context(), "hermes-exec", args...), t: t, dir: dir}
	p.Dir = dir
	p.Env = append(os.Environ(), "HOME="+dir+"/home", "HERMES_HOME="+dir+"/home", "TMPDIR="+dir+"/tmp")
	p.Stderr = &p.stderr
	var err error
	if p.stdout, err = p.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// await waits until the script has made a file.
func (p *program) await(name string) {
	p.t.Helper()
	testenv.Eventually(p.t, "the script makes "+name, func() bool {
		_, err := os.Stat(filepath.Join(p.dir, name))
		return err == nil
	})
}

func (p *program) signal(sig os.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}

// end waits for the program, checks its exit status and that nothing of it is left, and returns what
// it printed that nobody has read yet.
func (p *program) end(status int) string {
	p.t.Helper()
	out, _ := io.ReadAll(p.stdout) // closed by the test, where the reader goes away
	err := p.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	if got := p.ProcessState.ExitCode(); got != status {
		p.t.Errorf("%v: exit status %d, want %d; stdout %q, stderr %q", p.ProcessState, got, status, out, p.stderr.String())
	}
	p.nothingLeft()
	return string(out)
}

func (p *program) nothingLeft() {
	p.t.Helper()
	testenv.NoProcesses(p.t, "TMPDIR="+p.dir+"/tmp")
	testenv.Eventually(p.t, "the temporary directory is empty", func() bool {
		left, err := os.ReadDir(filepath.Join(p.dir, "tmp"))
		return err == nil && len(left) == 0
	})
}

func result(t *testing.T, text string) hermes.Result {
	t.Helper()
	var r hermes.Result
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return r
}

// waiting makes a file and waits, with a child of its own in another session.
const waiting = `
import subprocess, time
subprocess.Popen(["sleep", "600"], start_new_session=True)
print("so far")
open("ready", "w").close()
time.sleep(600)
`

// B036 B037 P033: the first signal ends the script, and the result says so without a made-up reason.
func TestFirstSignalInterrupts(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			p := start(t, waiting, "--output", "json", "script.py")
			p.await("ready")
			p.signal(sig)
			r := result(t, p.end(130))
			if r.Status != hermes.Interrupted || r.ErrorKind != hermes.KindInterrupted {
				t.Errorf("status %s, kind %s", r.Status, r.ErrorKind)
			}
			if r.Output != "so far\n[execution interrupted]" {
				t.Errorf("output %q", r.Output)
			}
		})
	}
}

func TestTextTellsOfTheInterrupt(t *testing.T) {
	p := start(t, waiting, "script.py")
	p.await("ready")
	p.signal(syscall.SIGINT)
	if out := p.end(130); out != "so far\n" {
		t.Errorf("stdout %q", out)
	}
	if !strings.Contains(p.stderr.String(), "\nhermes-exec: Script was interrupted.\n") {
		t.Errorf("stderr %q", p.stderr.String())
	}
}

func TestToolCallIsInterrupted(t *testing.T) {
	p := start(t, "", "tools", "call", "terminal", `{"command": "touch ready; sleep 600"}`)
	p.await("ready")
	p.signal(syscall.SIGTERM)
	if out := p.end(130); out != "" || p.stderr.String() != "hermes-exec: terminal was interrupted\n" {
		t.Errorf("stdout %q, stderr %q", out, p.stderr.String())
	}
}

// The second signal does not wait for the grace, which is longer than this test may take.
func TestSecondSignalKills(t *testing.T) {
	p := start(t, `
import signal, time
def heard(*_):
    open("heard", "w").close()
signal.signal(signal.SIGINT, heard)
open("ready", "w").close()
while True:
    time.sleep(600)
`, "--output", "json", "--config", writeGrace(t), "script.py")
	p.await("ready")
	p.signal(syscall.SIGINT)
	p.await("heard")
	p.signal(syscall.SIGINT)
	if r := result(t, p.end(130)); r.Status != hermes.Interrupted {
		t.Errorf("status %s", r.Status)
	}
}

func writeGrace(t *testing.T) string {
	t.Helper()
	return writeConfig(t, "code_execution:\n  kill_grace: 3600\n")
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// hermes-exec … | head: the run ends, quietly.
func TestReaderGoesAway(t *testing.T) {
	for _, format := range []string{"text", "ndjson"} {
		t.Run(format, func(t *testing.T) {
			p := start(t, "import time\nwhile True:\n    print('y', flush=True)\n    time.sleep(0.001)\n", "--output", format, "script.py")
			if _, err := bufio.NewReader(p.stdout).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			p.stdout.Close()
			p.end(130)
			if p.stderr.Len() > 0 {
				t.Errorf("stderr %q", p.stderr.String())
			}
		})
	}
}

// A full disk is no quiet end.
func TestOutputCannotBeWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		testenv.Missing(t, "/dev/full", err.Error())
	}
	defer full.Close()
	for _, format := range []string{"text", "json"} {
		var stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "hermes-exec", "--output", format, "-")
		cmd.Stdin = strings.NewReader("print(1)")
		cmd.Stdout, cmd.Stderr = full, &stderr
		cmd.Env = append(os.Environ(), "HERMES_HOME="+t.TempDir())
		err := cmd.Run()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 125 {
			t.Errorf("%s: %v", format, err)
		}
		if !strings.Contains(stderr.String(), "hermes-exec: write the output: ") {
			t.Errorf("%s: stderr %q", format, stderr.String())
		}
	}
}

// B131: whatever ends hermes-exec ends the script with all its descendants.
func TestKilledLeavesNothing(t *testing.T) {
	p := start(t, waiting, "script.py")
	p.await("ready")
	p.signal(syscall.SIGKILL)
	p.end(-1)
}

// B129: an open and silent stdin is not the script's.
func TestStdinOfTheProgramIsNotTheScripts(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	cmd := exec.CommandContext(t.Context(), "hermes-exec", filepath.Join(t.TempDir(), "script.py"))
	if err := os.WriteFile(cmd.Args[1], []byte("try:\n    input()\nexcept EOFError:\n    print('EOF')\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Env = r, append(os.Environ(), "HERMES_HOME="+t.TempDir())
	out, err := cmd.Output()
	if err != nil || string(out) != "EOF\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestFollowEndsAtASignal(t *testing.T) {
	p := start(t, "", "logs", "--follow")
	dir := filepath.Join(p.dir, "home", "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "agent.log"), []byte("time=0 level=INFO msg=hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(p.stdout).ReadString('\n')
	if err != nil || !strings.Contains(line, "hello") {
		t.Fatalf("%q, %v", line, err)
	}
	p.signal(syscall.SIGINT)
	p.end(0)
}

// A SIGQUIT is no usage error, nor a reason to print stacks.
func TestQuitInterrupts(t *testing.T) {
	p := start(t, waiting, "script.py")
	p.await("ready")
	p.signal(syscall.SIGQUIT)
	p.end(130)
	if strings.Contains(p.stderr.String(), "goroutine ") {
		t.Errorf("stderr %q", p.stderr.String())
	}
}

// printing never stops, and tells when it was told to.
const printing = `
import signal, sys
def heard(*_):
    open("heard", "w").close()
signal.signal(signal.SIGINT, heard)
open("ready", "w").close()
while True:
    print("y" * 1000)
`

// The output has a reader that does not read: two signals are the end all the same.
func TestSecondSignalEndsAStall(t *testing.T) {
	for _, format := range []string{"text", "json", "ndjson"} {
		t.Run(format, func(t *testing.T) {
			p := start(t, printing, "--output", format, "--config", writeGrace(t), "script.py")
			p.await("ready")
			p.signal(syscall.SIGINT)
			p.await("heard")
			p.signal(syscall.SIGINT)
			if status := p.endUnread(); status != 130 {
				t.Errorf("exit status %d; stderr %q", status, p.stderr.String())
			}
			p.nothingLeft()
		})
	}
}

// endUnread waits for the end of the program without reading what it prints.
func (p *program) endUnread() int {
	p.t.Helper()
	state, err := p.Process.Wait()
	if err != nil {
		p.t.Fatal(err)
	}
	return state.ExitCode()
}

// A timeout is one, whether its reader stalls or leaves.
func TestTimeoutOfAStall(t *testing.T) {
	for _, format := range []string{"text", "json", "ndjson"} {
		t.Run(format, func(t *testing.T) {
			p := start(t, printing, "--output", format, "--timeout", "1",
				"--config", writeConfig(t, "code_execution:\n  kill_grace: 0\n"), "script.py")
			if status := p.endUnread(); status != 124 {
				t.Errorf("exit status %d", status)
			}
			p.nothingLeft()
		})
	}
}

// So is an interrupt, of which one signal is enough.
func TestInterruptOfAStall(t *testing.T) {
	for _, format := range []string{"text", "json", "ndjson"} {
		t.Run(format, func(t *testing.T) {
			p := start(t, printing, "--output", format, "--config", writeConfig(t, "code_execution:\n  kill_grace: 0\n"), "script.py")
			p.await("ready")
			p.signal(syscall.SIGINT)
			if status := p.endUnread(); status != 130 {
				t.Errorf("exit status %d", status)
			}
			p.nothingLeft()
		})
	}
}

func TestReaderLeavesAfterTheTimeout(t *testing.T) {
	mark := "MARK=" + rand.Text()
	p := start(t, printing, "--output", "ndjson", "--timeout", "5", "--env", mark, // long enough for it to begin
		"--config", writeConfig(t, "code_execution:\n  kill_grace: 0\n"), "script.py")
	p.await("ready")
	testenv.Eventually(t, "only the program itself is left", func() bool { return len(testenv.Processes(mark)) == 1 })
	p.stdout.Close()
	p.end(124)
}
