package backend

import (
	"context"
	"errors"
	"time"
)

// Stop says how Run ends a process whose time is over.
type Stop struct {
	Signal Signal        // sent first; 0 is Terminate
	Grace  time.Duration // between that and Kill; 0 kills at once
}

// killWait bounds the wait for a killed process: one in uninterruptible sleep never ends, and the
// link to a remote one may be frozen.
const killWait = 10 * time.Second

// outputWait bounds the wait for the output of a process that was ended: its reader may have stalled,
// and the time is over.
const outputWait = time.Second

// Run starts cmd and waits for it. When ctx ends first, stop is asked (nil: kill at once) how to
// end the process, and the error is the cause of ctx. The process is returned even with an error,
// unless it did not start, so that the caller can ask what it printed.
func Run(ctx context.Context, s Starter, cmd Cmd, stop func(cause error) Stop) (Process, error) {
	p, err := s.Start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	err = p.Wait(ctx)
	if exit := (*ExitError)(nil); err == nil || errors.As(err, &exit) || ctx.Err() == nil {
		return p, err
	}
	cause := context.Cause(ctx)
	how := Stop{}
	if stop != nil {
		how = stop(cause)
	}
	end(context.WithoutCancel(ctx), p, how)
	return p, cause
}

// end signals, waits, kills and waits again, and waits for the output. Errors on the way say only
// that the process or its environment is gone already, which is what was wanted.
func end(ctx context.Context, p Process, how Stop) {
	sig := how.Signal
	if sig == 0 {
		sig = Terminate
	}
	if how.Grace <= 0 || !signalled(ctx, p, sig, how.Grace) {
		signalled(ctx, p, Kill, killWait)
	}
	written, cancel := context.WithTimeout(ctx, outputWait)
	defer cancel()
	_ = p.Wait(written)
}

// signalled sends sig and tells whether the process ended within the limit.
func signalled(ctx context.Context, p Process, sig Signal, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_ = p.Signal(ctx, sig)
	select {
	case <-p.Ended():
		return true
	case <-ctx.Done():
		return false
	}
}
