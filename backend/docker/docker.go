// Package docker is the environment inside a container, at any engine that speaks the Docker Engine
// API.
//
// The guest agent is the container's main process, and all else goes over its stdio: nothing relies on
// files that host and container share, and nothing is copied in. A container lives as long as its
// Backend: it removes itself when its stdin ends, whatever ended that.
package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/closing"
	"github.com/hermes-exec/hermes-exec/internal/guest"
	"github.com/hermes-exec/hermes-exec/internal/sshclient"
	"github.com/hermes-exec/hermes-exec/internal/volume"
)

// lease is how long a container outlives an engine or a host that is silent: one that is paused, or
// whose connection froze.
const lease = 60 * time.Second

var _ backend.Backend = (*Backend)(nil)

// Backend is an opened container.
type Backend struct {
	*guest.Guest
	engine  *engine
	link    link
	info    backend.Info
	meeting *meeting // nil: there is no directory that both sides see
	opened  closing.Set
	log     *slog.Logger
}

// Host is what a container may know of the machine that it is opened from.
type Host struct {
	Env      map[string]string // the caller's variables
	Dir      string            // the caller's working directory
	Pool     *sshclient.Pool   // shares connections to engines behind SSH; nil: one of its own
	Prompt   sshclient.Prompt  // asks for what such a connection needs; nil: nobody can be asked
	Progress func(text string) // nil: nobody wants to know
	Log      *slog.Logger      // nil: silent
}

// Opener returns an Opener for URLs of the scheme docker.
func Opener(h Host) backend.Opener {
	return backend.OpenerOf(ParseURL, func(ctx context.Context, cfg Config) (*Backend, error) {
		cfg.Env, cfg.HostDir, cfg.Pool, cfg.Prompt = h.Env, h.Dir, h.Pool, h.Prompt
		cfg.Progress, cfg.Log = h.Progress, h.Log
		return Open(ctx, cfg)
	})
}

// Open makes a container, or enters one, with the first interpreter there that can carry the agent.
func Open(ctx context.Context, cfg Config) (*Backend, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	e, err := connect(ctx, Host{Env: cfg.Env, Dir: cfg.HostDir, Pool: cfg.Pool, Prompt: cfg.Prompt})
	if err != nil {
		return nil, wrap("open "+cfg.target(), err)
	}
	b, err := cfg.open(ctx, e)
	if err != nil {
		_ = e.Close()
		if ctx.Err() != nil && !errors.As(err, new(*waitError)) {
			err = e.kept(ctx)
		}
		return nil, wrap("open "+cfg.target(), err)
	}
	return b, nil
}

// target is how messages call what is opened.
func (c Config) target() string {
	if c.Container != "" {
		return "container " + c.Container
	}
	return "image " + c.Image
}

func (c Config) open(ctx context.Context, e *engine) (*Backend, error) {
	if c.Container != "" {
		return c.join(ctx, e)
	}
	mounts, hosts, err := c.mounts()
	if err != nil {
		return nil, err
	}
	if hosts {
		if err := c.asCaller(ctx, e); err != nil {
			return nil, err
		}
	}
	var meet *meeting
	if e.local {
		meet = newMeeting(c.Env["TMPDIR"])
	}
	var made *spec
	b, err := c.boot(ctx, e, func(python string) (link, *guest.Guest, error) {
		made = c.spec(python, mounts, meet)
		return made.start(ctx, e, c.Progress)
	})
	if err != nil {
		return nil, errors.Join(warned(made.narrow(err), made.warnings), meet.remove())
	}
	b.info.Warnings = append(b.info.Warnings, made.warnings...)
	b.info.Notes = append(b.info.Notes, made.limits())
	b.info.NoNetwork, b.info.Memory = made.host.NetworkMode.IsNone(), made.host.Memory
	_, b.info.TempInMemory = made.host.Tmpfs[b.info.Temp]
	b.meeting = meet
	b, err = b.entered(ctx, c)
	return b, made.narrow(err)
}

// warned is an error with what may be its cause: that an image is made for other machines, for example.
func warned(err error, warnings []string) error {
	if len(warnings) == 0 {
		return err
	}
	return fmt.Errorf("%w; %s", err, strings.Join(warnings, "; "))
}

// join executes the agent in a container that runs already.
func (c Config) join(ctx context.Context, e *engine) (*Backend, error) {
	b, err := c.boot(ctx, e, func(python string) (link, *guest.Guest, error) {
		p, err := c.execute(ctx, e, python)
		if err != nil {
			return nil, nil, err // not p: a nil *execProcess is no nil link
		}
		g, err := guest.Open(ctx, p, c.agent(p))
		if err != nil {
			if refused := p.refused(ctx, err); refused != nil {
				return nil, nil, refused
			}
			return p, nil, err
		}
		p.pid.Store(int64(g.PID()))
		return p, g, nil
	})
	if err != nil {
		return nil, err
	}
	return b.entered(ctx, c)
}

