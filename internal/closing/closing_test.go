package closing_test

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/closing"
)

// closer counts how often it was closed.
type closer struct {
	closed int
	err    error
}

func (c *closer) Close() error {
	c.closed++
	return c.err
}

func TestSet(t *testing.T) {
	var s closing.Set
	broken := errors.New("broken")
	kept, removed, failing := &closer{}, &closer{}, &closer{err: broken}
	for _, c := range []io.Closer{kept, removed, failing} {
		if err := s.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	s.Remove(removed)
	if err := s.Close(); !errors.Is(err, broken) {
		t.Errorf("close says %v, want %v", err, broken)
	}
	late := &closer{}
	if err := s.Add(late); !errors.Is(err, net.ErrClosed) {
		t.Errorf("adding to a closed set says %v, want %v", err, net.ErrClosed)
	}
	if err := s.Close(); err != nil {
		t.Errorf("the second close says %v", err)
	}
	if got := [4]int{kept.closed, removed.closed, failing.closed, late.closed}; got != [4]int{1, 0, 1, 1} {
		t.Errorf("closed %v times, want 1, 0, 1, 1", got)
	}
}

func TestListener(t *testing.T) {
	var s closing.Set
	open := func() net.Listener {
		raw, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.Listener(raw)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first, second := open(), open()
	for range 2 {
		if err := first.Close(); err != nil {
			t.Errorf("close says %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing the set says %v", err)
	}
	if _, err := second.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a listener of a closed set accepts: %v", err)
	}
}
