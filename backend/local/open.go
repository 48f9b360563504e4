//go:build unix

package local

import (
	"errors"
	"io"
	"net"
	"sync"
)

// opened holds what Close has to close. The zero value is empty.
type opened struct {
	mu     sync.Mutex
	list   map[io.Closer]struct{}
	closed bool
}

// add takes c in, or closes it if it comes too late.
func (o *opened) add(c io.Closer) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return errors.Join(net.ErrClosed, c.Close())
	}
	if o.list == nil {
		o.list = map[io.Closer]struct{}{}
	}
	o.list[c] = struct{}{}
	return nil
}

func (o *opened) remove(c io.Closer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.list, c)
}

// close closes all of it, and all that comes later.
func (o *opened) close() error {
	o.mu.Lock()
	list := o.list
	o.list, o.closed = nil, true
	o.mu.Unlock()
	var errs []error
	for c := range list {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// listener ends with the environment.
type listener struct {
	net.Listener
	opened *opened
}

func (l *listener) Close() error {
	l.opened.remove(l)
	err := l.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
