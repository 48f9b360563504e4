// Package filerpc carries tool calls through a spool: a directory that the host and the guest both
// see, or that is mirrored between them. It is for environments where no socket can be had.
//
// A request is a file in/req_NAME that appears by rename and holds one JSON object, as on a line of
// the other transports; its answer is out/res_NAME, which appears in the same way. NAME is
// CHANNEL.NUMBER. The host removes a request before it runs the call, so that nothing is run twice;
// the guest removes the answer that it has read. Names that begin with a dot are ignored.
//
// Whoever puts out/res_CHANNEL.NUMBER there (this package on a shared directory, the guest agent on
// a mirrored one) writes a byte to the FIFO out/.wake_CHANNEL, if there is one. On a shared
// directory that FIFO also tells the host whether the caller lives: without a reader it is dead, and
// its calls are cancelled. A caller that gives a call up puts a file in/end_NAME there, which works
// on a mirror too; behind a mirror the agent can put in/end_CHANNEL there for a dead caller, else its
// calls end with the run.
//
// Watching makes it fast, and is never relied on: the directory is read again at intervals.
package filerpc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/transport"
)

// Transport opens spools. Its zero value works.
type Transport struct {
	Options transport.Options

	// Dir is where in the environment the spool is made; "" is the backend's scratch.
	Dir string

	// Poll turns watching off, as if the operating system had none.
	Poll bool
}

var _ transport.Transport = Transport{}

// Name implements transport.Transport.
func (Transport) Name() string { return "file" }

// Open implements transport.Transport.
func (t Transport) Open(ctx context.Context, b backend.Backend) (transport.Endpoint, error) {
	share, err := b.Share(ctx, t.Dir)
	if err != nil {
		return nil, fmt.Errorf("open file transport: %w", err)
	}
	e, err := newEndpoint(share, t)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open file transport: %w", err), share.Close())
	}
	return e, nil
}

// endpoint is one spool. All access to it goes through in and out, which no symlink leads out of.
type endpoint struct {
	share   backend.Share
	wire    *transport.Wire
	mem     *transport.Memory
	poll    bool
	env     map[string]string
	dir     string // of the requests, without symlinks, for the watcher
	in, out *os.Root
	owner   owner
	closed  chan struct{}
	once    sync.Once
	err     error // of Close

	mu     sync.Mutex     // orders served.Add and served.Wait
	served sync.WaitGroup // Serve, which uses in and out
}

func newEndpoint(share backend.Share, t Transport) (*endpoint, error) {
	// A path below a symlink is not watched by every operating system (B121).
	dir, err := filepath.EvalSymlinks(share.HostDir())
	if err != nil {
		return nil, err
	}
	w := transport.NewWire(t.Options)
	e := &endpoint{
		share: share, wire: w, mem: transport.NewMemory(t.Options), poll: t.Poll,
		env: map[string]string{transport.EnvDir: share.GuestDir(), transport.EnvToken: w.Token()},
		dir: filepath.Join(dir, "in"), closed: make(chan struct{}),
	}
	if e.in, err = share.Root().OpenRoot("in"); err != nil {
		return nil, err
	}
	if e.out, err = share.Root().OpenRoot("out"); err != nil {
		_ = e.in.Close()
		return nil, err
	}
	e.owner = ownerOf(e.out)
	return e, nil
}

// Env implements transport.Endpoint.
func (e *endpoint) Env() map[string]string { return maps.Clone(e.env) }

// Close implements transport.Endpoint. It waits for Serve, so a handler must not call it.
func (e *endpoint) Close() error {
	e.once.Do(func() {
		e.mu.Lock()
		close(e.closed)
		e.mu.Unlock()
		e.served.Wait()
		e.err = errors.Join(e.in.Close(), e.out.Close(), e.share.Close())
	})
	return e.err
}

// Serve implements transport.Endpoint.
func (e *endpoint) Serve(ctx context.Context, h transport.Handler) error {
	if !e.enter() {
		return net.ErrClosed
	}
	defer e.served.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := newServer(e, h)
	err := s.run(ctx)
	cancel(err)
	s.wait()
	return err
}

// enter keeps Close waiting, unless it has begun.
func (e *endpoint) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.closed:
		return false
	default:
		e.served.Add(1)
		return true
	}
}

// gone tells whether the spool has vanished, and the environment with it.
func (e *endpoint) gone() bool {
	_, err := os.Lstat(e.dir)
	return errors.Is(err, os.ErrNotExist)
}

// errGone is the cause of a handler's context when nobody waits for its answer any more.
var errGone = errors.New("the caller is gone")

// errVanished is why Serve ends when its directory is gone.
func errVanished(dir string) error {
	return fmt.Errorf("the spool %s has vanished: %w", dir, backend.ErrUnavailable)
}
