package main

import (
	"context"
	"errors"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend/all"
	"github.com/hermes-exec/hermes-exec/config"
)

// options are what package hermes is to know of this call. Progress is told of what takes time; nil:
// nobody is.
func (a *app) options(loaded *config.Loaded, progress func(text string)) hermes.Options {
	return hermes.Options{
		Settings: loaded.Settings,
		Warnings: loaded.Settings.Warnings,
		Environ:  a.environ,
		Dir:      a.dir,
		Openers: all.Openers(all.Host{
			Env: a.environ, Dir: a.dir, Log: a.log, Shared: &a.shared, Prompt: asker(), Progress: progress,
		}),
		Log: a.log,
	}
}

// execute runs a script and shows it. The first signal interrupts the run, which still ends with a
// result; the second kills it at once.
func (a *app) execute(ctx context.Context, o hermes.Options, s hermes.Script, out sink) error {
	out.attach(&s)
	var r *hermes.Result
	killed, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	ctx, stop := a.interrupts(ctx, kill)
	defer stop()
	err := a.withEnv(ctx, o, func(ctx context.Context, env *hermes.Env) error {
		defer context.AfterFunc(killed, func() { a.closeEnv(env) })()
		r = env.Run(ctx, s)
		return nil
	})
	if err != nil {
		r = hermes.Failed(err)
	}
	out.finish(r)
	a.logRun(r)
	return exitWith(r)
}

// logRun records how a run ended: nothing of what it ran or printed.
func (a *app) logRun(r *hermes.Result) {
	a.log.Info("run", "status", r.Status, "error_kind", r.ErrorKind, "exit_status", r.ExitStatus(),
		"seconds", float64(r.Duration), "backend", r.Backend, "transport", r.Transport,
		"tool_calls", r.ToolCallsMade, "refused", r.ToolCallsRefused)
}

// withEnv calls f with an environment that is open as long as f runs.
func (a *app) withEnv(ctx context.Context, o hermes.Options, f func(context.Context, *hermes.Env) error) error {
	if a.full != nil {
		return a.full
	}
	env, err := hermes.Open(ctx, o)
	if err != nil {
		return err
	}
	defer a.closeEnv(env)
	return f(ctx, env)
}

// closeEnv ends an environment. What could not be removed is no failure of the run, but not silent.
func (a *app) closeEnv(env *hermes.Env) {
	if err := env.Close(); err != nil && !errors.Is(err, context.Canceled) {
		a.log.Warn("close the environment", "error", err)
	}
}
