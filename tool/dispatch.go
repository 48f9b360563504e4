package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hermes-exec/hermes-exec/transport"
)

// DefaultParallel is how many calls run at once where nothing else is said.
const DefaultParallel = 16

// freely is the size of a reply that nobody asks for, in bytes.
const freely = 1 << 20

// refusedError is a fixed wording that scripts match on.
type refusedError string

func (e refusedError) Error() string { return string(e) }

// ErrNoCell answers a call that comes while no cell runs, and is the cause with which the end of a
// cell cancels what it left running.
const ErrNoCell = refusedError("No active execute_code cell")

// Dispatcher is the one way from a call to a tool: it checks what the running cell may do, bounds
// how much runs at once, and counts. It serves one cell at a time, and no call between cells. It is
// safe for concurrent use.
type Dispatcher struct {
	slots chan struct{}
	log   *slog.Logger

	mu   sync.Mutex
	cell *cell // nil: none is active
}

var _ transport.Handler = (*Dispatcher)(nil)

// NewDispatcher returns a dispatcher that runs that many calls at once; 0 is DefaultParallel. It
// tells log, if that is not nil, of tools that panic.
func NewDispatcher(parallel int, log *slog.Logger) *Dispatcher {
	if parallel <= 0 {
		parallel = DefaultParallel
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Dispatcher{slots: make(chan struct{}, parallel), log: log}
}

// Grant is what one cell may do, and who watches it. The hooks are called one at a time, in the
// order of what happens and never after End has returned; they must not call the dispatcher.
type Grant struct {
	Tools    *Registry
	Env      *Env // where calls act; Dir is for those that do not send their own
	MaxCalls int  // the budget; 0 allows none
	Trace    bool // keep the list of calls

	// OnCall is told of every call that reaches a tool, numbered from 1.
	OnCall func(id int64, tool, argsPreview string)
	// OnResult is told of the end of every such call; err is nil on success.
	OnResult func(id int64, tool string, d time.Duration, err error)
}

// Begin lets the calls of a new cell in, with a fresh budget. Ctx is the life of the cell: its end
// cancels the calls, its deadline is theirs. It is an error if a cell is active.
func (d *Dispatcher) Begin(ctx context.Context, g Grant) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cell != nil {
		return errors.New("begin a cell: another one is active")
	}
	d.cell = newCell(ctx, g)
	return nil
}

// End lets no more calls in, cancels those that still run, waits for them until ctx ends, and
// returns what happened. Without an active cell it returns the zero Report.
func (d *Dispatcher) End(ctx context.Context) Report {
	d.mu.Lock()
	c := d.cell
	d.cell = nil
	d.mu.Unlock()
	if c == nil {
		return Report{}
	}
	return c.end(ctx)
}

// enter returns the active cell with the call counted in, or nil.
func (d *Dispatcher) enter() *cell {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cell != nil {
		d.cell.enter()
	}
	return d.cell
}

// Refuse counts a request that the transport turned away, as a call of the active cell. One without
// the token is nobody's call: whoever sent it is not known to be of the script.
func (d *Dispatcher) Refuse(reason error) {
	if errors.Is(reason, transport.ErrUnauthorized) {
		return
	}
	if c := d.enter(); c != nil {
		c.refuse("", nil, reason)
		c.leave()
	}
}

// Call is Handle for a program that calls a tool without a transport, which would have checked the
// arguments.
func (d *Dispatcher) Call(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	if err := checkJSON(args); err != nil {
		err = fmt.Errorf("%s: arguments are not valid JSON: %w", clip(name), err)
		d.Refuse(err)
		return nil, err
	}
	return d.Handle(ctx, &transport.Call{Tool: name, Args: args})
}

// Handle runs one call. The checks stand in the order of what they cost the script: the allow-list
// and the arguments cost nothing, and only what passes them takes from the budget.
func (d *Dispatcher) Handle(ctx context.Context, call *transport.Call) (json.RawMessage, error) {
	c := d.enter()
	if c == nil {
		return nil, ErrNoCell
	}
	defer c.leave()
	ctx, cancel := c.bind(ctx)
	defer cancel()

	name := Canonical(call.Tool)
	t, args, err := c.admit(call)
	if err == nil {
		err = c.reserve()
	}
	if err != nil {
		c.refuse(call.Tool, call.Args, err)
		return nil, err
	}
	if err := d.acquire(ctx); err != nil {
		c.giveBack()
		return nil, fmt.Errorf("%s: the call did not start: %w", clip(call.Tool), err)
	}
	defer func() { <-d.slots }()
	id := c.started(name, args)
	start := time.Now()
	result, err := d.protect(ctx, name, func() (json.RawMessage, error) {
		return t.Call(ctx, callEnv(c.Env, call), args)
	})
	c.finished(id, name, time.Since(start), err)
	return result, err
}

// acquire takes a slot, unless ctx ends first.
func (d *Dispatcher) acquire(ctx context.Context) error {
	select {
	case d.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ctx.Err() != nil { // both were possible
		<-d.slots
		return context.Cause(ctx)
	}
	return nil
}

// protect makes a panic of a tool an error of its call.
func (d *Dispatcher) protect(ctx context.Context, name string, call func() (json.RawMessage, error)) (result json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			d.log.ErrorContext(ctx, "tool panicked", "tool", name, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			result, err = nil, fmt.Errorf("%s failed inside: %v", name, v)
		}
	}()
	return call()
}

// callEnv is env as the caller sees it: in its own directory, where it sent one.
func callEnv(env *Env, call *transport.Call) *Env {
	var own Env
	if env != nil {
		own = *env
	}
	own.Admit = call.Admit
	switch dir := call.Dir; {
	case dir == "":
	case path.IsAbs(dir), filepath.IsAbs(dir):
		own.Dir = dir
	default:
		own.Dir = path.Join(own.Dir, dir)
	}
	return &own
}

// admit waits for room for the reply.
func (e *Env) admit(ctx context.Context, size int64) error {
	if e.Admit == nil || size <= freely {
		return nil
	}
	return e.Admit(ctx, size)
}

// blocked are the parameters of a tool that are taken out of a request: models know them from the
// tool that they call directly, and a script must not leave work behind or wait for a terminal.
func blocked(tool string) []string {
	if tool == "terminal" {
		return []string{"background", "pty", "check_interval", "notify_on_complete", "watch_patterns"}
	}
	return nil
}

func notAvailable(name string, r *Registry) error {
	return refusedError("Tool " + quote(name) + " is not available in execute_code. Available: " + list(r.Names()))
}

func overBudget(limit int) error {
	return refusedError(fmt.Sprintf("Tool call limit reached (%d). No more tool calls allowed in this execution.", limit))
}
