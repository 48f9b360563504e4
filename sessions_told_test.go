//go:build unix

package hermes_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend"
)

// blocked is a way to an environment that opens no more: who waits for it is interrupted.
func blocked(interrupt context.CancelCauseFunc) backend.Opener {
	return func(ctx context.Context, _ *url.URL) (backend.Backend, error) {
		interrupt(&hermes.Interrupt{})
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
}

// A cell that did not begin says nothing of what was lost or reset before, and leaves it to the next.
func TestSessionsNotBegunTellsNothing(t *testing.T) {
	for name, test := range map[string]struct {
		reset bool
		want  hermes.KernelState
	}{
		"lost":      {false, hermes.KernelState{Session: "a", ExecutionCount: 1, StateLost: true, Reason: hermes.LostDied}},
		"and reset": {true, hermes.KernelState{Session: "a", ExecutionCount: 1, StateLost: true, StateReset: true, Reason: hermes.LostDied}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCells(t, "local")
			c.run("a", "import os; os._exit(5)")
			for range 2 {
				ctx, interrupt := context.WithCancelCause(t.Context())
				o := c.options
				o.Settings.Backend = "blocked"
				o.Openers = map[string]backend.Opener{"blocked": blocked(interrupt)}
				r := c.set.Run(ctx, "a", o, hermes.Script{Code: []byte("1")}, test.reset)
				c.state(r, hermes.KernelState{Session: "a"})
				if r.Status != hermes.Interrupted || !strings.Contains(r.Warning, "did not begin") || strings.Contains(r.Warning, "state") {
					t.Errorf("%s: %q", r.Status, r.Warning)
				}
			}
			c.state(c.prints("a", "print(2)", "2\n"), test.want)
		})
	}
}

// A name whose environment could not be opened is none.
func TestSessionsNeverOpened(t *testing.T) {
	c := newCells(t, "local")
	o := c.options
	o.Settings.Python = "/nowhere/python3"
	r := c.in(o, "a", "1")
	c.state(r, hermes.KernelState{Session: "a"})
	if r.ErrorKind != hermes.KindPython {
		t.Errorf("%s: %s", r.ErrorKind, r.Error)
	}
	if list := c.set.List(); len(list) != 0 || c.set.Reset("a") || c.set.End("a") {
		t.Errorf("%+v", list)
	}
	c.set.Lose("a", hermes.LostServer) // what a server before this one has kept is not forgotten
	c.in(o, "a", "1")
	c.state(c.prints("a", "print(1)", "1\n"), hermes.KernelState{Session: "a", ExecutionCount: 1, StateLost: true, Reason: hermes.LostServer})
}

// The list says where a session was whose state is gone.
func TestSessionsListAfterTheEnd(t *testing.T) {
	c := newCells(t, "local")
	c.options.Settings.MaxSessionKernels = 1
	c.prints("a", "x = 1", "")
	before := c.set.List()[0]
	for name, end := range map[string]func(){
		"died":    func() { c.run("a", "import os; os._exit(5)") },
		"reset":   func() { c.set.Reset("a") },
		"evicted": func() { c.prints("b", "1", "") },
	} {
		c.prints("a", "1", "")
		end()
		i := c.set.List()[0]
		if i.Name != "a" || i.PID != 0 || i.Backend != "local" || i.Backend != before.Backend || i.Target != before.Target {
			t.Errorf("%s: %+v, before %+v", name, i, before)
		}
	}
}
