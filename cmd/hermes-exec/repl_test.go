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
	s := newShell(t)
	p := s.startRepl("import os, time\nx = 1\nif x:\n  os.mkdir('pid')\n  time.sleep(600)\nx\n")
	p.awaitFile("pid")
	if r := p.interrupted(); r.Status != hermes.Interrupted || r.Kernel == nil || r.Kernel.StateLost {
		t.Errorf("%+v, kernel %+v", r, r.Kernel)
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

func (s *shell) startRepl(input string) *replProcess {
	s.t.Helper()
	p := &replProcess{Cmd: s.command("repl", "--output", "json"), shell: s}
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
