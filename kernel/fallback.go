package kernel

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// fallback runs cells in a kernel that it starts when there is none, and in a process of their own
// when none can be started.
type fallback struct {
	start   func(context.Context) (Executor, error)
	oneShot Executor

	turn chan struct{} // holds a token while a cell runs or a kernel starts

	mu   sync.Mutex
	live Executor // nil: none
	lost error    // why the last one is gone, until an outcome has told it; under turn
}

// WithFallback returns an executor that keeps a kernel, which start makes when it is needed. Where
// none can be started, and so nothing of the cell has run, the cell runs by oneShot and
// Outcome.Fallback says why; the next cell tries a kernel again. A kernel that was found dead is
// replaced, and the cell's Outcome.Lost says so. A cell whose kernel dies is never run a second time.
func WithFallback(start func(context.Context) (Executor, error), oneShot Executor) Executor {
	return &fallback{start: start, oneShot: oneShot, turn: make(chan struct{}, 1)}
}

// Exec implements Executor. Cells run one after another.
func (f *fallback) Exec(ctx context.Context, c Cell) (*Outcome, error) {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	o, err := f.exec(ctx, c)
	if o != nil {
		o.Lost, f.lost = f.lost, nil
	}
	if o != nil && o.Ended {
		f.drop(nil)
	}
	return o, err
}

// exec runs the cell in the kernel that lives, else in a new one, else alone.
func (f *fallback) exec(ctx context.Context, c Cell) (*Outcome, error) {
	if live := f.current(); live != nil {
		o, err := live.Exec(ctx, c)
		if !errors.Is(err, ErrDied) || o != nil {
			return o, err
		}
		f.drop(err) // it was dead already: the cell has not run
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	k, err := f.start(ctx)
	if err == nil {
		f.mu.Lock()
		f.live = k
		f.mu.Unlock()
		return k.Exec(ctx, c)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	reason := fmt.Sprintf("no kernel: %v", err)
	o, err := f.oneShot.Exec(ctx, c)
	if o == nil {
		return nil, &FallbackError{reason, err}
	}
	o.Fallback = reason
	return o, err
}

// FallbackError is why a cell did not start in a process of its own, which was to run it in place of
// a kernel.
type FallbackError struct {
	Fallback string // as in Outcome
	Err      error
}

// Error says why the process did not start.
func (e *FallbackError) Error() string { return e.Err.Error() }

// Unwrap returns that.
func (e *FallbackError) Unwrap() error { return e.Err }

func (f *fallback) current() Executor {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.live
}

// drop lets go of a kernel that is gone.
func (f *fallback) drop(why error) {
	f.mu.Lock()
	live := f.live
	f.live = nil
	f.mu.Unlock()
	f.lost = why
	if live != nil {
		_ = live.Close()
	}
}

// Close ends the kernel, also under a cell that runs.
func (f *fallback) Close() error {
	f.mu.Lock()
	live := f.live
	f.live = nil
	f.mu.Unlock()
	if live == nil {
		return f.oneShot.Close()
	}
	return errors.Join(live.Close(), f.oneShot.Close())
}
