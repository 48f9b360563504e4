package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/fields"
	"github.com/hermes-exec/hermes-exec/internal/keep"
	"github.com/hermes-exec/hermes-exec/python"
)

// ErrDied means that a kernel ended without reporting back. What it held is lost.
var ErrDied = errors.New("the session's Python process died")

// The files of a kernel in its staging directory.
const (
	startName       = "kernel.py"
	definitionsName = "cells.py"
)

// Kernel is a Python process that lives between cells. It runs them one after another.
type Kernel struct {
	process Process
	running backend.Process
	control net.Conn // the other end of the one that the process has
	stdout  outlet
	stderr  outlet

	busy     chan struct{} // holds a token while a cell runs
	messages chan fields.Fields
	over     chan struct{} // closed when the process has ended
	listened chan struct{} // closed when all that it said is in messages
	ended    chan struct{} // closed after both
	failure  error         // how it ended; valid when ended is closed
	spoilt   atomic.Bool   // it had to be ended
	once     sync.Once
	work     sync.WaitGroup
	count    atomic.Int64 // of cells
	pid      atomic.Int64
	home     string // of the backend
	dir      string // of the cell before; under busy
}

var _ Executor = (*Kernel)(nil)

// Start starts a kernel in b and returns once it is ready for a cell. Ctx bounds the start alone.
func Start(ctx context.Context, b backend.Backend, p Process) (*Kernel, error) {
	start := path.Join(p.Staging, startName)
	if err := stage(ctx, b, start); err != nil {
		return nil, fmt.Errorf("stage the kernel: %w", err)
	}
	ours, theirs := net.Pipe()
	info := b.Info()
	k := &Kernel{
		process: p, control: ours, home: info.Dir,
		busy: make(chan struct{}, 1), messages: make(chan fields.Fields, 2),
		over: make(chan struct{}), listened: make(chan struct{}), ended: make(chan struct{}),
	}
	var err error
	k.running, err = b.Start(ctx, backend.Cmd{
		Args: []string{info.Python.Path, start, info.Library, path.Join(p.Staging, definitionsName)},
		Env:  p.Env, Stdout: &k.stdout, Stderr: &k.stderr, Control: theirs,
	})
	if err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("start the kernel: %w", err)
	}
	k.work.Go(k.watch)
	k.work.Go(k.listen)
	if err := k.greet(ctx); err != nil {
		_ = k.Close()
		return nil, fmt.Errorf("start the kernel: %w", err)
	}
	return k, nil
}

// stage puts the script that a kernel starts with where it is to lie. Where no room is left that of a
// kernel before will do: a cell in this one may be what makes room.
func stage(ctx context.Context, b backend.Backend, name string) error {
	code, err := python.StartKernel()
	if err != nil {
		return err
	}
	err = b.Put(ctx, name, bytes.NewReader(code), 0o600)
	if err != nil && holds(ctx, b, name, code) {
		return nil
	}
	return err
}

// holds tells whether a file has that content.
func holds(ctx context.Context, b backend.Backend, name string, content []byte) bool {
	r, err := b.Get(ctx, name)
	if err != nil {
		return false
	}
	defer r.Close()
	got, err := io.ReadAll(io.LimitReader(r, int64(len(content))+1))
	return err == nil && bytes.Equal(got, content)
}

// greet waits until the kernel says that it is ready.
func (k *Kernel) greet(ctx context.Context) error {
	select {
	case m := <-k.messages:
		if m.Text("type") == "ready" {
			k.pid.Store(m.Int("pid"))
			return nil
		}
		return fmt.Errorf("%w but %q", errMessage, m.Text("type"))
	case <-k.ended:
		if said := keep.LastLine(k.stderr.text()); said != "" {
			return fmt.Errorf("%w: %s", k.failure, said)
		}
		return k.failure
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watch waits for the process. It ends with it, for Close kills it.
func (k *Kernel) watch() {
	err := k.running.Wait(context.Background())
	k.failure = ErrDied
	if err != nil {
		k.failure = fmt.Errorf("%w: %w", ErrDied, err)
	}
	close(k.over)
	_ = k.control.Close()
	<-k.listened
	close(k.ended)
}

// listen hands on messages, until the process has ended or speaks nonsense. One that cannot be heard
// because a cell has closed its channel ends with that cell.
func (k *Kernel) listen() {
	defer close(k.listened)
	for {
		m, err := receive(k.control)
		if errors.Is(err, errMessage) {
			k.spoil()
		}
		if err != nil {
			return
		}
		select {
		case k.messages <- m:
		case <-k.over:
			return
		}
	}
}

// ErrSpoilt means that a cell has found what its kernel speaks by, and has written there.
var ErrSpoilt = errors.New("something in it wrote to the channel on which it answers hermes-exec")

// spoil ends a kernel that cannot be trusted with another cell.
func (k *Kernel) spoil() {
	k.spoilt.Store(true)
	k.kill(context.Background())
}

// Done is closed when the process has ended.
func (k *Kernel) Done() <-chan struct{} { return k.ended }

// Err is how the process ended; it wraps ErrDied. It is valid when Done is closed.
func (k *Kernel) Err() error { return k.failure }

// Count is the number of cells that were begun.
func (k *Kernel) Count() int { return int(k.count.Load()) }

// PID is the kernel's process id in its environment, as it says itself.
func (k *Kernel) PID() int { return int(k.pid.Load()) }

// killWait bounds the wait for a killed kernel: one in a system call may take long, or for ever.
const killWait = 10 * time.Second

// kill ends the process at once and waits for it.
func (k *Kernel) kill(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, killWait)
	defer cancel()
	_ = k.running.Signal(ctx, backend.Kill)
	_ = k.running.Wait(ctx)
}

// endWait is how long a kernel that was asked to end gets for that. It gives itself a second
// (_PATIENCE in python/hermes/ending.py).
const endWait = 1500 * time.Millisecond

// retire has a kernel end by itself that runs no cell, and begins none any more: with what it has in
// open files, atexit functions, and temporary files that a killed one leaves behind.
func (k *Kernel) retire() {
	_ = k.control.SetWriteDeadline(time.Now().Add(endWait))
	if send(k.control, fields.Append(nil, "type", "end")) != nil {
		return
	}
	select {
	case <-k.over:
	case <-time.After(endWait):
	}
}

// Close ends the kernel with all its processes. It is idempotent.
func (k *Kernel) Close() error {
	k.once.Do(func() {
		select {
		case k.busy <- struct{}{}:
			k.retire()
		default: // under a cell
		}
		k.kill(context.Background())
		_ = k.control.Close()
		k.work.Wait()
	})
	return nil
}
