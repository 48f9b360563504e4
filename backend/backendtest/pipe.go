//go:build unix

package backendtest

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/hermes-exec/hermes-exec/internal/guest"
	"github.com/hermes-exec/hermes-exec/internal/keep"
)

// PipeConfig says how to open a Pipe.
type PipeConfig struct {
	Python string                      // the interpreter
	Dir    string                      // its working directory
	Env    map[string]string           // its environment, which Info().Env then tells
	Lease  time.Duration               // 0: none
	Wrap   func(guest.Link) guest.Link // puts something between host and agent; nil: nothing
}

// Pipe opens an environment that is reached through the agent's stdio alone: a process of this
// machine that is treated as docker and ssh treat theirs.
func Pipe(ctx context.Context, cfg PipeConfig) (*guest.Guest, error) {
	argv := guest.Argv(cfg.Python)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = cfg.Dir
	for name, value := range cfg.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = 10 * time.Second
	l := &pipeLink{cmd: cmd}
	cmd.Stderr = &l.stderr
	if err := l.start(); err != nil {
		return nil, err
	}
	var link guest.Link = l
	if cfg.Wrap != nil {
		link = cfg.Wrap(link)
	}
	opt := guest.Options{Name: "pipe", Target: cfg.Python, Lease: cfg.Lease, Diagnose: l.stderr.String}
	return guest.Open(ctx, link, opt)
}

// pipeKill is how long an agent may outlive its link. As on a remote host, the end of the link is all
// that it learns; the kill is the second line, which every backend has, for one that is stopped.
const pipeKill = 6 * time.Second

// pipeLink is the agent's stdio.
type pipeLink struct {
	cmd           *exec.Cmd
	stdin, stdout *os.File
	stderr        keep.Last
	once          sync.Once
}

func (l *pipeLink) start() error {
	theirIn, ourIn, err := os.Pipe()
	if err != nil {
		return err
	}
	ourOut, theirOut, err := os.Pipe()
	if err != nil {
		return err
	}
	l.stdin, l.stdout = ourIn, ourOut
	l.cmd.Stdin, l.cmd.Stdout = theirIn, theirOut
	err = l.cmd.Start()
	_ = theirIn.Close()
	_ = theirOut.Close()
	return err
}

func (l *pipeLink) Read(p []byte) (int, error)  { return l.stdout.Read(p) }
func (l *pipeLink) Write(p []byte) (int, error) { return l.stdin.Write(p) }
func (l *pipeLink) CloseWrite() error           { return l.stdin.Close() }

func (l *pipeLink) Close() error {
	l.once.Do(func() {
		_ = l.stdin.Close()
		_ = l.stdout.Close()
		late := time.AfterFunc(pipeKill, func() { _ = l.cmd.Process.Kill() })
		defer late.Stop()
		_ = l.cmd.Wait()
	})
	return nil
}
