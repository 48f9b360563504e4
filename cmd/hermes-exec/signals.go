package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
)

// killWait is how long the second signal waits for the run to be killed, and for its result: the
// reader of that may have stalled.
const killWait = 2 * time.Second

// interrupts returns a context that ends at the first SIGINT, SIGTERM or SIGHUP, and when stdout can
// no longer be written; the cause is an *hermes.Interrupt. The second signal calls kill, which may
// be nil and must not block, and ends the program if nothing else soon does. Stop ends the watch and
// waits for it.
func (a *app) interrupts(parent context.Context, kill func()) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	if a.full != nil { // nothing will run that could be interrupted, and the watch takes threads
		return ctx, func() { cancel(nil) }
	}
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
		if !await(done, signals) {
			return
		}
		cancel(&hermes.Interrupt{})
		if !await(done, signals) {
			return
		}
		if kill != nil {
			kill()
		}
		select {
		case <-done:
		case <-time.After(killWait):
			if a.giveBack != nil {
				a.giveBack()
			}
			os.Exit(exitInterrupted) // what runs ends with this program
		}
	})
	return ctx, func() {
		if errors.As(context.Cause(ctx), new(*hermes.Interrupt)) {
			a.deafen()
		}
		signal.Stop(signals)
		signal.Stop(pipe)
		close(done)
		watch.Wait()
		cancel(nil)
	}
}

// deafen makes a program that was interrupted, and has done what there was to do, go on to its exit status:
// whoever asks once more asks for what is happening.
func (a *app) deafen() {
	a.deaf.Do(func() { signal.Notify(make(chan os.Signal, 1), stopSignals()...) })
}

// until returns a context that ends at the first of these signals, as one of interrupts does. Stop
// ends the watch and waits for it.
func until(parent context.Context, list []os.Signal) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, list...)
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		if await(done, signals) {
			cancel(&hermes.Interrupt{})
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		watch.Wait()
		cancel(nil)
	}
}

// await tells whether a signal came before done was closed.
func await(done <-chan struct{}, signals <-chan os.Signal) bool {
	select {
	case <-done:
		return false
	case <-signals:
		return true
	}
}

// quitTerminates makes SIGQUIT (Ctrl-\) mean SIGTERM, wherever the program is: a Go program would
// print its stacks and exit with 2, which is a usage error here.
func quitTerminates() {
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	go func() {
		for range quit {
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Signal(syscall.SIGTERM)
			}
		}
	}()
}

// stopSignals are the signals that end a run. SIGINT is taken even where it was ignored at the start
// (a shell does that for its background jobs), because whoever sends it means this program.
func stopSignals() []os.Signal { return append(endSignals(), os.Interrupt) }

// endSignals are those of them that mean the whole program and not what it does at the moment. An
// ignored SIGHUP is the wish of nohup.
func endSignals() []os.Signal {
	list := []os.Signal{syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}
