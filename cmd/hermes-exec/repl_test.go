//go:build unix

package main

import (
	"bytes"
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

// A repl's Ctrl-C costs the cell and not the state.
func TestReplInterrupt(t *testing.T) {
	for name, args := range map[string][]string{"its own state": nil, "a named session": {"--session", "work"}} {
		t.Run(name, func(t *testing.T) {
			s := newShell(t)
			p := s.startRepl("import os, time\nx = 1\nif x:\n  os.mkdir('pid')\n  time.sleep(600)\nx\n", args...)
			p.awaitFile("pid")
			if r := p.interrupted(); r.Status != hermes.Interrupted || r.Kernel == nil || r.Kernel.StateLost {
				t.Errorf("%+v, kernel %+v", r, r.Kernel)
			}
		})
	}
}

// What a timeout costs is what on_timeout says, as everywhere.
func TestReplTimeout(t *testing.T) {
	for onTimeout, lost := range map[string]bool{"kill": true, "interrupt": false} {
		t.Run(onTimeout, func(t *testing.T) {
			s := newShell(t)
			if err := os.WriteFile(s.home+"/config.yaml", []byte("code_execution: {on_timeout: "+onTimeout+", timeout: 5}\n"), 0o600); err != nil { // long enough for a start
				t.Fatal(err)
			}
			cmd := s.command("repl", "--output", "json")
			cmd.Stdin = strings.NewReader("import time\ntime.sleep(600)\n")
			out, err := cmd.Output()
			if cmd.ProcessState.ExitCode() != 124 {
				t.Errorf("%v: %s", err, out)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if r := result(t, lines[len(lines)-1]); r.Status != hermes.Timeout || r.Kernel == nil || r.Kernel.StateLost != lost {
				t.Errorf("%+v, kernel %+v", r, r.Kernel)
			}
		})
	}
}

// It ends a repl that waits for its input.
func TestReplInterruptedAtInput(t *testing.T) {
	s := newShell(t)
	p := s.startRepl("import os\nos.mkdir('ready')\n")
	p.awaitFile("ready")
	if r := p.interrupted(); r.Status != hermes.Success && r.Status != hermes.Interrupted {
		t.Errorf("%+v", r)
	}
}

// replProcess is a repl whose input stays open.
type replProcess struct {
	*exec.Cmd

	shell *shell
	out   bytes.Buffer
}

func (s *shell) startRepl(input string, args ...string) *replProcess {
	s.t.Helper()
	p := &replProcess{Cmd: s.command(append([]string{"repl", "--output", "json"}, args...)...), shell: s}
	p.Stdout = &p.out
	in, err := p.StdinPipe()
	if err == nil {
		err = p.Start()
	}
	if err == nil {
		_, err = io.WriteString(in, input)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func (p *replProcess) awaitFile(name string) {
	p.shell.t.Helper()
	testenv.Eventually(p.shell.t, "the cell makes "+name, func() bool {
		_, err := os.Stat(filepath.Join(p.shell.dir, name))
		return err == nil
	})
}

// interrupted interrupts the repl and returns the result of its last cell.
func (p *replProcess) interrupted() hermes.Result {
	t := p.shell.t
	t.Helper()
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); p.ProcessState.ExitCode() != exitInterrupted {
		t.Errorf("%v: %s", err, p.out.String())
	}
	lines := strings.Split(strings.TrimSpace(p.out.String()), "\n")
	return result(t, lines[len(lines)-1])
}
