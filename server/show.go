package server

import (
	"context"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
)

// stall is how long the caller may take for the next piece of output when the time of the cell is
// over.
const stall = time.Second

// show hands live output and events to the caller of a cell, as fast as that takes them. When the
// time of the cell is over, or it was interrupted, a caller that takes nothing is given up: its
// result must not wait for the reader of its output.
type show struct {
	due    context.Context //nolint:containedctx // ends when the time of the cell is over
	frames chan frame
	done   chan struct{} // closed when all was shown
	stuck  bool
}

// frame is one that was received.
type frame struct {
	kind    kind
	payload []byte
}

func newShow(due context.Context, c Cell, codec codec) *show {
	s := &show{due: due, frames: make(chan frame), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for f := range s.frames {
			c.show(codec, f)
		}
	}()
	return s
}

// pass hands on a frame.
func (s *show) pass(f frame) {
	select {
	case s.frames <- f:
		return
	case <-s.due.Done():
	}
	if s.stuck {
		return
	}
	select {
	case s.frames <- f:
	case <-time.After(stall):
		s.stuck = true
	}
}

// finish waits until all was shown. The goroutine of a caller that is stuck ends when that goes on.
func (s *show) finish() {
	close(s.frames)
	select {
	case <-s.done:
		return
	case <-s.due.Done():
	}
	if s.stuck {
		return
	}
	select {
	case <-s.done:
	case <-time.After(stall):
	}
}

// show hands on live output or an event.
func (c Cell) show(codec codec, f frame) {
	switch f.kind {
	case kindStdout:
		_, _ = c.Script.Stdout.Write(f.payload) // whoever gave the writer knows when it fails
	case kindStderr:
		_, _ = c.Script.Stderr.Write(f.payload)
	case kindEvent:
		e := hermes.Event{}
		if codec.dec.Unmarshal(f.payload, &e) == nil {
			c.Script.Events(e)
		}
	case kindProgress:
		c.Progress(string(f.payload))
	default: // of a later server
	}
}
