//go:build unix

package backendtest

import (
	"context"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/hermes-exec/hermes-exec/internal/guest"
)

// PipeConfig says how to open a Pipe.
type PipeConfig struct {
	Python string                      // the interpreter
	Dir    string                      // its working directory
	Env    map[string]string           // its environment, which Info().Env then tells
	Lease  time.Duration               // 0: none
	Wrap   func(guest.Link) guest.Link // puts something between host and agent; nil: nothing
	Aside  func() guest.Aside          // another way for large files; nil: none
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
	if err := l.Start(cmd); err != nil {
		return nil, err
	}
	var link guest.Link = l
	if cfg.Wrap != nil {
		link = cfg.Wrap(link)
	}
	opt := guest.Options{Name: "pipe", Target: cfg.Python, Lease: cfg.Lease, Aside: cfg.Aside, Diagnose: l.Said}
	return guest.Open(ctx, link, opt)
}

// pipeKill is how long an agent may outlive its link. As on a remote host, the end of the link is all
// that it learns; the kill is the second line, which every backend has, for one that is stopped.
const pipeKill = 6 * time.Second

// pipeLink is the agent's stdio.
type pipeLink struct {
	guest.Pipes

	cmd  *exec.Cmd
	once sync.Once
}

func (l *pipeLink) Close() error {
	l.once.Do(func() {
		_ = l.CloseRead()
		_ = l.CloseWrite()
		late := time.AfterFunc(pipeKill, func() { _ = l.cmd.Process.Kill() })
		defer late.Stop()
		_ = l.cmd.Wait()
	})
	return nil
}
