//go:build unix

package sshclient

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// runProxy runs the ProxyCommand, whose stdio is the stream.
func (h *Host) runProxy() (net.Conn, error) {
	command := strings.NewReplacer("%%", "%", "%h", h.Name, "%n", h.Alias, "%p", strconv.Itoa(h.Port), "%r", h.User).Replace(h.Command)
	cmd := exec.Command("/bin/sh", "-c", "exec "+command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's Ctrl-C is for hermes-exec to handle
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &proxy{Reader: stdout, WriteCloser: stdin, cmd: cmd}, nil
}

// proxy is a stream over the stdio of a process.
type proxy struct {
	io.Reader
	io.WriteCloser
	cmd *exec.Cmd
}

var _ net.Conn = (*proxy)(nil)

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
