package docker

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/guest"
)

// fateWait bounds how long the end of the agent's stream waits for the reason of it, which comes from
// the engine on another connection.
const fateWait = 3 * time.Second

// oomBefore is how long before a container's end the engine's word of an out of memory may have come to
// be its cause.
const oomBefore = 3 * time.Second

// link is the way to an agent, whose process it has to end.
type link interface {
	guest.Link
	said() string                       // the end of the agent's stderr
	exitStatus(ctx context.Context) int // of the agent; -1 where it is not known
	disposed() error                    // what Close met; valid afterwards
}

var _ link = (*mainProcess)(nil)

// mainProcess is the agent of a container that was made for it, as its main process. The container is
// gone when it is closed.
type mainProcess struct {
	stdio
	engine *engine
	id     string

	gone   chan struct{} // closed when the container is, or when nobody can tell any more
	status container.WaitResponse
	err    error        // why status is none
	oom    atomic.Int64 // when the engine told of an out of memory, in nanoseconds since 1970

	once   sync.Once
	closed error
}

// attach takes hold of the stdio of a container that is not started yet, and of its end: a container
// that removes itself leaves nothing to ask.
func attach(ctx context.Context, e *engine, id string) (*mainProcess, error) {
	p := &mainProcess{engine: e, id: id, gone: make(chan struct{})}
	ctx, cancel, stop := outliving(ctx)
	defer stop()
	conn, err := e.ContainerAttach(ctx, id, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		cancel()
		return nil, err
	}
	happened, _ := e.Events(ctx, events.ListOptions{Filters: filters.NewArgs(
		filters.Arg("type", "container"), filters.Arg("container", id), filters.Arg("event", string(events.ActionOOM)),
	)})
	removed, failed := e.ContainerWait(ctx, id, container.WaitConditionRemoved)
	p.open(conn, cancel)
	p.work.Go(func() { p.listen(happened, removed, failed) })
	return p, nil
}

// listen waits for the container's end.
func (p *mainProcess) listen(happened <-chan events.Message, removed <-chan container.WaitResponse, failed <-chan error) {
	defer close(p.gone)
	for {
		select {
		case m := <-happened:
			if m.TimeNano == 0 {
				happened = nil // the stream of events is over
				continue
			}
			p.oom.Store(time.Now().UnixNano())
		case p.status = <-removed:
			return
		case p.err = <-failed:
			return
		}
	}
}

// Read reads from the agent's stdout. Its end comes with its cause.
func (p *mainProcess) Read(b []byte) (int, error) {
	n, err := p.out.Read(b)
	if ended(err) {
		err = p.fate()
	}
	return n, err
}

// fate says why the stream is over.
func (p *mainProcess) fate() error {
	p.await(fateWait)
	switch status := p.exitStatus(context.Background()); {
	case status <= 0:
		return io.EOF
	case time.Since(time.Unix(0, p.oom.Load())) < oomBefore:
		return &endError{fmt.Errorf("the container is out of memory: %w", &backend.ExitError{Code: -9, Signal: backend.Kill, OOMKilled: true})}
	default:
		return &endError{fmt.Errorf("the container ended with status %d", status)}
	}
}

// exitStatus is the status that the container ended with.
func (p *mainProcess) exitStatus(context.Context) int {
	p.await(fateWait)
	select {
	case <-p.gone:
		if p.err == nil {
			return int(p.status.StatusCode)
		}
	default:
	}
	return -1
}

// Close makes sure that the container is gone: an agent that has ended took it along, any other is
// killed with it.
func (p *mainProcess) Close() error {
	p.once.Do(func() {
		if p.over() {
			p.await(removeWait)
		}
		select {
		case <-p.gone:
		default:
			if p.closed = p.engine.remove(context.Background(), p.id); p.closed == nil {
				p.await(removeWait)
			}
		}
		p.letGo()
	})
	return p.closed
}

func (p *mainProcess) disposed() error { return p.closed }

// await waits for the container to be gone.
func (p *mainProcess) await(limit time.Duration) {
	select {
	case <-p.gone:
	case <-time.After(limit):
	}
}
