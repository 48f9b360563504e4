package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"github.com/hermes-exec/hermes-exec/backend"
)

// listen opens a socket of this machine's own and dials it once.
func (g *ground) listen(ctx context.Context, network, address string) (net.Listener, error) {
	op := fmt.Sprintf("listen on %s %s", network, address)
	if err := g.alive(); err != nil {
		return nil, wrap(op, err)
	}
	switch {
	case network != "tcp" && (network != "unix" || g.socketPath == nil):
		return nil, wrap(op, errors.ErrUnsupported)
	case address == "" && network == "unix":
		address = g.socketPath()
	case address == "":
		address = "127.0.0.1:0"
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	if err != nil {
		return nil, wrap(op, err)
	}
	if err := prove(ctx, l); err != nil {
		return nil, wrap(op, errors.Join(err, l.Close()))
	}
	ours, err := g.opened.Listener(l)
	if err != nil {
		return nil, wrap(op, err)
	}
	return ours, nil
}

// prove shows that what was bound can be reached: some file systems and policies allow one alone.
func prove(ctx context.Context, l net.Listener) error {
	if l.Addr().Network() == "unix" {
		if err := os.Chmod(l.Addr().String(), 0o600); err != nil {
			return err
		}
	}
	dialled := make(chan error, 1)
	go func() {
		c, err := (&net.Dialer{}).DialContext(ctx, l.Addr().Network(), l.Addr().String())
		if err == nil {
			err = c.Close()
		} else {
			_ = l.Close() // so that Accept returns
		}
		dialled <- err
	}()
	c, err := l.Accept()
	if err == nil {
		err = c.Close()
	}
	if dialErr := <-dialled; dialErr != nil {
		return dialErr
	}
	return err
}

// shared is a plain directory: both sides are on the same machine.
type shared struct {
	dir    string
	root   *os.Root
	remove func() error
}

// share makes a directory.
func (g *ground) share(_ context.Context, dir string) (backend.Share, error) {
	err := g.alive()
	switch {
	case err != nil:
	case dir == "":
		dir = g.info.Scratch
	default:
		dir = g.abs(dir)
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, wrap("share "+dir, err)
	}
	path, err := os.MkdirTemp(dir, "spool")
	if err != nil {
		return nil, wrap("share "+dir, err)
	}
	s := &shared{dir: path}
	if s.root, err = os.OpenRoot(path); err == nil {
		err = errors.Join(s.root.Mkdir("in", 0o700), s.root.Mkdir("out", 0o700))
	}
	if err != nil {
		return nil, wrap("share "+dir, errors.Join(err, os.RemoveAll(path)))
	}
	s.remove = sync.OnceValue(func() error {
		g.opened.Remove(s)
		return errors.Join(s.root.Close(), os.RemoveAll(path))
	})
	if err := g.opened.Add(s); err != nil {
		return nil, wrap("share "+dir, err)
	}
	return s, nil
}

func (s *shared) HostDir() string  { return s.dir }
func (s *shared) Root() *os.Root   { return s.root }
func (s *shared) GuestDir() string { return s.dir }
func (s *shared) Close() error     { return s.remove() }
