package hermes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-multierror"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/environ"
	"github.com/hermes-exec/hermes-exec/internal/output"
	"github.com/hermes-exec/hermes-exec/kernel"
	"github.com/hermes-exec/hermes-exec/tool"
	"github.com/hermes-exec/hermes-exec/transport"
)

// world is what a session has while it lives: an environment, an endpoint with the token of the
// session, and a kernel. Who uses it has the session's turn.
type world struct {
	log      *slog.Logger
	env      *Env
	identity identity
	spawn    spawn
	meeting  *meeting
	calls    *tool.Dispatcher
	staging  string
	vars     map[string]string // the environment of the kernel
	executor kernel.Executor
	kernel   atomic.Pointer[kernel.Kernel] // the one that was started last; nil: it is known to be gone

	secrets []string // of every caller so far: the kernel may hold what an earlier one passed

	wanted   map[string]string // what a kernel of the last caller would get
	wantedBy spawn             // who that is
	report   environ.Report    // of wanted

	stub    []byte       // hermes_tools.py as it lies in the staging directory
	figures bool         // so does hermes_figures.py
	stale   bool         // the kernel has not been told yet that it has changed
	asked   []config.Dir // the directories that the cell before would have liked
	dir     string       // the one that it got
	passed  []string     // warnings of those that were passed over
	serving sync.WaitGroup

	gone context.Context //nolint:containedctx // ended when calls can travel no more
	lose context.CancelCauseFunc
}

