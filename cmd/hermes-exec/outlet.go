package main

import (
	"errors"
	"io"
	"sync"
	"syscall"
)

// outlet is the program's stdout. When nobody reads it any more (hermes-exec … | head) or the disk
// is full, the first failed write calls broken, so that the run ends instead of talking to nobody;
// later writes are swallowed. It is safe for concurrent use: a write that is stuck, because the reader
// has stalled, holds up other writes only.
type outlet struct {
	w io.Writer

	writing sync.Mutex

	mu     sync.Mutex
	broken func(error)
	err    error
}

// Write writes, or discards if writing failed before.
func (o *outlet) Write(p []byte) (int, error) {
	o.writing.Lock()
	defer o.writing.Unlock()
	if o.failed() {
		return len(p), nil
	}
	n, err := o.w.Write(p)
	if err == nil {
		return n, nil
	}
	o.fail(err)
	return len(p), nil
}

func (o *outlet) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = err
	if o.broken != nil {
		o.broken(err)
	}
}

// onBroken sets what the first failed write calls, and calls it at once if that has happened.
func (o *outlet) onBroken(f func(error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.broken = f
	if o.err != nil {
		f(o.err)
	}
}

// failure returns what the first failed write said.
func (o *outlet) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// failed reports whether a write has failed.
func (o *outlet) failed() bool { return o.failure() != nil }

// readerGone reports whether err says that nobody reads any more.
func readerGone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}
