//go:build unix

// Package local is the environment that hermes-exec itself runs in.
//
// It is no sandbox: what runs there has every right of the user. Processes are started by the guest
// agent, as everywhere, because it is the agent that ends them with all their descendants; files,
// sockets and directories need no agent here and are reached directly.
package local

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/guest"
)

var _ backend.Backend = (*Backend)(nil)

// Backend is the opened local environment.
type Backend struct {
	*guest.Guest
	info      backend.Info
	opened    opened
	pipeCount atomic.Int64
}

// Opener returns an Opener for URLs of the scheme local, for a caller with the environment env.
func Opener(env map[string]string) backend.Opener {
	return func(ctx context.Context, u *url.URL) (backend.Backend, error) {
		cfg, err := ParseURL(u)
		if err != nil {
			return nil, err
		}
		cfg.Env = env
		b, err := Open(ctx, cfg)
		if err != nil {
			return nil, err // not b: a nil *Backend is no nil Backend
		}
		return b, nil
	}
}

// Open starts the agent with the first interpreter that is able to carry it.
func Open(ctx context.Context, cfg Config) (*Backend, error) {
	if cfg.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, wrap("open", err)
		}
		cfg.Dir = dir
	}
	if info, err := os.Stat(cfg.Dir); err != nil {
		return nil, wrap("open", err)
	} else if !info.IsDir() {
		return nil, wrap("open", fmt.Errorf("%s is no directory", cfg.Dir))
	}
	list, err := candidates(cfg)
	if err != nil {
		return nil, wrap("open", err)
	}
	return tryAll(ctx, cfg, list)
}

func tryAll(ctx context.Context, cfg Config, list []candidate) (*Backend, error) {
	var passedOver []string
	for _, c := range list {
		g, err := start(ctx, cfg, c.path)
		if err == nil {
			return newBackend(g, cfg, passedOver), nil
		}
		if ctx.Err() != nil {
			return nil, wrap("start "+c.path, context.Cause(ctx))
		}
		if refused := (*guest.RefusedError)(nil); errors.As(err, &refused) && refused.Environment() {
			return nil, wrap("open", err) // another interpreter would meet the same
		}
		passedOver = append(passedOver, fmt.Sprintf("%s (%s) cannot be used: %v", c.path, c.from, err))
	}
	return nil, wrap("open", noPython(passedOver))
}

func newBackend(g *guest.Guest, cfg Config, passedOver []string) *Backend {
	b := &Backend{Guest: g, info: g.Info()}
	b.info.Env = cfg.Env
	b.info.SameHost = true
	b.info.NoHome = !writable(cfg.Env["HOME"])
	b.info.Dir = cfg.Dir
	if cfg.Strict {
		b.info.Dir = b.info.Scratch
	}
	for _, p := range passedOver {
		b.info.Warnings = append(b.info.Warnings, "interpreter passed over: "+p)
	}
	return b
}

// writable tells whether files can be made in dir.
func writable(dir string) bool { return dir != "" && syscall.Access(dir, 2|1) == nil }

// Info describes the environment.
func (b *Backend) Info() backend.Info { return b.info }

// Close ends everything, the processes first, so that what they use does not go away under them.
// What an agent that was killed has left is removed here.
func (b *Backend) Close() error {
	err := errors.Join(b.Guest.Close(), b.opened.close())
	for _, dir := range []string{b.info.Scratch, b.SocketDir()} {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

func wrap(op string, err error) error {
	return &backend.Error{Backend: "local", Op: op, Err: err}
}
