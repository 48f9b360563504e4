// Package ssh is the environment on another machine, as its user finds it when he logs in.
//
// Nothing is installed there. One session channel carries the guest agent's stdio, and all else goes
// over that; where sshd forwards Unix sockets, tool calls come over channels of their own.
package ssh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/closing"
	"github.com/hermes-exec/hermes-exec/internal/guest"
	"github.com/hermes-exec/hermes-exec/internal/sshclient"
)

// defaultLease is Host.Lease where nothing is said.
const defaultLease = 60 * time.Second

var _ backend.Backend = (*Backend)(nil)

// Backend is an opened remote host.
type Backend struct {
	*guest.Guest
	link      *link
	side      *sideway
	info      backend.Info
	noForward string                     // why sockets are not forwarded; "" when they are
	first     *first                     // what was asked for beside the start
	ready     atomic.Pointer[forwarding] // one that was proved and nobody has asked for yet
	opened    closing.Set
	log       *slog.Logger

	spoolSFTP bool // shares are mirrored over SFTP
}

// Host is what the backend may know of the machine that it is opened from.
type Host struct {
	Env    map[string]string // the caller's variables
	Pool   *sshclient.Pool   // shares connections; nil: one of its own
	Prompt sshclient.Prompt  // asks for passphrases and passwords; nil: nobody can be asked
	Log    *slog.Logger      // nil: silent

	// Lease is how long the agent outlives a silence of this machine: a network that is gone tells nobody.
	// 0 is a minute.
	Lease time.Duration
}

// Opener returns an Opener for URLs of the scheme ssh.
func Opener(h Host) backend.Opener {
	return backend.OpenerOf(ParseURL, func(ctx context.Context, cfg Config) (*Backend, error) { return Open(ctx, cfg, h) })
}

// Open logs in and starts the agent with the first interpreter that can carry it.
func Open(ctx context.Context, cfg Config, h Host) (*Backend, error) {
	if h.Log == nil {
		h.Log = slog.New(slog.DiscardHandler)
	}
	if h.Pool == nil {
		h.Pool = &sshclient.Pool{}
	}
	b, err := cfg.boot(ctx, h)
	if err == nil {
		b.log, b.spoolSFTP = h.Log, cfg.SpoolSFTP
		err = b.settle(ctx, cfg)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, wrap("open "+cfg.Host, err)
	}
	return b, nil
}

// options say how the host is reached.
func (c Config) options(h Host) sshclient.Options {
	return sshclient.Options{
		Host: c.Host, User: c.User, Port: c.Port, Key: c.Key, AcceptNew: c.AcceptNew, Env: h.Env, Prompt: h.Prompt,
	}
}

// interpreters are those to try.
func (c Config) interpreters() []string {
	if c.Python != "" {
		return []string{c.Python}
	}
	return []string{"python3", "python"}
}

// boot starts each interpreter in turn until one carries the agent.
func (c Config) boot(ctx context.Context, h Host) (*Backend, error) {
	var tried []string
	for _, python := range c.interpreters() {
		sockets := newSocketDir()
		l, err := start(ctx, h.Pool, c.options(h), python, sockets)
		if err != nil {
			return nil, err
		}
		first := newFirst(c, l, sockets)
		target := l.Conn.Host.String()
		side := &sideway{beside: l.Channel}
		g, err := guest.Open(ctx, l, guest.Options{
			Name: "ssh", Target: target, Lease: cmp.Or(h.Lease, defaultLease), Aside: side.way, Leave: l.leave, Diagnose: l.said,
			Begin: func(g *guest.Guest) { first.ask(ctx, g) },
		})
		if err == nil {
			l.pid.Store(int64(g.PID()))
			return &Backend{Guest: g, link: l, side: side, info: g.Info(), first: first}, nil
		}
		first.drop()
		l.tidy(ctx, err, sockets)
		if ctx.Err() != nil || !unfit(err, l) {
			return nil, err
		}
		tried = append(tried, python+": "+plainly(err))
	}
	return nil, c.noPython(tried)
}

// noPython says why none of those that were tried can be used.
func (c Config) noPython(tried []string) error {
	err := fmt.Errorf("%w on %s: %s", backend.ErrNoPython, c.Host, strings.Join(tried, "; "))
	return backend.Advise(err, "install Python 3.8 or newer there, or name one with --python")
}

// mostStatus is the last exit status that is none of what a shell tells of a signal: who was killed may be a
// Python.
const mostStatus = 128

// unfit tells whether an agent did not start because of the interpreter: there is none, it is too old, or it
// is no Python. What ended before it was started, as where nobody may log in, is not its fault.
func unfit(err error, l *link) bool {
	if refused := (*guest.RefusedError)(nil); errors.As(err, &refused) {
		return !refused.Environment()
	}
	if !errors.Is(err, guest.ErrNoGreeting) || errors.Is(err, backend.ErrExhausted) {
		return false
	}
	status := l.exitStatus()
	return slices.Contains([]int{126, 127}, status) || l.began() && status >= 0 && status <= mostStatus
}

// plainly is why an interpreter cannot be used, without what everybody knows.
func plainly(err error) string {
	if refused := (*guest.RefusedError)(nil); errors.As(err, &refused) {
		return refused.Reason
	}
	if said := guest.Printed(err); said != "" {
		return said
	}
	return "it ended at once, without a word"
}

// settle finds out what there is beside the agent, and enters the working directory.
func (b *Backend) settle(ctx context.Context, cfg Config) error {
	conn := b.link.Conn
	b.info.Notes = append(b.info.Notes, "configuration read by "+conn.Host.Source)
	var work sync.WaitGroup
	work.Go(func() { b.proveForward(ctx) })
	dir := b.workDir(cfg)
	err := b.enter(ctx, dir)
	work.Wait()
	<-b.first.done
	if err != nil {
		return errors.Join(fmt.Errorf("%w: %w", backend.ErrDir, err), b.Close())
	}
	if dir != "" {
		b.info.Dir = dir
	}
	if b.first.path != "" {
		b.info.Env = maps.Clone(b.info.Env)
		b.info.Env["PATH"] = b.first.path
	}
	return nil
}

// workDir is the directory to work in; "" is where one is after logging in.
func (b *Backend) workDir(cfg Config) string {
	dir := cfg.Dir
	switch {
	case cfg.Strict:
		return b.info.Scratch
	case dir == "~" || strings.HasPrefix(dir, "~/"):
		return path.Join(b.info.Env["HOME"], dir[1:])
	case dir != "" && !path.IsAbs(dir):
		return path.Join(b.info.Dir, dir) // where one is after logging in
	default:
		return dir
	}
}

// Info describes the host.
func (b *Backend) Info() backend.Info { return b.info }

// Examine tells whether large files go over SFTP.
func (b *Backend) Examine(ctx context.Context) []string {
	if err := b.side.known(ctx); err != nil {
		return []string{"files of any size go through the guest agent: " + err.Error()}
	}
	return []string{"large files go over SFTP"}
}

// Close ends everything there and lets go of the connection.
func (b *Backend) Close() error {
	if l := b.ready.Swap(nil); l != nil {
		_ = l.Close() // nobody has asked for it
	}
	err := b.opened.Close()
	b.side.Close()
	return errors.Join(err, b.Guest.Close())
}

func wrap(op string, err error) error {
	return &backend.Error{Backend: "ssh", Op: op, Err: err}
}