// entered finds out what the container can do, and enters it. An error closes b.
func (b *Backend) entered(ctx context.Context, c Config) (*Backend, error) {
	var proving sync.WaitGroup
	proving.Go(func() { b.meeting.prove(ctx, b.Guest) })
	err := b.enter(ctx, c)
	proving.Wait()
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.info.Notes = append(b.info.Notes, c.target()+" at "+b.engine.host, b.meeting.note())
	return b, nil
}

// enter makes the directory that was asked for the working directory: the image's own is it already.
func (b *Backend) enter(ctx context.Context, c Config) error {
	dir := c.Dir
	switch {
	case c.Strict:
		dir = b.info.Scratch
	case dir == "" && c.MountCwd:
		dir = volume.Workspace
	case dir == "":
		return b.enterOwn(ctx, c)
	case !path.IsAbs(dir):
		dir = path.Join(b.info.Dir, dir)
	}
	if err := b.Enter(ctx, dir); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrDir, err)
	}
	b.info.Dir = dir
	return nil
}

// enterOwn enters the directory that the image names, or the scratch where the user may not be in that.
func (b *Backend) enterOwn(ctx context.Context, c Config) error {
	err := b.Enter(ctx, b.info.Dir)
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b.info.Warnings = append(b.info.Warnings, fmt.Sprintf("the working directory of %s cannot be used, scripts run in the scratch: %v", c.target(), err))
	b.info.Dir = b.info.Scratch
	return b.Enter(ctx, b.info.Dir)
}

// interpreters are those to try.
func (c Config) interpreters() []string {
	if c.Python != "" {
		return []string{c.Python}
	}
	return []string{"python3", "python"}
}

// agent says how the agent at the other end of l is opened.
func (c Config) agent(l link) guest.Options {
	return guest.Options{Name: "docker", Target: c.target(), Lease: lease, Offer: true, Diagnose: l.said}
}

// boot starts each interpreter in turn until one carries the agent. With an error of the agent's start has
// to return its link.
func (c Config) boot(ctx context.Context, e *engine, start func(python string) (link, *guest.Guest, error)) (*Backend, error) {
	var tried []string
	for _, python := range c.interpreters() {
		l, g, err := start(python)
		switch {
		case err == nil:
			return &Backend{Guest: g, engine: e, link: l, info: g.Info(), log: c.Log}, nil
		case ctx.Err() != nil || !unfit(ctx, err, l):
			return nil, err
		}
		tried = append(tried, python+": "+plainly(err))
	}
	err := fmt.Errorf("%w in %s: %s", backend.ErrNoPython, c.target(), strings.Join(tried, "; "))
	return nil, backend.Advise(err, "use one with Python 3.8 or newer (--image), or name its interpreter (--python)")
}

// unfit tells whether an agent did not start because of the interpreter: there is none, it is too old, or
// it is no Python. What ends with status 0 and without a word may have lost its connection.
func unfit(ctx context.Context, err error, l link) bool {
	if refused := (*guest.RefusedError)(nil); errors.As(err, &refused) {
		return !refused.Environment()
	}
	if l == nil {
		return inexecutable(err)
	}
	if !errors.Is(err, guest.ErrNoGreeting) || errors.Is(err, backend.ErrExhausted) {
		return false
	}
	status := l.exitStatus(ctx)
	return foreign(err) || status > 0 && !endedByOthers(status) || status == 0 && guest.Printed(err) != ""
}

// endedByOthers tells whether a status is that of what was killed, by somebody or for want of memory, or
// stopped, or waited in vain for its host.
func endedByOthers(status int) bool {
	const alarm = 14
	return slices.Contains([]int{killed, 128 + int(backend.Terminate), 128 + alarm}, status)
}

// inexecutable tells whether the engine could start nothing because of the program.
func inexecutable(err error) bool {
	return missing(err) || foreign(err) || strings.Contains(err.Error(), `exec: "`)
}

// missing tells whether the engine could not start a container for want of the program in it.
func missing(err error) bool {
	return strings.Contains(err.Error(), "executable file not found") ||
		strings.Contains(err.Error(), "no such file or directory") && strings.Contains(err.Error(), "exec:")
}

// foreign tells whether an interpreter is made for another kind of machine.
func foreign(err error) bool {
	return strings.Contains(strings.ToLower(err.Error()), "exec format error")
}

// plainly is why an interpreter cannot be used, without what everybody knows.
func plainly(err error) string {
	if refused := (*guest.RefusedError)(nil); errors.As(err, &refused) {
		return refused.Reason
	}
	if missing(err) || strings.HasSuffix(err.Error(), " failed: No such file or directory") { // as the container's init says it
		return "not found"
	}
	if foreign(err) {
		return "made for machines of another architecture"
	}
	return strings.TrimPrefix(err.Error(), "start the guest agent: ")
}

// Info describes the container.
func (b *Backend) Info() backend.Info { return b.info }

// Close ends everything and removes the container.
func (b *Backend) Close() error {
	err := errors.Join(b.Guest.Close(), b.opened.Close(), b.link.disposed())
	return errors.Join(err, b.meeting.remove(), b.engine.Close())
}

func wrap(op string, err error) error {
	return &backend.Error{Backend: "docker", Op: op, Err: err}
}
