package docker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/guest"
)

// execWait bounds each request about an agent that was executed in a container.
const execWait = 5 * time.Second

var _ link = (*execProcess)(nil)

// execProcess is an agent that was executed in a container which is somebody else's. The container
// stays when it is closed; the agent and what it started do not.
type execProcess struct {
	stdio
	engine    *engine
	container string
	user      string
	python    string
	id        string
	pid       atomic.Int64 // of the agent, as the container counts; 0 until it has greeted

	once   sync.Once
	closed error
}

// execute starts interpreter as the agent in the container.
func (c Config) execute(ctx context.Context, e *engine, interpreter string) (*execProcess, error) {
	if err := c.running(ctx, e); err != nil {
		return nil, err
	}
	p := &execProcess{engine: e, container: c.Container, user: c.User, python: interpreter}
	r, err := e.ContainerExecCreate(ctx, c.Container, container.ExecOptions{
		User: c.User, Cmd: guest.Argv(interpreter), AttachStdin: true, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return nil, e.explain(err)
	}
	p.id = r.ID
	ctx, cancel, stop := outliving(ctx)
	defer stop()
	conn, err := e.ContainerExecAttach(bound(ctx), p.id, container.ExecAttachOptions{})
	if err != nil {
		cancel()
		return nil, e.explain(err)
	}
	p.open(conn, cancel)
	p.work.Go(func() { p.watch(ctx) })
	return p, nil
}

// running says what is to be done about a container that cannot be entered.
func (c Config) running(ctx context.Context, e *engine) error {
	r, err := e.ContainerInspect(ctx, c.Container)
	switch {
	case errdefs.IsNotFound(err):
		return backend.Advise(fmt.Errorf("there is no container %s at %s", c.Container, e.host), "docker ps lists those that run there")
	case err != nil:
		return e.explain(err)
	case r.State == nil || !r.State.Running:
		return backend.Advise(fmt.Errorf("container %s is not running", c.Container), "docker start %s", c.Container)
	case r.State.Paused:
		return backend.Advise(fmt.Errorf("container %s is paused", c.Container), "docker unpause %s", c.Container)
	}
	return nil
}

// watch looks now and then whether the agent has ended: its output tells that at once, as a rule.
func (p *execProcess) watch(ctx context.Context) {
	every := time.NewTicker(execWait)
	defer every.Stop()
	for {
		select {
		case <-p.copied:
			return
		case <-ctx.Done():
			return
		case <-every.C:
			if p.exitStatus(ctx) >= 0 {
				p.drain()
				return
			}
		}
	}
}

// Read reads from the agent's stdout. Its end comes with its cause.
func (p *execProcess) Read(b []byte) (int, error) {
	n, err := p.out.Read(b)
	if ended(err) {
		err = p.fate()
	}
	return n, err
}

// fate says why the stream is over.
func (p *execProcess) fate() error {
	switch status := p.exitStatus(context.Background()); {
	case status <= 0:
		return &endError{errors.New("its connection ended")}
	case status == killed:
		return &endError{errors.New("the guest agent was killed, by somebody or for want of memory")}
	default:
		return &endError{fmt.Errorf("the guest agent ended with status %d", status)}
	}
}

// exitStatus is the status that the agent ended with.
func (p *execProcess) exitStatus(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, execWait)
	defer cancel()
	r, err := p.engine.ContainerExecInspect(ctx, p.id)
	if err != nil || r.Running {
		return -1
	}
	return r.ExitCode
}

// refused is what the engine said when it did not start the interpreter, for a reason that any other would
// meet too: that there is no such user, for example. It writes that where the agent would write.
func (p *execProcess) refused(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(ctx, execWait)
	defer cancel()
	r, failed := p.engine.ContainerExecInspect(ctx, p.id)
	said := guest.Printed(err)
	if failed != nil || r.Running || r.Pid != 0 || r.ExitCode == 0 || said == "" || inexecutable(err) {
		return nil
	}
	return p.engine.explain(errors.New(said))
}

// Close makes sure that the agent is gone. One that did not end with its stdin is killed from inside: an
// engine has no other way to end what it executed.
func (p *execProcess) Close() error {
	p.once.Do(func() {
		_ = p.CloseWrite()
		select {
		case <-p.copied:
		case <-time.After(execWait):
			if p.exitStatus(context.Background()) < 0 {
				p.closed = p.kill()
			}
		}
		p.letGo()
	})
	return p.closed
}

func (p *execProcess) disposed() error { return p.closed }

// kill ends an agent that does not by itself. Its supervisors notice, and end what they watch.
func (p *execProcess) kill() error {
	pid := p.pid.Load()
	if pid == 0 {
		return errors.New("the guest agent in " + p.container + " did not end")
	}
	ctx, cancel := context.WithTimeout(context.Background(), execWait)
	defer cancel()
	const code = "import os,sys; os.kill(int(sys.argv[1]), 9)"
	r, err := p.engine.ContainerExecCreate(ctx, p.container, container.ExecOptions{
		User: p.user, Cmd: []string{p.python, "-I", "-S", "-c", code, strconv.FormatInt(pid, 10)},
	})
	if err == nil {
		err = p.engine.ContainerExecStart(ctx, r.ID, container.ExecStartOptions{Detach: true})
	}
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil // the container is gone, or does not run any more
	}
	if err != nil {
		return fmt.Errorf("end the guest agent in %s: %w", p.container, p.engine.explain(err))
	}
	select {
	case <-p.copied:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the guest agent in %s was killed and still lives", p.container)
	}
}
