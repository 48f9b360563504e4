package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/fields"
	"github.com/hermes-exec/hermes-exec/python"
)

// ErrDied means that a kernel ended without reporting back. What it held is lost.
var ErrDied = errors.New("the session's Python process died")

// softInterrupt is how long a cell gets to end by KeyboardInterrupt before its kernel is killed.
const softInterrupt = 2 * time.Second

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
	code, err := python.StartKernel()
	if err == nil {
		err = b.Put(ctx, start, bytes.NewReader(code), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("stage the kernel: %w", err)
	}
	ours, theirs := net.Pipe()
	info := b.Info()
	k := &Kernel{
		process: p, control: ours, home: info.Dir,
		busy: make(chan struct{}, 1), messages: make(chan fields.Fields, 2),
		over: make(chan struct{}), listened: make(chan struct{}), ended: make(chan struct{}),
	}
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
		return fmt.Errorf("%w%s", k.failure, lastLine(k.stderr.text()))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lastLine is where an interpreter says why it cannot start.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	return ": " + text[strings.LastIndexByte(text, '\n')+1:]
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

// listen hands on messages. A kernel whose channel broke or speaks nonsense is of no use.
func (k *Kernel) listen() {
	defer close(k.listened)
	for {
		m, err := receive(k.control)
		if err != nil {
			k.kill(context.Background())
			return
		}
		select {
		case k.messages <- m:
		case <-k.over:
			return
		}
	}
}

// Done is closed when the process has ended.
func (k *Kernel) Done() <-chan struct{} { return k.ended }

// Err is how the process ended; it wraps ErrDied. It is valid when Done is closed.
func (k *Kernel) Err() error { return k.failure }

// Count is the number of cells that were begun.
func (k *Kernel) Count() int { return int(k.count.Load()) }

// Pid is the kernel's process id in its environment, as it says itself.
func (k *Kernel) Pid() int { return int(k.pid.Load()) }

// Exec runs one cell. Cells that come while one runs wait for their turn, as long as their context
// allows. The kernel lives on unless ctx ended the cell or Outcome.Ended says otherwise.
func (k *Kernel) Exec(ctx context.Context, c Cell) (*Outcome, error) {
	select {
	case k.busy <- struct{}{}:
		defer func() { <-k.busy }()
	case <-k.ended:
		return nil, k.failure
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if k.dead() {
		return nil, k.failure
	}
	code, err := cellCode(c)
	if err != nil {
		return nil, err
	}
	k.count.Add(1)
	k.stdout.attach(c.Stdout, c.Keep)
	k.stderr.attach(c.Stderr, c.Keep)
	o, err := k.run(ctx, k.encode(c, code), c.Soft)
	out, errs := k.stdout.detach(), k.stderr.detach()
	if o == nil {
		k.count.Add(-1)
		return nil, err
	}
	k.dir = c.Dir
	o.Stdout, o.Stderr = out, errs
	return o, err
}

// dead tells whether the kernel is known to have ended.
func (k *Kernel) dead() bool {
	select {
	case <-k.ended:
		return true
	default:
		return false
	}
}

// cellCode is what a cell runs. A file of the environment is only for scripts of their own.
func cellCode(c Cell) ([]byte, error) {
	if c.File == "" {
		return c.Code, nil
	}
	return nil, fmt.Errorf("run %s as a cell: %w: the code of a cell comes with it", c.File, errors.ErrUnsupported)
}

// encode makes the message of a cell.
func (k *Kernel) encode(c Cell, code []byte) []byte {
	b := fields.Append(nil, "type", "cell")
	b = fields.Append(b, "code", string(code))
	for _, home := range []string{c.Dir, k.home, k.process.Staging} { // the first that is there
		if home != "" {
			b = fields.Append(b, "home", home)
		}
	}
	for _, arg := range c.Args {
		b = fields.Append(b, "arg", arg)
	}
	if c.Dir != "" && c.Dir != k.dir {
		b = fields.Append(b, "dir", c.Dir)
	}
	if c.Display {
		b = fields.AppendInt(b, "display", 1)
	}
	if c.ToolsChanged {
		b = fields.AppendInt(b, "tools_changed", 1)
	}
	return b
}

// run sends the cell and waits for its end, or the kernel's, or ctx's.
func (k *Kernel) run(ctx context.Context, message []byte, soft bool) (*Outcome, error) {
	k.work.Go(func() { _ = send(k.control, message) }) // one that cannot take it has ended, or is about to
	select {
	case m := <-k.messages:
		return k.done(m)
	case <-k.ended:
	case <-ctx.Done():
		return k.stop(ctx, soft)
	}
	select {
	case m := <-k.messages: // it ended after its cell did
		return k.done(m)
	default:
		return k.died()
	}
}

// done is how a cell ended that came to its end. A message that does not fit was made up by the
// cell: its kernel cannot be trusted with another.
func (k *Kernel) done(m fields.Fields) (*Outcome, error) {
	if m.Text("type") != "done" || m.Int("cell") != k.count.Load() {
		k.kill(context.Background())
		<-k.ended
		return k.died()
	}
	if dir := m.Text("refused"); dir != "" { // nothing of the cell has run
		return nil, fmt.Errorf("go to %s: %w", dir, fs.ErrNotExist)
	}
	o := &Outcome{Delivered: true, Exited: m.Int("exited") != 0, Moved: m.Text("moved")}
	if code := int(m.Int("code")); code != 0 {
		o.Exit = &backend.ExitError{Code: code}
	}
	return o, nil
}

// died is how a cell ended that took its kernel with it, or that was lost with its environment.
func (k *Kernel) died() (*Outcome, error) {
	o := &Outcome{Ended: true, Survivors: k.survivors()}
	if errors.Is(k.failure, backend.ErrUnavailable) || errors.Is(k.failure, net.ErrClosed) {
		return o, k.failure
	}
	var exit *backend.ExitError
	if errors.As(k.failure, &exit) && exit.Signal != 0 {
		o.Exit = exit
	}
	return o, nil
}

// survivors names what could not be ended. A process whose end was never told has none to tell.
func (k *Kernel) survivors() []string {
	select {
	case <-k.over:
		return k.running.Survivors()
	default:
		return nil
	}
}

// stop ends a cell whose context has ended: by KeyboardInterrupt, if the kernel may live on and
// does, else with its whole tree.
func (k *Kernel) stop(ctx context.Context, soft bool) (*Outcome, error) {
	cause := context.Cause(ctx)
	ctx = context.WithoutCancel(ctx)
	if i := (*Interrupt)(nil); errors.As(cause, &i) {
		soft = (soft || i.Soft) && !i.Kill
	}
	if soft && k.signalled(ctx, backend.Interrupt, softInterrupt) {
		return &Outcome{}, cause
	}
	if how := k.process.stop(cause); how.Grace > 0 {
		k.signalled(ctx, how.Signal, how.Grace)
	}
	k.kill(ctx)
	return &Outcome{Ended: true, Survivors: k.survivors()}, cause
}

// signalled sends sig and tells whether the cell ended within the grace and the kernel lives.
func (k *Kernel) signalled(ctx context.Context, sig backend.Signal, grace time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	_ = k.running.Signal(ctx, sig) // one that cannot be sent is not obeyed either
	select {
	case <-k.messages:
		return true
	case <-k.ended:
	case <-ctx.Done():
	}
	return false
}

// killWait bounds the wait for a killed kernel: one in a system call may take long, or for ever.
const killWait = 10 * time.Second

// kill ends the process at once and waits for it.
func (k *Kernel) kill(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, killWait)
	defer cancel()
	_ = k.running.Signal(ctx, backend.Kill)
	_ = k.running.Wait(ctx)
}

// endWait is how long a kernel that was asked to end gets for what it has to put away.
const endWait = 500 * time.Millisecond

// ask has a kernel that runs no cell end by itself: it knows of temporary files that a killed one
// leaves behind.
func (k *Kernel) ask() {
	select {
	case k.busy <- struct{}{}: // and no cell begins any more
	default:
		return
	}
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
		k.ask()
		k.kill(context.Background())
		_ = k.control.Close()
		k.work.Wait()
	})
	return nil
}