// openWorld opens the environment that o names.
func openWorld(ctx context.Context, o Options, log *slog.Logger) (*world, error) {
	e, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	w := &world{
		log: log, env: e, identity: identify(o, e.Info()), spawn: spawnOf(o),
		stub: e.stub, asked: directories(o, e.Info().SameHost), passed: e.passed,
		calls: tool.NewDispatcher(o.Settings.MaxParallelToolCalls, e.log),
	}
	w.gone, w.lose = context.WithCancelCause(context.Background())
	if err := w.meet(ctx); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// meet opens the way for calls and stages what the kernel needs.
func (w *world) meet(ctx context.Context) (err error) {
	if w.meeting, err = w.env.meet(ctx); err != nil {
		return err
	}
	if w.staging, err = w.env.stage(ctx); err != nil {
		return err
	}
	w.dir = w.env.home(w.staging)
	w.vars, _ = w.env.environ(w.staging, w.meeting.Env())
	process := kernel.Process{Staging: w.staging, Env: w.vars, Grace: w.env.options.Settings.KillGrace}
	w.executor = kernel.WithFallback(func(ctx context.Context) (kernel.Executor, error) {
		k, err := kernel.Start(ctx, w.env.backend, process)
		if err != nil {
			return nil, err // not k: a nil *Kernel is no nil Executor
		}
		w.kernel.Store(k)
		return k, nil
	}, kernel.OneShot(w.env.backend, process))
	w.serving.Go(func() {
		if err := w.meeting.Serve(w.gone, w.calls); err != nil {
			w.lose(cutOff(err))
		}
	})
	return nil
}

// living is the kernel that lives, or nil.
func (w *world) living() *kernel.Kernel {
	if k := w.kernel.Load(); k != nil && w.gone.Err() == nil {
		select {
		case <-k.Done():
		default:
			return k
		}
	}
	return nil
}

// loss is why the state is gone that was there after the last cell, "" if it is not.
func (w *world) loss() Loss {
	k := w.kernel.Load()
	switch {
	case w.gone.Err() != nil:
		return LostEnvironment
	case k == nil || w.living() != nil:
		return ""
	case gone(k.Err()):
		return LostEnvironment
	default:
		return LostDied
	}
}

// fits tells whether a cell of o may run here: the state is its own. Where there is none the
// environment has to be the caller's too.
func (w *world) fits(o Options) bool {
	return w.identity == identify(o, w.env.Info()) && (w.living() != nil || w.spawn.same(spawnOf(o)))
}

// run runs a cell in the first of its directories that is there, else in the session's. One that was
// asked for by name has to be there.
func (w *world) run(ctx context.Context, o Options, r *run) error {
	w.adopt(o, r)
	if err := w.restage(ctx, r.env.stub); err != nil {
		return err
	}
	asked := directories(o, w.env.Info().SameHost)
	if o.Settings.Mode == config.Strict || slices.Equal(asked, w.asked) {
		r.warnings = append(r.warnings, w.passed...)
		return w.exec(ctx, r, w.dir)
	}
	var passed []string
	for _, dir := range asked {
		err := w.exec(ctx, r, dir.Path)
		switch {
		case r.outcome != nil || !errors.Is(err, backend.ErrDir) && !errors.Is(err, fs.ErrNotExist):
			w.asked, w.dir, w.passed = asked, dir.Path, passed
			r.warnings = append(r.warnings, passed...)
			return err
		case dir.Origin == "":
			if !errors.Is(err, backend.ErrDir) { // which says so itself
				err = fmt.Errorf("working directory: %w", err)
			}
			return usageError{backend.Advise(err, "make it, or name another with --cwd")}
		}
		passed = append(passed, passedOver(dir))
	}
	w.asked, w.passed = asked, passed
	r.warnings = append(r.warnings, passed...)
	return w.exec(ctx, r, w.dir)
}

// adopt makes the cell one of this world, with the tools and limits of its own caller.
func (w *world) adopt(o Options, r *run) {
	e := newEnv(r.terms, w.env.environment)
	r.env, r.meeting, r.staging = e, w.meeting, w.staging
	for _, secret := range append(slices.Clone(e.secrets), w.meeting.Env()[transport.EnvToken]) {
		if !slices.Contains(w.secrets, secret) {
			w.secrets = append(w.secrets, secret)
		}
	}
	r.secrets = output.NewSecrets(w.secrets...)
	r.tools = e.backend // what they leave lives as long as the environment
	r.capture()
	w.want(e, o)
	r.report = w.report
	r.warnings = slices.Concat(e.Warnings(), r.report.Warnings, w.hidden(o))
}

// want finds the environment that a kernel of this caller would get, if the caller has changed.
func (w *world) want(e *Env, o Options) {
	is := spawnOf(o)
	if w.wanted != nil && w.wantedBy.same(is) {
		return
	}
	base := e.Info().Env
	if e.Info().SameHost {
		base = o.Environ
	}
	w.wanted, w.report = e.environFrom(base, w.staging, w.meeting.Env())
	w.wantedBy = is
}

// hidden warns of what the caller wants that the kernel, which lives already, cannot get any more.
func (w *world) hidden(o Options) []string {
	if w.living() == nil {
		return nil
	}
	s := o.Settings
	passthrough, set := s.Environment(o.Environ)
	var warnings, names []string
	for _, name := range slices.Concat(passthrough, slices.Sorted(maps.Keys(set))) {
		value, ok := w.wanted[name]
		if old, had := w.vars[name]; ok && (!had || old != value) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		warnings = append(warnings, "the environment of the session's Python is that of its start: "+
			strings.Join(names, ", ")+" will be seen after a reset (--reset)")
	}
	if s.Transport != "auto" && s.Transport != "" && s.Transport != w.meeting.name {
		warnings = append(warnings, "the session's tool calls travel by "+w.meeting.name+": "+s.Transport+
			" will be used after a reset (--reset)")
	}
	return warnings
}

// restage replaces the module of the tools if the set of them has changed.
func (w *world) restage(ctx context.Context, stub []byte) error {
	if bytes.Equal(stub, w.stub) {
		return nil
	}
	if err := w.env.backend.Put(ctx, path.Join(w.staging, stubName), bytes.NewReader(stub), 0o600); err != nil {
		return fmt.Errorf("stage %s: %w", stubName, err)
	}
	w.stub, w.stale = stub, true
	return nil
}

// exec runs a cell in a directory. The outcome is nil if it did not begin.
func (w *world) exec(ctx context.Context, r *run, dir string) error {
	if err := w.openArtifacts(ctx, r); err != nil {
		return err
	}
	r.dir = dir
	c := r.cell()
	c.ToolsChanged = w.stale
	c.Display, c.SoftInterrupt = r.script.Display, r.script.Soft
	c.Soft = r.env.options.Settings.OnTimeout == config.InterruptOnTimeout
	c.Env = r.own()
	err := r.exec(ctx, w.calls, w.executor, joinedVars(w.vars, c.Env), c)
	r.fallback = withoutKernel(r.outcome, err)
	if r.outcome != nil {
		w.stale = false
	}
	return err
}

// openArtifacts makes the directories for what a cell leaves, if it is wanted.
func (w *world) openArtifacts(ctx context.Context, r *run) error {
	if err := r.openArtifacts(); err != nil || r.artifacts == nil {
		return err
	}
	files := []backend.File{r.artifactsDir()}
	if r.env.figures() && !w.figures {
		files = append(files, figuresFile(w.staging))
	}
	for _, f := range files {
		if err := w.env.backend.Put(ctx, f.Name, bytes.NewReader(f.Data), f.Mode); err != nil {
			return fmt.Errorf("make the directory for artifacts: %w", err)
		}
	}
	w.figures = w.figures || r.env.figures()
	return nil
}

// withoutKernel is why a cell ran, or was to run, in a process of its own; "" if it was not.
func withoutKernel(o *kernel.Outcome, err error) string {
	if o != nil {
		return o.Fallback
	}
	if failed := (*kernel.FallbackError)(nil); errors.As(err, &failed) {
		return failed.Fallback
	}
	return ""
}

// kill ends the kernel at once, also under a cell.
func (w *world) kill() {
	if k := w.living(); k != nil {
		_ = k.Close()
	}
}

// close ends all of it.
func (w *world) close() {
	w.lose(net.ErrClosed)
	errs := &multierror.Error{ErrorFormat: joined}
	if w.executor != nil {
		errs = multierror.Append(errs, w.executor.Close())
	}
	if w.meeting != nil {
		errs = multierror.Append(errs, w.meeting.Close())
	}
	w.serving.Wait()
	errs = multierror.Append(errs, w.env.Close())
	if err := errs.ErrorOrNil(); err != nil {
		w.log.Warn("end of a session", "error", err)
	}
}
