package kernel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/fields"
)

// softInterrupt is how long a cell gets to end by KeyboardInterrupt before its kernel is killed.
const softInterrupt = 2 * time.Second

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
	switch { // also what was not chosen above may have come to pass
	case k.dead():
		return nil, k.failure
	case ctx.Err() != nil: // a cell that begins now would end with its kernel
		return nil, context.Cause(ctx)
	}
	code, err := cellCode(c)
	if err != nil {
		return nil, err
	}
	k.count.Add(1)
	k.stdout.attach(c.Stdout, c.Keep)
	k.stderr.attach(c.Stderr, c.Keep)
	o, err := k.run(ctx, k.encode(c, code), c)
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
	if c.Script != "" {
		b = fields.Append(b, "script", c.Script)
	}
	for _, arg := range c.Args {
		b = fields.Append(b, "arg", arg)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		b = fields.Append(b, "env", name+"="+c.Env[name])
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
func (k *Kernel) run(ctx context.Context, message []byte, c Cell) (*Outcome, error) {
	k.work.Go(func() { _ = send(k.control, message) }) // one that cannot take it has ended, or is about to
	select {
	case m := <-k.messages:
		return k.done(m)
	case <-k.ended:
	case <-ctx.Done():
		return k.stop(ctx, c)
	}
	select {
	case m := <-k.messages: // it ended after its cell did
		return k.done(m)
	default:
	}
	if ctx.Err() != nil { // whoever ended the cell may have ended the kernel too
		return &Outcome{Ended: true, Survivors: k.survivors()}, context.Cause(ctx)
	}
	return k.died()
}

// done is how a cell ended that came to its end. A message that does not fit was made up by the
// cell: its kernel cannot be trusted with another.
func (k *Kernel) done(m fields.Fields) (*Outcome, error) {
	if m.Text("type") != "done" || m.Int("cell") != k.count.Load() {
		k.spoil()
		<-k.ended
		return k.died()
	}
	if dir := m.Text("refused"); dir != "" { // nothing of the cell has run
		return nil, fmt.Errorf("%w: %s: %s", backend.ErrDir, dir, m.Text("why"))
	}
	o := &Outcome{Delivered: true, Exited: m.Int("exited") != 0, Moved: m.Text("moved"), Tools: m.Pairs("tool")}
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
	if k.spoilt.Load() {
		o.Spoilt = ErrSpoilt
		return o, nil
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
func (k *Kernel) stop(ctx context.Context, c Cell) (*Outcome, error) {
	cause, soft := context.Cause(ctx), c.Soft
	ctx = context.WithoutCancel(ctx)
	if i := (*Interrupt)(nil); errors.As(cause, &i) {
		soft = (soft || c.SoftInterrupt || i.Soft) && !i.Kill
	}
	if soft {
		if m := k.signalled(ctx, backend.Interrupt, softInterrupt); m != nil {
			o, _ := k.done(m)
			return o, cause
		}
	}
	if how := k.process.stop(cause); how.Grace > 0 {
		if m := k.signalled(ctx, how.Signal, how.Grace); m != nil {
			k.retire()
		}
	}
	k.kill(ctx)
	return &Outcome{Ended: true, Unconfirmed: !k.confirmed(), Survivors: k.survivors()}, cause
}

// confirmed tells whether the environment has said how the kernel ended, which it cannot when it is out
// of reach.
func (k *Kernel) confirmed() bool {
	select {
	case <-k.ended:
		return !errors.Is(k.failure, backend.ErrUnavailable) && !errors.Is(k.failure, backend.ErrNoExitStatus)
	default:
		return false
	}
}

// signalled sends sig and returns what the kernel says if its cell ends within the grace; nil if not,
// or if the kernel ends with it.
func (k *Kernel) signalled(ctx context.Context, sig backend.Signal, grace time.Duration) fields.Fields {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	_ = k.running.Signal(ctx, sig) // one that cannot be sent is not obeyed either
	select {
	case m := <-k.messages:
		return m
	case <-k.ended:
	case <-ctx.Done():
	}
	return nil
}
