package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/guest"
	"github.com/hermes-exec/hermes-exec/internal/keep"
)

// fateWait bounds how long the end of the agent's stream waits for the reason of it, which comes from
// the engine on another connection.
const fateWait = 3 * time.Second

// oomBefore is how long before a container's end the engine's word of an out of memory may have come to
// be its cause.
const oomBefore = 3 * time.Second

var _ guest.Link = (*link)(nil)

// link is the stdio of a container's main process, the agent. The container is gone when it is closed.
type link struct {
	engine *engine
	id     string
	conn   types.HijackedResponse
	out    *io.PipeReader // the agent's stdout
	stderr keep.Last
	copied chan struct{} // closed when the stream is over

	gone   chan struct{} // closed when the container is, or when nobody can tell any more
	status container.WaitResponse
	err    error // why status is none
	oom    atomic.Int64

	cancel context.CancelFunc // of what waits for events
	work   sync.WaitGroup
	once   sync.Once
	closed error
}

// attach takes hold of the stdio of a container that is not started yet, and of its end: a container
// that removes itself leaves nothing to ask.
func attach(ctx context.Context, e *engine, id string) (*link, error) {
	l := &link{engine: e, id: id, copied: make(chan struct{}), gone: make(chan struct{})}
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.cancel = cancel
	conn, err := e.ContainerAttach(watching, id, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		cancel()
		return nil, err
	}
	l.conn = conn
	happened, _ := e.Events(watching, events.ListOptions{Filters: filters.NewArgs(
		filters.Arg("type", "container"), filters.Arg("container", id), filters.Arg("event", string(events.ActionOOM)),
	)})
	removed, failed := e.ContainerWait(watching, id, container.WaitConditionRemoved)
	l.work.Go(func() { l.listen(happened, removed, failed) })
	out, in := io.Pipe()
	l.out = out
	l.work.Go(func() {
		defer close(l.copied)
		_, err := stdcopy.StdCopy(in, &l.stderr, conn.Reader)
		_ = in.CloseWithError(err) // nil is EOF
	})
	return l, nil
}

// listen waits for the container's end.
func (l *link) listen(happened <-chan events.Message, removed <-chan container.WaitResponse, failed <-chan error) {
	defer close(l.gone)
	for {
		select {
		case m := <-happened:
			if m.TimeNano != 0 {
				l.oom.Store(time.Now().UnixNano())
			} else {
				happened = nil // the stream of events is over
			}
		case l.status = <-removed:
			return
		case l.err = <-failed:
			return
		}
	}
}

// Read reads from the agent's stdout. Its end comes with its cause.
func (l *link) Read(p []byte) (int, error) {
	n, err := l.out.Read(p)
	if errors.Is(err, io.EOF) {
		err = l.fate()
	}
	return n, err
}

// fate says why the stream is over.
func (l *link) fate() error {
	select {
	case <-l.gone:
	case <-time.After(fateWait):
		return io.EOF
	}
	switch {
	case l.err != nil:
		return io.EOF
	case time.Since(time.Unix(0, l.oom.Load())) < oomBefore:
		return &endError{fmt.Errorf("the container is out of memory: %w", &backend.ExitError{Code: -9, Signal: backend.Kill, OOMKilled: true})}
	case l.status.StatusCode == 0:
		return io.EOF
	default:
		return &endError{fmt.Errorf("the container ended with status %d", l.status.StatusCode)}
	}
}

// endError is the end of a stream with its cause.
type endError struct{ cause error }

// Error returns the cause.
func (e *endError) Error() string { return e.cause.Error() }

// Unwrap returns the cause, and that it is an end.
func (e *endError) Unwrap() []error { return []error{io.EOF, e.cause} }

// exitStatus is the status that the container ended with, or -1.
func (l *link) exitStatus() int64 {
	select {
	case <-l.gone:
		if l.err == nil {
			return l.status.StatusCode
		}
	case <-time.After(fateWait):
	}
	return -1
}

// Write writes to the agent's stdin.
func (l *link) Write(p []byte) (int, error) { return l.conn.Conn.Write(p) }

// CloseWrite ends the agent's stdin, and the agent with it.
func (l *link) CloseWrite() error { return l.conn.CloseWrite() }

// Close makes sure that the container is gone: an agent that has ended took it along, any other is
// killed with it.
func (l *link) Close() error {
	l.once.Do(func() {
		select {
		case <-l.copied:
			l.await(removeWait)
		default:
		}
		select {
		case <-l.gone:
		default:
			l.closed = l.engine.remove(context.Background(), l.id)
			l.await(removeWait)
		}
		l.letGo()
	})
	return l.closed
}

// await waits for the container to be gone.
func (l *link) await(limit time.Duration) {
	select {
	case <-l.gone:
	case <-time.After(limit):
	}
}

// letGo ends what listens to the engine.
func (l *link) letGo() {
	l.cancel()
	l.conn.Close()
	_ = l.out.Close()
	l.work.Wait()
}
