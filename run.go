package hermes

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/environ"
	"github.com/hermes-exec/hermes-exec/internal/output"
	"github.com/hermes-exec/hermes-exec/kernel"
	"github.com/hermes-exec/hermes-exec/tool"
	"github.com/hermes-exec/hermes-exec/transport"
)

// teardown bounds what happens after a script has ended.
const teardown = 10 * time.Second

// run is one run of a script.
type run struct {
	env     *Env
	script  Script
	source  source
	start   time.Time
	emitter *emitter

	meeting *meeting
	staging string
	dir     string          // where the script runs
	tools   backend.Backend // the environment as tools see it
	report  environ.Report  // of the script's variables
	secrets *output.Secrets
	kept    *kept // nil until the script may call
	calls   tool.Report

	session  *KernelState // nil outside a session
	terms    *terms       // of a cell, which has no environment yet
	outcome  *kernel.Outcome
	fallback string // why a cell ran, or was to run, without a kernel
	streams  []*stream
	stdout   *output.Capture
	stderr   *output.Capture

	artifacts []Artifact // nil: none are wanted
	drawnBy   string     // the backend of matplotlib's that has figures open in a kernel, in place of ours; "" if none has

	warnings []string
}

// Run runs one script to its end and always returns a result, whatever happened. The run ends early
// when ctx does: context.Cause(ctx) tells why, an *Interrupt carries its reason.
func (e *Env) Run(ctx context.Context, s Script) *Result {
	start := time.Now()
	r := &run{
		env: e, script: s, start: start, secrets: output.NewSecrets(e.secrets...),
		emitter: newEmitter(start, s.Events), warnings: e.Warnings(),
	}
	r.emitter.emit(Event{Type: EventStart})
	result := r.result(r.do(ctx))
	r.emitter.result(result)
	return result
}

// do runs the script. An error means that it did not end by itself.
func (r *run) do(ctx context.Context) (err error) {
	if r.source, err = readSource(r.script, r.env.options.Dir, r.env.Info().SameHost); err != nil {
		return err
	}
	r.warnings = append(r.warnings, shadowing(r.source.inPlace)...)
	leave, err := r.env.enter()
	if err != nil {
		return err
	}
	defer leave()
	limit := r.env.options.Settings.Timeout
	ctx, expire := context.WithTimeoutCause(ctx, limit, &timeoutError{limit})
	defer expire()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, r.emitter.end)()
	defer context.AfterFunc(r.env.life, func() { cancel(context.Cause(r.env.life)) })()
	if err = r.prepare(ctx); err == nil {
		err = r.serve(ctx, cancel)
	}
	if err == nil {
		return nil
	}
	err = ended(ctx, err)
	if kind := kindOf(err); kind == KindTransport || kind == KindBackend {
		err = ended(r.env.life, err) // a closed Env looks like a broken one to what it closes
	}
	return err
}

// prepare opens the way for tool calls and stages what the script needs.
func (r *run) prepare(ctx context.Context) (err error) {
	r.env.sweep()
	if err := r.openArtifacts(); err != nil {
		return err
	}
	if r.meeting, err = r.env.meet(ctx); err != nil {
		return err
	}
	token := r.meeting.Env()[transport.EnvToken]
	r.secrets = output.NewSecrets(append(slices.Clone(r.env.secrets), token)...)
	r.capture()
	r.staging = r.env.newStaging()
	r.dir = r.env.home(r.staging)
	return nil
}

// serve runs the script in a process of its own, with an endpoint for its calls.
func (r *run) serve(ctx context.Context, cancel context.CancelCauseFunc) error {
	e := r.env
	rpc, files := r.meeting.Env(), e.staged(r.staging)
	if r.artifacts != nil {
		rpc, files = joinedVars(rpc, r.own()), append(files, r.artifactsDir())
		if e.figures() {
			files = append(files, figuresFile(r.staging))
		}
	}
	vars, report := e.environ(r.staging, rpc)
	r.report = report
	r.warnings = append(r.warnings, report.Warnings...)
	for _, line := range report.Debug() {
		e.log.DebugContext(ctx, line)
	}
	defer e.leave(r.staging)
	left := &lingering{Backend: e.backend}
	r.tools = left
	d := tool.NewDispatcher(e.options.Settings.MaxParallelToolCalls, e.log)
	var serving sync.WaitGroup
	serving.Go(func() {
		// Only a broken link ends this before the end of the run does.
		if err := r.meeting.Serve(ctx, d); err != nil && errors.Is(err, backend.ErrUnavailable) {
			cancel(cutOff(err))
		}
	})
	executor := kernel.OneShot(e.backend, kernel.Process{Staging: r.staging, Files: files, Env: vars, Grace: e.options.Settings.KillGrace})
	err := r.exec(ctx, d, executor, vars, r.cell())
	left.end(ctx)
	late := &multierror.Error{ErrorFormat: joined}
	late = multierror.Append(late, r.meeting.Close())
	serving.Wait()
	late = multierror.Append(late, executor.Close())
	if failed := late.ErrorOrNil(); failed != nil {
		e.log.WarnContext(ctx, "end of a run", "error", failed)
	}
	return err
}

