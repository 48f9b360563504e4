//go:build unix

package local

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/guest"
)

// supervisorsWait bounds the wait for the supervisors after the agent is gone. They hold the agent's
// stderr open, so that its EOF tells when they have ended everything.
const supervisorsWait = 6 * time.Second

// agent is one that runs.
type agent struct {
	*guest.Guest
	link *link
}

// start runs the agent, with the library of the cache if there can be one. An interpreter that does
// not get on with that is tried once more without: the cache may be damaged.
func start(ctx context.Context, cfg Config, python string) (*agent, error) {
	var cached string
	a, err := boot(ctx, cfg, python, func() string {
		cached, _ = library(cfg.Env) // that there can be none costs time, nothing else
		return cached
	})
	if cached == "" || !errors.Is(err, guest.ErrNoGreeting) {
		return a, err
	}
	if a, again := boot(ctx, cfg, python, func() string { return "" }); again == nil {
		forget(cached)
		return a, nil
	}
	return nil, err
}

// boot starts an interpreter as the agent, in its own session: a terminal's Ctrl-C is for
// hermes-exec to handle. Where its library lies is found out while the interpreter starts.
func boot(ctx context.Context, cfg Config, python string, library func() string) (*agent, error) {
	argv := guest.Argv(python)
	cmd := exec.Command(argv[0], argv[1:]...) // not CommandContext: the agent outlives ctx
	cmd.Dir = cfg.Dir
	cmd.Env = list(shimEnv(runtime.GOOS, cfg.Env))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = supervisorsWait
	l := &link{cmd: cmd}
	if err := l.Start(cmd); err != nil {
		return nil, backend.Exhausted(err)
	}
	opt := guest.Options{Name: "local", Target: cfg.Dir, Library: library(), Diagnose: l.Said}
	g, err := guest.Open(ctx, l, opt)
	if err != nil {
		return nil, err
	}
	return &agent{g, l}, nil
}

// link is the agent's stdio.
type link struct {
	guest.Pipes

	cmd  *exec.Cmd
	once sync.Once
}

// orderly tells whether the agent has ended by itself, and so everything that it had started. It is
// valid when the link is closed.
func (l *link) orderly() bool { return l.cmd.ProcessState != nil && l.cmd.ProcessState.Success() }

// Close kills the agent, if it still lives, and waits for it and for its supervisors.
func (l *link) Close() error {
	l.once.Do(func() {
		_ = l.CloseWrite()
		// The group, for the interpreter may be a shell script that waits for another process.
		_ = syscall.Kill(-l.cmd.Process.Pid, syscall.SIGKILL)
		_ = l.cmd.Wait()
	})
	return nil
}

var _ guest.Link = (*link)(nil)
