//go:build unix

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

// Listen opens a socket of this machine's own and dials it once.
func (b *Backend) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	op := fmt.Sprintf("listen on %s %s", network, address)
	if err := b.Err(); err != nil {
		return nil, wrap(op, err)
	}
	switch {
	case network != "unix" && network != "tcp":
		return nil, wrap(op, errors.ErrUnsupported)
	case address == "" && network == "unix":
		address = b.NewSocketPath()
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
	ours, err := b.opened.Listener(l)
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

// share is a plain directory: both sides are on the same machine.
type share struct {
	dir    string
	root   *os.Root
	remove func() error
}

// Share makes a directory.
func (b *Backend) Share(_ context.Context, dir string) (backend.Share, error) {
	err := b.Err()
	switch {
	case err != nil:
	case dir == "":
		dir = b.info.Scratch
	default:
		dir = b.abs(dir)
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, wrap("share "+dir, err)
	}
	path, err := os.MkdirTemp(dir, "spool")
	if err != nil {
		return nil, wrap("share "+dir, err)
	}
	s := &share{dir: path}
	if s.root, err = os.OpenRoot(path); err == nil {
		err = errors.Join(s.root.Mkdir("in", 0o700), s.root.Mkdir("out", 0o700))
	}
	if err != nil {
		return nil, wrap("share "+dir, errors.Join(err, os.RemoveAll(path)))
	}
	s.remove = sync.OnceValue(func() error {
		b.opened.Remove(s)
		return errors.Join(s.root.Close(), os.RemoveAll(path))
	})
	if err := b.opened.Add(s); err != nil {
		return nil, wrap("share "+dir, err)
	}
	return s, nil
}

func (s *share) HostDir() string  { return s.dir }
func (s *share) Root() *os.Root   { return s.root }
func (s *share) GuestDir() string { return s.dir }
func (s *share) Close() error     { return s.remove() }
