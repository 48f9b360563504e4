package tool

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/hermes-exec/hermes-exec/transport"
)

// Report is what the calls of one cell came to.
type Report struct {
	Made       int64 // calls that reached a tool
	Refused    int64 // calls that were turned away, for whatever reason
	OverBudget int64 // those of Refused that the budget turned away

	// Refusal is why the first of the other calls of Refused was turned away, "" if there was none.
	Refusal string

	// LastError is the text of the last error value that the script got, "" if there was none.
	LastError string

	// Trace has every call that was made and the first refused ones, in the order in which they
	// started; nil without Grant.Trace.
	Trace []Entry
}

// Entry is one call of a trace.
type Entry struct {
	Tool        string  `json:"tool"`
	ArgsPreview string  `json:"args_preview"` // at most 80 characters
	Duration    float64 `json:"duration_seconds"`
	Error       *string `json:"error"` // nil on success
}

// maxRefusedTrace bounds the refused calls in a trace: the budget bounds only those that are made.
const maxRefusedTrace = 50

// errUnfinished stands in the trace for a call that did not heed its end.
const errUnfinished = refusedError("the call was still running when its cell ended")

// cell is the running cell: its grant, and what happened so far.
type cell struct {
	Grant

	// bind ties the context of a call to the life of the cell.
	bind func(context.Context) (context.Context, context.CancelFunc)
	stop context.CancelCauseFunc

	mu      sync.Mutex // held while hooks run, which makes their order that of the ids
	taken   int        // of the budget
	entries map[int64]int
	report  Report
	active  int           // calls inside Handle
	ended   bool          // End was called
	idle    chan struct{} // closed when it was and no call is inside
	closed  bool          // End has returned
}

func newCell(ctx context.Context, g Grant) *cell {
	if g.Tools == nil {
		g.Tools = &Registry{}
	}
	ctx, stop := context.WithCancelCause(ctx)
	return &cell{
		Grant:   g,
		bind:    func(call context.Context) (context.Context, context.CancelFunc) { return bind(call, ctx) },
		stop:    stop,
		entries: map[int64]int{},
		idle:    make(chan struct{}),
	}
}

// bind returns a context that ends when call or cell does, with the cause of that, and has the
// earlier deadline of both.
func bind(call, cell context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(call)
	unhook := context.AfterFunc(cell, func() { cancel(context.Cause(cell)) })
	free := func() {
		unhook()
		cancel(context.Canceled)
	}
	deadline, ok := cell.Deadline()
	if own, has := call.Deadline(); !ok || has && !own.After(deadline) {
		return ctx, free
	}
	ctx, expire := context.WithDeadline(ctx, deadline)
	return ctx, func() {
		expire()
		free()
	}
}

func (c *cell) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active++
}

func (c *cell) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active--
	if c.ended && c.active == 0 {
		close(c.idle)
	}
}

// end is called once, after the last enter.
func (c *cell) end(ctx context.Context) Report {
	c.stop(ErrNoCell)
	c.mu.Lock()
	c.ended = true
	if c.active == 0 {
		close(c.idle)
	}
	c.mu.Unlock()
	select {
	case <-c.idle:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, i := range c.entries {
		c.report.Trace[i].Error = errorText(errUnfinished)
	}
	return c.report
}

// admit finds the tool of a call and checks its arguments.
func (c *cell) admit(call *transport.Call) (Tool, json.RawMessage, error) {
	i, ok := c.Tools.find(call.Tool)
	if !ok {
		return nil, nil, notAvailable(call.Tool, c.Tools)
	}
	spec := c.Tools.specs[i]
	args, err := validate(spec, call.Args, blocked(spec.Name))
	if err != nil {
		return nil, nil, err
	}
	if t, ok := c.Tools.tools[i].(ArgsChecker); ok {
		if err := t.CheckArgs(args); err != nil {
			return nil, nil, err
		}
	}
	return c.Tools.tools[i], args, nil
}

// reserve takes one call from the budget.
func (c *cell) reserve() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken >= c.MaxCalls {
		c.report.OverBudget++
		return overBudget(c.MaxCalls)
	}
	c.taken++
	return nil
}

// giveBack undoes reserve for a call that reached no tool.
func (c *cell) giveBack() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken--
}

// refuse counts a call that was turned away.
func (c *cell) refuse(tool string, args json.RawMessage, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.report.Refused++
	c.report.LastError = why.Error()
	if c.report.Refusal == "" && !errors.Is(why, overBudget(c.MaxCalls)) {
		c.report.Refusal = why.Error()
	}
	if c.Trace && c.report.Refused <= maxRefusedTrace {
		c.report.Trace = append(c.report.Trace, Entry{Tool: clip(tool), ArgsPreview: preview(args), Error: errorText(why)})
	}
}

// started counts a call that reaches its tool, and numbers it.
func (c *cell) started(tool string, args json.RawMessage) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Made++
	id := c.report.Made
	if c.closed || !c.Trace && c.OnCall == nil {
		return id
	}
	text := preview(args)
	if c.Trace {
		c.entries[id] = len(c.report.Trace)
		c.report.Trace = append(c.report.Trace, Entry{Tool: tool, ArgsPreview: text})
	}
	if c.OnCall != nil {
		c.OnCall(id, tool, text)
	}
	return id
}

// finished tells of the end of a call.
func (c *cell) finished(id int64, tool string, d time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if i, ok := c.entries[id]; ok {
		c.report.Trace[i].Duration = d.Seconds()
		c.report.Trace[i].Error = errorText(err)
		delete(c.entries, id)
	}
	if err != nil {
		c.report.LastError = err.Error()
	}
	if c.OnResult != nil {
		c.OnResult(id, tool, d, err)
	}
}

func errorText(err error) *string {
	if err == nil {
		return nil
	}
	text := err.Error()
	return &text
}