// exec runs a cell while its calls, which act with these variables, are answered. There is no outcome
// if it did not begin.
func (r *run) exec(ctx context.Context, d *tool.Dispatcher, x kernel.Executor, vars map[string]string, c kernel.Cell) error {
	if err := d.Begin(ctx, r.grant(vars)); err != nil {
		return err
	}
	var err error
	r.outcome, err = x.Exec(ctx, c)
	ending, stop := afterwards(ctx)
	defer stop()
	r.calls = d.End(ending)
	if r.outcome != nil && !gone(err) {
		r.collect(ctx)
	}
	for _, s := range r.streams {
		s.flush()
	}
	return err
}

// afterwards returns a context for what is to be done when ctx may have ended.
func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), teardown)
}

// cell is the script as an executor takes it.
func (r *run) cell() kernel.Cell {
	c := kernel.Cell{File: r.source.inPlace, Code: r.source.code, Args: r.script.Args, Stdin: r.script.Stdin, Dir: r.dir}
	c.Script = r.source.script(r.env.Info().SameHost)
	c.Stdout = r.sink(r.stdout, r.script.Stdout, EventStdout)
	c.Stderr = r.sink(r.stderr, r.script.Stderr, EventStderr)
	if !r.live() {
		out, err := r.stdout.Keep(), r.stderr.Keep()
		c.Keep = &backend.Keep{Head: max(out.Head, err.Head), Tail: max(out.Tail, err.Tail)}
	}
	return c
}

// live tells whether all output has to cross.
func (r *run) live() bool {
	return r.script.Stdout != nil || r.script.Stderr != nil || r.script.Stream && r.script.Events != nil
}

// capture makes what keeps the script's output.
func (r *run) capture() {
	s, cache := r.env.options.Settings, r.env.cache
	if r.script.Stdout != nil {
		cache = nil
	}
	r.stdout = output.NewCapture("OUTPUT", output.Limits{Inline: s.MaxStdout, Spill: s.MaxSpill}, r.secrets, cache)
	r.stderr = output.NewCapture("STDERR", output.Limits{Inline: s.MaxStderr}, r.secrets, nil)
}

// sink joins all that wants one output stream.
func (r *run) sink(c *output.Capture, w io.Writer, kind EventType) io.Writer {
	t := tee{c}
	if w != nil {
		t = append(t, &fragile{w: w})
	}
	if r.script.Stream && r.script.Events != nil {
		s := &stream{emitter: r.emitter, kind: kind, live: output.NewLive(r.secrets)}
		r.streams = append(r.streams, s)
		t = append(t, s)
	}
	return t
}

// grant is what the script's calls may do.
func (r *run) grant(vars map[string]string) tool.Grant {
	e, s := r.env, r.env.options.Settings
	r.kept = e.keep(r.script.Spills, r.secrets)
	return tool.Grant{
		Tools: e.tools, MaxCalls: s.MaxToolCalls, Trace: r.script.Trace,
		Env: e.toolEnv(r.tools, vars, r.dir, r.kept),
		OnCall: func(id int64, name, preview string) {
			r.emitter.emit(Event{Type: EventToolCall, ID: id, Tool: name, ArgsPreview: r.secrets.Mask(preview)})
		},
		OnResult: func(id int64, name string, d time.Duration, err error) {
			event := Event{Type: EventToolResult, ID: id, Tool: name, Duration: d.Seconds()}
			if err != nil {
				text := r.secrets.Mask(err.Error())
				event.Error = &text
			}
			r.emitter.emit(event)
		},
	}
}
