//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// A FILE that is a FIFO is waited for like a script from stdin: that is said when nobody writes to it.
func TestScriptFromFIFO(t *testing.T) {
	for name, args := range map[string][]string{"run": {"run"}, "cell": {"run", "--session", "s"}} {
		t.Run(name, func(t *testing.T) {
			p := startOnFIFO(t, args...)
			p.expectNote()
			if err := os.WriteFile(p.fifo, []byte("print('a' + 'b')\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := p.Wait(); err != nil || p.out.String() != "ab\n" {
				t.Errorf("%v, stdout %q", err, p.out.String())
			}
		})
	}
}

// One signal is enough to end that.
func TestInterruptedAtFIFO(t *testing.T) {
	for sig, want := range map[syscall.Signal]syscall.Signal{
		syscall.SIGINT: syscall.SIGINT, syscall.SIGTERM: syscall.SIGTERM, syscall.SIGQUIT: syscall.SIGTERM,
	} {
		t.Run(sig.String(), func(t *testing.T) {
			p := startOnFIFO(t)
			p.expectNote()
			if err := p.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = p.Wait()
			if status, ok := p.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != want {
				t.Errorf("%v, want an end by %v", p.ProcessState, want)
			}
		})
	}
}

// fifoProcess is a hermes-exec whose script comes from a FIFO.
type fifoProcess struct {
	*exec.Cmd

	t    *testing.T
	fifo string
	out  bytes.Buffer
	err  *bufio.Reader
}

func startOnFIFO(t *testing.T, args ...string) *fifoProcess {
	t.Helper()
	s := newShell(t)
	p := &fifoProcess{t: t, fifo: filepath.Join(s.dir, "script.fifo")}
	if err := syscall.Mkfifo(p.fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	p.Cmd = s.command(append(args, p.fifo)...)
	p.Stdout = &p.out
	stderr, err := p.StderrPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.err = bufio.NewReader(stderr)
	return p
}

// expectNote waits until the process says that it waits.
func (p *fifoProcess) expectNote() {
	p.t.Helper()
	if line, err := p.err.ReadString('\n'); line != "hermes-exec: nobody writes to "+p.fifo+": waiting for the script\n" {
		p.t.Fatalf("%q, %v", line, err)
	}
}
