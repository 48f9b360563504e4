package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
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

	ended  chan struct{} // closed when the container has, or when nobody can tell any more
	status container.WaitResponse
	err    error // why status is none

	once   sync.Once
	closed error
}

// attach takes hold of the stdio of a container that is not started yet, and of its end: a container
// that removes itself leaves nothing to ask.
func attach(ctx context.Context, e *engine, id string) (*mainProcess, error) {
	p := &mainProcess{engine: e, id: id, ended: make(chan struct{})}
	ctx, cancel, stop := outliving(ctx)
	defer stop()
	// Beside each other: either is a request of its own, and the container is not started before both.
	var exited <-chan container.WaitResponse
	var failed <-chan error
	var asking sync.WaitGroup
	asking.Go(func() { exited, failed = e.ContainerWait(ctx, id, container.WaitConditionNextExit) })
	conn, err := e.ContainerAttach(bound(ctx), id, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		cancel()
		asking.Wait()
		return nil, err
	}
	asking.Wait()
	p.open(conn, cancel)
	p.work.Go(func() { p.listen(exited, failed) })
	return p, nil
}

// listen waits for the container's end, and then for that of its output.
func (p *mainProcess) listen(exited <-chan container.WaitResponse, failed <-chan error) {
	select {
	case p.status = <-exited:
	case p.err = <-failed:
	}
	close(p.ended)
	if p.err == nil {
		p.drain()
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
	case status < 0 && isDone(p.ended):
		return &endError{p.engine.explain(p.err)}
	case status <= 0:
		return &endError{errors.New("its connection ended")}
	case status == killed && p.outOfMemory():
		return &endError{fmt.Errorf("the container is out of memory: %w", &backend.ExitError{Code: -9, Signal: backend.Kill, OOMKilled: true})}
	case status == killed:
		return &endError{errors.New("the container was killed, by somebody or for want of memory")}
	default:
		return &endError{fmt.Errorf("the container ended with status %d", status)}
	}
}

// killed is the status of a container that was, or whose agent was.
const killed = 128 + int(backend.Kill)

// outOfMemory asks for what the engine remembers of the container's end.
func (p *mainProcess) outOfMemory() bool {
	ctx, cancel := context.WithTimeout(context.Background(), fateWait)
	defer cancel()
	happened, failed := p.engine.Events(ctx, events.ListOptions{Since: "1", Filters: filters.NewArgs(
		filters.Arg("container", p.id), filters.Arg("event", string(events.ActionOOM)), filters.Arg("event", string(events.ActionDie)),
	)})
	var oom int64
	for {
		select {
		case m := <-happened:
			if m.Action == events.ActionDie {
				return oom != 0 && m.TimeNano-oom < int64(oomBefore)
			}
			oom = m.TimeNano
		case <-failed: //nolint:errcheck // nobody can tell, then
			return false
		}
	}
}

// abandon ends the link to a container that did not start.
func (p *mainProcess) abandon() {
	p.cancel()
	p.conn.Close()
}

// exitStatus is the status that the container ended with.
func (p *mainProcess) exitStatus(context.Context) int {
	p.await(fateWait)
	if isDone(p.ended) && p.err == nil {
		return int(p.status.StatusCode)
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
		if isDone(p.ended) && p.err == nil {
			p.closed = p.engine.awaitRemoval(p.id)
		} else {
			p.closed = p.engine.remove(context.Background(), p.id)
		}
		p.letGo()
	})
	return p.closed
}

func (p *mainProcess) disposed() error { return p.closed }

// await waits for the container to have ended.
func (p *mainProcess) await(limit time.Duration) {
	select {
	case <-p.ended:
	case <-time.After(limit):
	}
}
