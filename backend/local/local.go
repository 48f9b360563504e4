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
	"io"
	"io/fs"
	"net"
	"os"
	"sync/atomic"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/guest"
	"github.com/hermes-exec/hermes-exec/internal/marked"
)

// KeepsState tells whether cells here find what earlier ones have left, which takes a kernel.
const KeepsState = true

var _ backend.Backend = (*Backend)(nil)

// Backend is the opened local environment.
type Backend struct {
	*guest.Guest
	ground
	pipeCount atomic.Int64
	swept     chan struct{} // closed when the agent is gone, and what it has left too
}

// Opener returns an Opener for URLs of the scheme local, for a caller with the environment env in the
// directory dir.
func Opener(env map[string]string, dir string) backend.Opener { return opener(env, dir, Open) }

// Open starts the agent with the first interpreter that is able to carry it.
func Open(ctx context.Context, cfg Config) (*Backend, error) {
	if err := cfg.settle(); err != nil {
		return nil, unopened(err)
	}
	list, err := candidates(cfg)
	if err != nil {
		return nil, unopened(err)
	}
	return tryAll(ctx, cfg, list)
}

func tryAll(ctx context.Context, cfg Config, list []candidate) (*Backend, error) {
	var passedOver []string
	for i, c := range list {
		bounded, cancel := patience(ctx, len(list)-i)
		a, err := start(bounded, cfg, c.path)
		cancel()
		if err == nil {
			return newBackend(a, cfg, passedOver), nil
		}
		if ctx.Err() != nil {
			return nil, wrap("start "+c.path, context.Cause(ctx))
		}
		if blameless(err) {
			return nil, unopened(err) // another interpreter would meet the same
		}
		passedOver = append(passedOver, fmt.Sprintf("%s (%s) cannot be used: %v", c.path, c.from, unstarted(c.path, err)))
	}
	return nil, unopened(noPython(passedOver))
}

// blameless tells whether err is no fault of the interpreter that was tried.
func blameless(err error) bool {
	if refused := (*guest.RefusedError)(nil); errors.As(err, &refused) {
		return refused.Environment()
	}
	return errors.Is(err, backend.ErrExhausted)
}

func newBackend(a *agent, cfg Config, passedOver []string) *Backend {
	b := &Backend{Guest: a.Guest, swept: make(chan struct{})}
	b.ground = ground{info: a.Info(), alive: a.Err, socketPath: a.NewSocketPath}
	b.info.Env = cfg.Env
	b.info.SameHost = true
	b.info.NoHome = !takesFiles(cfg.Env["HOME"])
	b.info.Dir = cfg.Dir
	if cfg.Strict {
		b.info.Dir = b.info.Scratch
	}
	for _, p := range passedOver {
		b.info.Warnings = append(b.info.Warnings, "interpreter passed over: "+p)
	}
	go b.sweep(a.link)
	return b
}

// Info describes the environment.
func (b *Backend) Info() backend.Info { return b.info }

// Put writes a file by temporary name and rename.
func (b *Backend) Put(ctx context.Context, name string, r io.Reader, mode fs.FileMode) error {
	return b.put(ctx, name, r, mode)
}

// Get opens a regular file.
func (b *Backend) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	return b.get(ctx, name)
}

// Listen opens a socket of this machine's own and dials it once.
func (b *Backend) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	return b.listen(ctx, network, address)
}

// Share makes a directory.
func (b *Backend) Share(ctx context.Context, dir string) (backend.Share, error) {
	return b.share(ctx, dir)
}

// sweep ends what is left of an environment whose agent was killed, as soon as it is: user code may
// have killed a supervisor too, and then nobody else is left whose descendants they are.
func (b *Backend) sweep(l *link) {
	defer close(b.swept)
	<-b.Done()
	_ = b.Guest.Close() // waits for the agent and its supervisors
	if !l.orderly() {
		marked.End(b.info.Scratch)
	}
}

// Close ends everything, the processes first, so that what they use does not go away under them.
// What an agent that was killed has left is removed here.
func (b *Backend) Close() error {
	err := errors.Join(b.Guest.Close(), b.opened.Close())
	<-b.swept
	for _, dir := range []string{b.info.Scratch, b.SocketDir()} {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}
