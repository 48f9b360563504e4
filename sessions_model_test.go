//go:build unix

package hermes_test

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	hermes "github.com/hermes-exec/hermes-exec"
)

// model is what a session has to be like: a value, and what the next result has to say.
type model struct {
	alive bool
	value int // of x; 0: it is not defined
	count int
	lost  hermes.Loss // to be told by the next cell
	asked bool        // a reset is to be told by the next cell
}

// begin is a cell that runs: the kernel that it needs, and what it says of the state.
func (m *model) begin() hermes.KernelState {
	if !m.alive {
		*m = model{alive: true, lost: m.lost, asked: m.asked}
	}
	m.count++
	k := hermes.KernelState{
		Session: "a", Reused: m.count > 1, ExecutionCount: m.count,
		StateReset: m.asked, StateLost: m.lost != "", Reason: m.lost,
	}
	if m.asked && m.lost == "" {
		k.Reason = hermes.LostReset
	}
	m.lost, m.asked = "", false
	return k
}

// die is the end of the kernel in a cell that says k.
func (m *model) die(k hermes.KernelState, why hermes.Loss) hermes.KernelState {
	*m = model{lost: why}
	k.StateLost, k.Ended, k.Reason = true, true, why
	return k
}

// reset is a reset that was asked for.
func (m *model) reset() {
	lost := m.lost
	if m.alive {
		lost = hermes.LostReset
	}
	*m = model{lost: lost, asked: true}
}

// TestSessionsModel lets a session go through random cells and compares it with the model.
func TestSessionsModel(t *testing.T) {
	few(t, "5")
	o := options(t, "local")
	rapid.Check(t, func(t *rapid.T) {
		w := &walk{T: t, set: hermes.NewSessions(nil), options: o}
		defer func() { _ = w.set.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"set": w.define, "read": w.read, "raise": w.raise, "exit": w.exit, "die": w.die, "nothing": w.nothing,
			"time out": func(*rapid.T) { w.stopped(hermes.ErrTimeout(), false, hermes.Timeout, hermes.LostTimeout) },
			"interrupt": func(*rapid.T) {
				w.stopped(&hermes.Interrupt{}, false, hermes.Interrupted, hermes.LostInterrupted)
			},
			"soft": func(*rapid.T) { w.stopped(&hermes.Interrupt{Soft: true}, true, hermes.Interrupted, "") },
			"reset": func(*rapid.T) {
				if w.set.Reset("a") != w.known {
					w.Errorf("reset: known %v", w.known)
				}
				if w.known {
					w.model.reset()
				}
			},
			"reset with a cell": func(*rapid.T) {
				w.known = true
				w.model.reset()
				w.want(w.set.Run(t.Context(), "a", w.options, hermes.Script{Code: []byte("1")}, true), hermes.Success, "", w.model.begin())
			},
			"end": func(*rapid.T) {
				if w.set.End("a") != w.known {
					w.Errorf("end: known %v", w.known)
				}
				w.model, w.known = model{}, false
			},
			"": w.listed,
		})
	})
}

// few bounds the checks of rapid, whose default suits properties that start no processes.
func few(t *testing.T, n string) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if before := checks.Value.String(); before == checks.DefValue {
		if err := checks.Value.Set(n); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = checks.Value.Set(before) })
	}
}

// walk is one session next to its model.
type walk struct {
	*rapid.T
	set     *hermes.Sessions
	options hermes.Options
	model   model
	known   bool // there is a session
}

func (w *walk) run(code string) *hermes.Result {
	w.known = true
	return w.set.Run(w.Context(), "a", w.options, hermes.Script{Code: []byte(code)}, false)
}

func (w *walk) want(r *hermes.Result, status hermes.Status, output string, k hermes.KernelState) {
	w.Helper()
	if r.Status != status || status == hermes.Success && r.Output != output || *r.Kernel != k {
		w.Fatalf("%s %q %+v, want %s %q %+v: %s", r.Status, r.Output, *r.Kernel, status, output, k, r.Error)
	}
}

func (w *walk) define(t *rapid.T) {
	value := rapid.IntRange(1, 99).Draw(t, "x")
	k := w.model.begin()
	w.model.value = value
	w.want(w.run(fmt.Sprintf("x = %d", value)), hermes.Success, "", k)
}

func (w *walk) read(*rapid.T) {
	k := w.model.begin()
	w.want(w.run("print(globals().get('x', 0))"), hermes.Success, fmt.Sprintln(w.model.value), k)
}

func (w *walk) raise(*rapid.T) {
	k := w.model.begin()
	w.model.value = 100
	w.want(w.run("x = 100\n1 / 0"), hermes.Failure, "", k)
}

func (w *walk) exit(*rapid.T) {
	k := w.model.begin()
	w.want(w.run("raise SystemExit"), hermes.Success, "", k)
}

func (w *walk) nothing(*rapid.T) {
	r := w.run("")
	if r.ErrorKind != hermes.KindUsage {
		w.Fatalf("%s %s", r.ErrorKind, r.Error)
	}
	if want := (hermes.KernelState{Session: "a"}); *r.Kernel != want {
		w.Fatalf("kernel %+v: the cell did not begin", r.Kernel)
	}
	w.known = w.known && len(w.set.List()) > 0
}

func (w *walk) die(*rapid.T) {
	k := w.model.die(w.model.begin(), hermes.LostDied)
	w.want(w.run("import os; os._exit(0)"), hermes.Failure, "", k)
}

// stopped is a cell that cause ends.
func (w *walk) stopped(cause error, survives bool, status hermes.Status, why hermes.Loss) {
	k := w.model.begin()
	if !survives {
		k = w.model.die(k, why)
	}
	w.known = true
	ctx, cancel := context.WithCancelCause(w.Context())
	defer cancel(nil)
	printed := &onWrite{call: func() { cancel(cause) }}
	w.want(w.set.Run(ctx, "a", w.options, hermes.Script{Code: []byte(sleeps), Stdout: printed}, false), status, "", k)
}

// onWrite is a writer that calls something when it is first written to.
type onWrite struct {
	once sync.Once
	call func()
}

func (o *onWrite) Write(p []byte) (int, error) {
	o.once.Do(o.call)
	return len(p), nil
}

// listed compares what List says.
func (w *walk) listed(*rapid.T) {
	list := w.set.List()
	if len(list) > 1 || (len(list) == 1) != w.known || w.model.alive && w.set.Idle() || !w.known && !w.set.Idle() {
		w.Fatalf("%+v, model %+v", list, w.model)
	}
	for _, i := range list {
		if i.ExecutionCount != w.model.count || (i.PID != 0) != w.model.alive || i.Busy {
			w.Fatalf("%+v, model %+v", i, w.model)
		}
	}
}
