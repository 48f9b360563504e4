package docker

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/hermes-exec/hermes-exec/internal/keep"
)

// stdio is the agent's stdio on one connection to the engine.
type stdio struct {
	conn   types.HijackedResponse
	out    *io.PipeReader // stdout
	stderr keep.Last
	copied chan struct{} // closed when both are over
	given  atomic.Bool   // the connection was closed because the agent had ended

	cancel context.CancelFunc // of all requests that are under way for it
	work   sync.WaitGroup
}

// outliving returns a context for what is begun under ctx and outlives it. Until stop is called it ends
// with ctx too.
func outliving(ctx context.Context) (longer context.Context, cancel context.CancelFunc, stop func() bool) {
	longer, cancel = context.WithCancel(context.WithoutCancel(ctx))
	return longer, cancel, context.AfterFunc(ctx, cancel)
}

// open takes over an attached connection.
func (s *stdio) open(conn types.HijackedResponse, cancel context.CancelFunc) {
	s.conn, s.cancel, s.copied = conn, cancel, make(chan struct{})
	out, in := io.Pipe()
	s.out = out
	s.work.Go(func() {
		defer close(s.copied)
		_, err := stdcopy.StdCopy(in, &s.stderr, conn.Reader)
		if s.given.Load() {
			err = nil
		}
		_ = in.CloseWithError(err) // nil is EOF
	})
}

// Write writes to the agent's stdin.
func (s *stdio) Write(p []byte) (int, error) { return s.conn.Conn.Write(p) }

// halfWait bounds how long the end of the agent's stdin takes to be sent: over TLS it waits for a Write,
// and an engine may have frozen.
const halfWait = time.Second

// CloseWrite ends the agent's stdin, and the agent with it.
func (s *stdio) CloseWrite() error {
	sent := make(chan error, 1)
	go func() { sent <- s.conn.CloseWrite() }() // ends with the connection
	select {
	case err := <-sent:
		return err
	case <-time.After(halfWait):
		return os.ErrDeadlineExceeded
	}
}

// said is the end of what was printed on stderr.
func (s *stdio) said() string { return s.stderr.String() }

// over tells whether the agent has ended, as far as its output does.
func (s *stdio) over() bool { return isDone(s.copied) }

// drainWait is how long the output of an agent that has ended may take to come.
const drainWait = 2 * time.Second

// drain waits for the rest of the output of an agent that has ended. An engine, or what stands before
// it, may leave the connection open.
func (s *stdio) drain() {
	select {
	case <-s.copied:
	case <-time.After(drainWait):
		s.given.Store(true)
		s.conn.Close()
	}
}

// isDone tells whether done is closed.
func isDone(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// letGo ends all that listens to the engine.
func (s *stdio) letGo() {
	s.cancel()
	s.conn.Close()
	_ = s.out.Close()
	s.work.Wait()
}

// endError is the end of a stream with its cause.
type endError struct{ cause error }

// Error returns the cause.
func (e *endError) Error() string { return e.cause.Error() }

// Unwrap returns the cause, and that it is an end.
func (e *endError) Unwrap() []error { return []error{io.EOF, e.cause} }

// ended tells whether err is the end of a stream that nobody has given a cause.
func ended(err error) bool { return errors.Is(err, io.EOF) }
