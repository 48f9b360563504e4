package kernel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/hermes-exec/hermes-exec/backend"
)

// ScriptName is the file that a cell's code is staged as.
const ScriptName = "script.py"

// oneShot runs each cell in a process of its own.
type oneShot struct {
	backend backend.Backend
	process Process
}

var _ Executor = (*oneShot)(nil)

// OneShot returns an executor that runs each cell in a fresh interpreter, the one of b's Info. When
// the context of Exec ends, the cell gets SIGINT if the cause is an *Interrupt, else SIGTERM, then a
// grace, then SIGKILL.
func OneShot(b backend.Backend, p Process) Executor {
	return &oneShot{backend: b, process: p}
}

// Exec implements Executor.
func (o *oneShot) Exec(ctx context.Context, c Cell) (*Outcome, error) {
	script, files := c.File, o.process.Files
	if script == "" {
		script = path.Join(o.process.Staging, ScriptName)
		files = append(slices.Clone(files), backend.File{Name: script, Data: c.Code, Mode: 0o600})
	}
	env := o.process.Env
	if len(c.Env) > 0 {
		env = make(map[string]string, len(o.process.Env)+len(c.Env)) // not a clone: that of nil is nil
		maps.Copy(env, o.process.Env)
		maps.Copy(env, c.Env)
	}
	p, err := backend.Run(ctx, o.backend, backend.Cmd{
		Args: append([]string{o.backend.Info().Python.Path, script}, c.Args...),
		Dir:  c.Dir, Env: env, Files: files,
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Keep: c.Keep,
	}, o.process.stop)
	if p == nil {
		return nil, ended(ctx, fmt.Errorf("start the script: %w", err))
	}
	return outcome(p, err)
}

// Close implements Executor: nothing is kept between cells.
func (o *oneShot) Close() error { return nil }

// ended is the cause of ctx if that is why err came.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return context.Cause(ctx)
	}
	return err
}

// outcome gathers how p ended. Why is what Run said.
func outcome(p backend.Process, why error) (*Outcome, error) {
	select {
	case <-p.Ended():
	default: // it could not be ended: there is nothing to ask it
		return &Outcome{}, why
	}
	o := &Outcome{Survivors: p.Survivors()}
	o.Stdout, o.Stderr = p.Output()
	status := p.Exit()
	o.Delivered = status == nil || errors.As(status, &o.Exit)
	if exit := (*backend.ExitError)(nil); errors.As(why, &exit) {
		why = nil
	}
	return o, why
}
