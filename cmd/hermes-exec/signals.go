package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	hermes "github.com/hermes-exec/hermes-exec"
)

// interrupts returns a context that ends at the first SIGINT, SIGTERM or SIGHUP, and when stdout can
// no longer be written; the cause is an *hermes.Interrupt. The second signal calls kill, which may
// be nil. Stop ends the watch and waits for it.
func (a *app) interrupts(parent context.Context, kill func()) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, stopSignals()...)

	// Without a handler a write to a closed pipe would end the program before it has cleaned up.
	// (Ignoring the signal would be inherited by every process that is started.)
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	a.out.onBroken(func(error) { cancel(&hermes.Interrupt{Reason: "the output has no reader any more"}) })

	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		first := true
		for {
			select {
			case <-done:
				return
			case <-signals:
			}
			if first {
				cancel(&hermes.Interrupt{})
			} else if kill != nil {
				kill()
			}
			first = false
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(pipe)
		close(done)
		watch.Wait()
		cancel(nil)
	}
}

// stopSignals are the signals that end a run. SIGINT is taken even where it was ignored at the start
// (a shell does that for its background jobs), because whoever sends it means this program; an
// ignored SIGHUP is the wish of nohup.
func stopSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}
