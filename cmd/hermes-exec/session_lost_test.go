//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// parentOf is the process above: of a kernel its supervisor, of that the agent.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		testenv.Missing(t, "/proc", err.Error())
	}
	parts := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	parent, err := strconv.Atoi(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	return parent
}

// running is a cell that runs until it is ended, and says who it is.
const running = `
import os, subprocess, sys, time
x = 1
sleep = [sys.executable, "-c", "import time; time.sleep(600)", "child in " + os.getcwd()]
subprocess.Popen(sleep, start_new_session=True)
with open("pid.new", "w") as f:
    f.write(str(os.getpid()))
os.rename("pid.new", "pid")
print("so far", flush=True)
time.sleep(600)
`

func (s *shell) kernel() int {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, "pid"))
	if err != nil {
		s.t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(data))
	if err != nil {
		s.t.Fatal(err)
	}
	return pid
}

// P129: whatever is killed during a cell, the caller is told, nothing survives, and the next call works
// and knows what happened.
func TestKilledDuringACell(t *testing.T) {
	for name, test := range map[string]struct {
		victim func(s *shell) int
		kind   hermes.ErrorKind
		reason hermes.Loss // as this cell is told
		later  hermes.Loss // as the next one is
	}{
		"server": {(*shell).server, hermes.KindBackend, hermes.LostServer, hermes.LostServer},
		"agent": {
			func(s *shell) int { return parentOf(s.t, parentOf(s.t, s.kernel())) },
			hermes.KindTransport, hermes.LostEnvironment, hermes.LostEnvironment,
		},
		"kernel": {(*shell).kernel, hermes.KindSignal, hermes.LostDied, hermes.LostDied},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShell(t)
			cmd := s.cell(running)
			out := s.start(cmd, "pid")
			kill(t, test.victim(s))
			_ = cmd.Wait() // the result says more
			r := result(t, out.String())
			if r.Status != hermes.Failure || r.ErrorKind != test.kind || r.Kernel == nil || !r.Kernel.StateLost || r.Kernel.Reason != test.reason {
				t.Errorf("result %+v, kernel %+v", r, r.Kernel)
			}
			testenv.NoProcesses(t, "child in "+s.dir)
			next := s.run("print(2)")
			if next.Output != "2\n" || next.Kernel == nil || next.Kernel.Reused || !next.Kernel.StateLost || next.Kernel.Reason != test.later {
				t.Errorf("next: %+v, kernel %+v", next, next.Kernel)
			}
			if again := s.run("print(3)"); !again.Kernel.Reused || again.Kernel.StateLost {
				t.Errorf("after it: kernel %+v", again.Kernel)
			}
		})
	}
}

// What a cell has printed when its server is killed was seen, and is in the result.
func TestServerKilledAmidOutput(t *testing.T) {
	s := newShell(t)
	cmd := s.cell(running, "--output", "ndjson")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, last := bufio.NewScanner(out), ""
	end := sync.OnceFunc(func() { kill(t, s.server()) })
	for lines.Scan() {
		if last = lines.Text(); strings.Contains(last, `"stdout"`) {
			end()
		}
	}
	_ = cmd.Wait() // its status is checked
	var event struct {
		Time   float64
		Result hermes.Result
	}
	if err := json.Unmarshal([]byte(last), &event); err != nil {
		t.Fatalf("%v: %s", err, last)
	}
	r := event.Result
	if cmd.ProcessState.ExitCode() != 125 || !strings.HasPrefix(r.Output, "so far\n") || r.StdoutTotal < 7 || event.Time <= 0 || r.Duration <= 0 {
		t.Errorf("%v: %s", cmd.ProcessState, last)
	}
}

// A server that was killed between two calls is replaced, and the session told.
func TestServerKilledBetweenCells(t *testing.T) {
	s := newShell(t)
	s.run("x = 1")
	first := s.server()
	kill(t, first)
	r := s.run("print('x' in globals())")
	if r.Output != "False\n" || r.Kernel.Reused || !r.Kernel.StateLost || r.Kernel.Reason != hermes.LostServer {
		t.Errorf("%+v, kernel %+v", r, r.Kernel)
	}
	if s.server() == first {
		t.Error("the server is the same")
	}
}

// What prune removes of a server that was killed is not what the next call is to be told.
func TestPrunedServer(t *testing.T) {
	s := newShell(t)
	s.run("x = 1")
	first := s.server()
	kill(t, first)
	testenv.Eventually(t, "the server is gone", func() bool { return syscall.Kill(first, 0) != nil })
	out, err := s.command("prune").CombinedOutput()
	if err != nil || !strings.Contains(string(out), fmt.Sprintf("/sock: process %d has ended", first)) {
		t.Errorf("%v: %s", err, out)
	}
	if r := s.run("1"); !r.Kernel.StateLost || r.Kernel.Reason != hermes.LostServer {
		t.Errorf("kernel %+v", r.Kernel)
	}
}

// B131: what a server and an agent that were killed have left goes when the next server starts.
func TestSweptAtStart(t *testing.T) {
	s := newShell(t)
	cmd := s.cell(running)
	s.start(cmd, "pid")
	agent := parentOf(t, parentOf(t, s.kernel()))
	left := s.scratches()
	if len(left) == 0 {
		t.Fatal("no scratch directory")
	}
	for _, pid := range []int{agent, s.server()} { // the agent first, for it would tidy up
		kill(t, pid)
	}
	_ = cmd.Wait() // its server was killed
	s.run("x = 1")
	testenv.Eventually(t, "what was left is gone", func() bool {
		return !slices.ContainsFunc(s.scratches(), func(dir string) bool { return slices.Contains(left, dir) })
	})
}

func (s *shell) scratches() []string {
	list, err := filepath.Glob(s.dir + "/tmp/hermes_sandbox_*")
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// A caller that vanishes is an interrupt.
func TestCallerKilled(t *testing.T) {
	s := newShell(t)
	cmd := s.cell(running)
	s.start(cmd, "pid")
	kill(t, cmd.Process.Pid)
	_ = cmd.Wait() // it was killed
	testenv.NoProcesses(t, "child in "+s.dir)
	r := s.run("print('x' in globals())")
	if r.Output != "False\n" || r.Kernel.Reason != hermes.LostInterrupted {
		t.Errorf("%+v, kernel %+v", r, r.Kernel)
	}
}
