// Package closing keeps account of what an environment has handed out and has to close at its end.
package closing

import (
	"errors"
	"io"
	"net"
	"sync"
)

// Set holds what is to be closed. Its zero value is empty. It is safe for concurrent use.
type Set struct {
	mu     sync.Mutex
	list   map[io.Closer]struct{}
	closed bool
}

// Add takes c in, or closes it if it comes too late, which is net.ErrClosed.
func (s *Set) Add(c io.Closer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.Join(net.ErrClosed, c.Close())
	}
	if s.list == nil {
		s.list = map[io.Closer]struct{}{}
	}
	s.list[c] = struct{}{}
	return nil
}

// Remove forgets c, which has been closed.
func (s *Set) Remove(c io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.list, c)
}

// Close closes all of it, and all that comes later.
func (s *Set) Close() error {
	s.mu.Lock()
	list := s.list
	s.list, s.closed = nil, true
	s.mu.Unlock()
	var errs []error
	for c := range list {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Listener adds l, and returns it as one whose Close is idempotent and removes it.
func (s *Set) Listener(l net.Listener) (net.Listener, error) {
	ours := &listener{l, s}
	if err := s.Add(ours); err != nil {
		return nil, err
	}
	return ours, nil
}

type listener struct {
	net.Listener
	set *Set
}

func (l *listener) Close() error {
	l.set.Remove(l)
	err := l.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
