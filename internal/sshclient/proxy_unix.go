//go:build unix

package sshclient

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hermes-exec/hermes-exec/internal/keep"
)

// runProxy runs the ProxyCommand, whose stdio is the stream, with the caller's variables.
func (o Options) runProxy(h *Host) (net.Conn, error) {
	command := strings.NewReplacer("%%", "%", "%h", h.Name, "%n", h.Alias, "%p", strconv.Itoa(h.Port), "%r", h.User).Replace(h.Command)
	cmd := exec.Command("/bin/sh", "-c", "exec "+command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's Ctrl-C is for hermes-exec to handle
	cmd.Env = []string{}
	for name, value := range o.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	p := &proxy{cmd: cmd, heard: make(chan struct{})}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.Reader, p.WriteCloser = stdout, stdin
	go func() {
		defer close(p.heard)
		_, _ = io.Copy(&p.stderr, stderr)
	}()
	return p, nil
}

// proxy is a stream over the stdio of a process.
type proxy struct {
	io.Reader
	io.WriteCloser
	cmd    *exec.Cmd
	stderr keep.Last
	heard  chan struct{} // closed when stderr is read to its end
}

var _ net.Conn = (*proxy)(nil)

// lastWords bounds how long the end of a stream waits for what the process says of it.
const lastWords = time.Second

// Read reads what the process prints.
func (p *proxy) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	return n, p.explain(err)
}

// Write writes to the process.
func (p *proxy) Write(b []byte) (int, error) {
	n, err := p.WriteCloser.Write(b)
	return n, p.explain(err)
}

// explain says of the end of the stream what the process complained of.
func (p *proxy) explain(err error) error {
	if err == nil {
		return nil
	}
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	select {
	case <-p.heard:
	case <-timer.C:
	}
	if said := p.stderr.Line(); said != "" {
		return fmt.Errorf("the ProxyCommand ended: %.500s", said)
	}
	return err
}

// Close ends the process.
func (p *proxy) Close() error {
	err := p.WriteCloser.Close()
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM)
	_ = p.cmd.Wait() // it was ended: its status says no more
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

func (p *proxy) LocalAddr() net.Addr              { return address{} }
func (p *proxy) RemoteAddr() net.Addr             { return address{} }
func (p *proxy) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (p *proxy) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (p *proxy) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }
