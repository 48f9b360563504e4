//go:build unix

package local

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/guest"
	"github.com/hermes-exec/hermes-exec/internal/marked"
)

// process is one whose output comes by pipes.
type process struct {
	backend.Process
	stdout, stderr *pipe         // nil where the agent has the stream, or the other pipe
	done           chan struct{} // closed when it has ended and all its output is written
	err            error         // valid then
}

// Start starts cmd; an empty Dir is the environment's. Its output comes by pipes of this machine.
func (b *Backend) Start(ctx context.Context, cmd backend.Cmd) (backend.Process, error) {
	if cmd.Dir == "" {
		cmd.Dir = b.info.Dir
	}
	cmd, err := cmd.PutFiles(ctx, b.Put)
	if err != nil {
		return nil, err
	}
	p := &process{done: make(chan struct{})}
	to, err := b.redirect(p, cmd)
	if err != nil {
		p.discard(b)
		return b.Guest.Start(ctx, cmd) // by the agent, as everywhere: slower, and the same
	}
	if p.stdout != nil {
		cmd.Stdout = nil
	}
	if to.Stderr != "" {
		cmd.Stderr = nil
	}
	if cmd.Control != nil {
		cmd.Control = &orderedControl{cmd.Control, p}
	}
	p.Process, err = b.StartTo(ctx, cmd, to)
	if err != nil {
		p.discard(b)
		return nil, err
	}
	for _, pipe := range p.pipes() {
		_ = os.Remove(pipe.path) // its writer has it open
		go pipe.read()
	}
	go p.wait(b)
	return p, nil
}

// redirect makes a pipe for every stream that somebody reads, and one for both where both go to the
// same writer.
func (b *Backend) redirect(p *process, cmd backend.Cmd) (to guest.Redirect, err error) {
	if cmd.Stdout != nil {
		if p.stdout, err = b.pipe(cmd.Stdout, cmd.Keep); err != nil {
			return to, err
		}
		to.Stdout = p.stdout.path
	}
	switch {
	case cmd.Stderr == nil:
	case cmd.Merged():
		to.Stderr = to.Stdout
	default:
		if p.stderr, err = b.pipe(cmd.Stderr, cmd.Keep); err != nil {
			return to, err
		}
		to.Stderr = p.stderr.path
	}
	return to, nil
}

func (b *Backend) pipe(w io.Writer, k *backend.Keep) (*pipe, error) {
	path := filepath.Join(b.info.Scratch, fmt.Sprintf("%s%d", marked.FIFO, b.pipeCount.Add(1)))
	p, err := newPipe(path, w, k)
	if err != nil {
		return nil, err
	}
	return p, b.opened.Add(p)
}

func (p *process) pipes() []*pipe {
	var list []*pipe
	for _, pipe := range []*pipe{p.stdout, p.stderr} {
		if pipe != nil {
			list = append(list, pipe)
		}
	}
	return list
}

// discard removes pipes that no process has got.
func (p *process) discard(b *Backend) {
	for _, pipe := range p.pipes() {
		b.opened.Remove(pipe)
		_ = os.Remove(pipe.path)
		_ = pipe.f.Close()
	}
}

// wait takes the rest of the output when the process has ended.
func (p *process) wait(b *Backend) {
	p.err = p.Process.Wait(context.Background())
	for _, pipe := range p.pipes() {
		pipe.finish(func() { b.opened.Remove(pipe) })
		if p.err == nil && pipe.err != nil {
			p.err = fmt.Errorf("write output: %w", pipe.err)
		}
	}
	close(p.done)
}

// Wait waits for the end of the process and of its output.
func (p *process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	default:
	}
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Output returns the counts: exact after Wait, and what was read so far before that.
func (p *process) Output() (stdout, stderr backend.Counts) {
	stdout, stderr = p.Process.Output()
	if p.stdout != nil {
		stdout = p.stdout.counted()
	}
	if p.stderr != nil {
		stderr = p.stderr.counted()
	}
	return stdout, stderr
}

// orderedControl passes on what the process printed before a control message, then the message.
type orderedControl struct {
	io.ReadWriteCloser
	process *process
}

func (c *orderedControl) Write(message []byte) (int, error) {
	for _, pipe := range c.process.pipes() {
		pipe.passOn()
	}
	return c.ReadWriteCloser.Write(message)
}
