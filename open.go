package hermes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/environ"
	"github.com/hermes-exec/hermes-exec/internal/output"
	"github.com/hermes-exec/hermes-exec/tool"
	"github.com/hermes-exec/hermes-exec/transport"
)

// Env is an opened environment with its transport. It is safe for concurrent use.
type Env struct {
	*terms
	*environment

	passed  []string // warnings of directories that were passed over
	secrets []string // the values that no result may show
}

// terms are what a caller brings along.
type terms struct {
	*toolset

	options Options
	log     *slog.Logger
	cache   *output.Cache // nil: there is no place for one
}

// environment is what was opened. That of a session serves one caller after another, each on terms of
// its own.
type environment struct {
	backend backend.Backend
	files   *tool.Files

	life   context.Context //nolint:containedctx // the life of the environment itself, ended by Close
	end    context.CancelCauseFunc
	once   sync.Once
	closed error

	mu         sync.Mutex
	over       bool // Close was called: no run may begin
	runs       sync.WaitGroup
	ready      *meeting              // what Open has proved, for the first run
	transports []transport.Transport // to try, the one that worked last first
	fallback   []Fallback            // how it came to that one
	stale      []string              // staging directories of runs that are over
}

// Open proves the environment that o.Settings name: a Python 3.8 or newer, a writable scratch, and
// a transport. Failed turns its error into a Result.
func Open(ctx context.Context, o Options) (*Env, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.Settings.Timeout, &timeoutError{o.Settings.Timeout})
	defer cancel()
	e, err := open(ctx, o)
	if err != nil {
		return nil, ended(ctx, err)
	}
	return e, nil
}

func open(ctx context.Context, o Options) (*Env, error) {
	t, err := newToolset(o)
	if err != nil {
		return nil, err
	}
	b, passed, err := openBackend(ctx, o)
	if err != nil {
		return nil, err
	}
	x := &environment{backend: b}
	x.life, x.end = context.WithCancelCause(context.WithoutCancel(ctx))
	e := newEnv(newTerms(o, t), x)
	e.passed = passed
	vars, _ := e.environ("", nil)
	e.files = tool.NewFiles(b, vars)
	e.transports = transports(o.Settings, b.Info(), e.log)
	if e.ready, err = e.meet(ctx); err != nil {
		_ = e.Close() // the first error is the one to tell
		return nil, err
	}
	return e, nil
}

func newTerms(o Options, set *toolset) *terms {
	t := &terms{toolset: set, options: o, log: o.Log}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	if o.Settings.Home != "" {
		t.cache = output.NewCache(o.Settings.Home)
	}
	return t
}

// newEnv is an environment on these terms.
func newEnv(t *terms, x *environment) *Env {
	return &Env{terms: t, environment: x, secrets: secrets(t.options, x.backend.Info())}
}

// secrets are the values that no result may show.
func secrets(o Options, info backend.Info) []string {
	if !o.Settings.RedactSecrets {
		return nil
	}
	kept := func(name string) bool { return environ.Kept(name, info.OS) }
	return slices.Concat(config.Secrets(o.Settings, o.Environ, kept), config.Secrets(o.Settings, info.Env, kept))
}

// openBackend opens the environment in the directory that the settings ask for, or in the first of
// those that they would like which exists. Those that do not are told as warnings.
func openBackend(ctx context.Context, o Options) (b backend.Backend, warnings []string, err error) {
	opener, ok := o.Openers[o.Settings.Backend]
	if !ok {
		return nil, nil, usageError{fmt.Errorf("unknown backend %q: there are %s", o.Settings.Backend, names(o.Openers))}
	}
	for _, dir := range directories(o, false) {
		b, err = opener(ctx, o.Settings.Target(dir.Path))
		switch {
		case err == nil:
			return b, warnings, nil
		case errors.Is(err, backend.ErrSetting):
			return nil, nil, usageError{err}
		case !errors.Is(err, backend.ErrDir):
			return nil, nil, err
		case o.Settings.Cwd != "":
			return nil, nil, usageError{backend.Advise(err, "make it, or name another with --cwd")}
		}
		warnings = append(warnings, passedOver(dir))
	}
	return nil, nil, usageError{backend.Advise(err, "change to one that can be used, or name it with --cwd")}
}

// passedOver warns of a directory that is not there.
func passedOver(dir config.Dir) string {
	return fmt.Sprintf("the working directory %s (%s) does not exist and was passed over", dir.Path, dir.Origin)
}

// Info returns facts about the environment.
func (e *Env) Info() backend.Info { return e.backend.Info() }

// Examine finds out what else there is to know of the environment, as Info().Notes has it.
func (e *Env) Examine(ctx context.Context) []string { return e.backend.Examine(ctx) }

// Tools returns the tools that scripts get.
func (e *Env) Tools() *tool.Registry { return e.tools }

// Stub returns the source of hermes_tools.py as scripts get it.
func (e *Env) Stub() []byte { return slices.Clone(e.stub) }

// Warnings returns what every result warns of.
func (e *Env) Warnings() []string {
	return slices.Concat(e.options.Warnings, e.unknown, e.passed, e.Info().Warnings)
}

// Call calls one tool as a script would, with the same checks.
func (e *Env) Call(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	leave, err := e.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	limit := e.options.Settings.Timeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &timeoutError{limit})
	defer cancel()
	vars, _ := e.environ("", nil)
	left := &lingering{Backend: e.backend}
	defer left.end(ctx)
	d := tool.NewDispatcher(1, e.log)
	if err := d.Begin(ctx, tool.Grant{Tools: e.tools, Env: e.toolEnv(left, vars, e.Info().Dir, e.keep(nil, output.NewSecrets(e.secrets...))), MaxCalls: 1}); err != nil {
		return nil, err
	}
	defer func() {
		ending, stop := afterwards(ctx)
		defer stop()
		d.End(ending)
	}()
	return d.Call(ctx, name, args)
}

// enter counts a run in, until leave is called.
func (e *Env) enter() (leave func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return nil, fmt.Errorf("run in %s: %w", e.Info().Name, net.ErrClosed)
	}
	e.runs.Add(1)
	return e.runs.Done, nil
}

// Close ends what runs, at once, and removes what Open made. It returns when all runs have. It is
// idempotent.
func (e *Env) Close() error {
	e.once.Do(func() { e.closed = e.shut() })
	return e.closed
}

func (e *Env) shut() error {
	e.mu.Lock()
	e.over = true
	ready := e.ready
	e.ready = nil
	e.mu.Unlock()
	e.end(&Interrupt{Reason: "the environment was closed", Kill: true})

	errs := &multierror.Error{ErrorFormat: joined}
	if ready != nil {
		errs = multierror.Append(errs, ready.Close())
	}
	errs = multierror.Append(errs, e.backend.Close(), e.files.Close())
	e.runs.Wait()
	return errs.ErrorOrNil()
}

// timeoutError is the cause of a context whose time is over.
type timeoutError struct{ limit time.Duration }

// Error is the beginning of a fixed wording that programs match on.
func (e *timeoutError) Error() string {
	return fmt.Sprintf("Script timed out after %ss", seconds(e.limit))
}
