package scripttest

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// story is a list of cells and what becomes of each. It has sessions of its own.
type story struct {
	name  string
	cells []cell
}

// cell is one call. It finds the state that the cells before have left.
type cell struct {
	session string // "" is "s"
	code    string
	reset   bool
	change  func(o *hermes.Options) // of this cell alone; nil: none
	want    want

	state state
	check func(t *testing.T, r *hermes.Result)
}

// state is what a cell says of the session's state.
type state struct {
	lost  hermes.Loss // "": nothing was lost
	ended bool
}

// TestCells runs all stories and returns what their cells came to.
func TestCells(t *testing.T, c Config) Results {
	t.Helper()
	results := &collector{results: Results{}}
	t.Run("cells", func(t *testing.T) {
		for _, s := range stories() {
			t.Run(s.name, func(t *testing.T) { c.tell(t, s, results) })
		}
	})
	return results.results
}

// tell runs one story.
func (c Config) tell(t *testing.T, s story, results *collector) {
	t.Parallel()
	if why, lacks := c.Lacks[s.name]; lacks {
		t.Skip(why)
	}
	sessions := hermes.NewSessions(nil)
	testenv.CloseAfter(t, sessions)
	o := c.Options(t)
	o.Settings.Transport = c.Transport
	o.Settings.Timeout = time.Minute
	counts := map[string]int{}
	for i, cell := range s.cells {
		own := o
		if cell.change != nil {
			cell.change(&own)
		}
		ctx, cancel := context.WithTimeout(t.Context(), rowLimit)
		got := sessions.Run(ctx, cell.name(), own, hermes.Script{Code: []byte(cell.code), Trace: true}, cell.reset)
		cancel()
		at := fmt.Sprintf("%s, cell %d", s.name, i+1)
		check(t, row{name: at, want: cell.want, check: cell.check}, got)
		cell.checkState(t, at, counts, got)
		if got.Transport != hermes.Name(c.Transport) {
			t.Errorf("%s: transport %q", at, got.Transport)
		}
		results.keep(t, at, []string{cmp.Or(c.Dir, o.Dir), "DIR"}, got)
	}
}

func (c cell) name() string {
	if c.session == "" {
		return "s"
	}
	return c.session
}

// checkState compares what the result says of the state with what the story tells. Counts are the
// cells that each session's kernel has had.
func (c cell) checkState(t *testing.T, at string, counts map[string]int, r *hermes.Result) {
	t.Helper()
	if r.Execution != "kernel" || r.Kernel == nil {
		t.Fatalf("%s: execution %q, kernel %v", at, r.Execution, r.Kernel)
	}
	if c.reset || c.state.lost != "" && !c.state.ended {
		counts[c.name()] = 0
	}
	counts[c.name()]++
	want := hermes.KernelState{
		Session: c.name(), Reused: counts[c.name()] > 1, ExecutionCount: counts[c.name()], StateReset: c.reset,
		StateLost: c.state.lost != "", Ended: c.state.ended, Reason: c.state.lost,
	}
	if *r.Kernel != want {
		t.Errorf("%s: kernel %+v, want %+v", at, *r.Kernel, want)
	}
	if c.state.ended {
		counts[c.name()] = 0
	}
}

// keep keeps what a cell came to, without what differs from place to place.
func (c *collector) keep(t *testing.T, name string, neutral []string, r *hermes.Result) {
	t.Helper()
	plain := *r
	plain.Duration, plain.Backend, plain.Transport, plain.Fallback = 0, "", "", nil
	plain.ToolCalls = nil
	line, err := hermes.JSON(&plain)
	if err != nil {
		t.Error(err)
	}
	if r.StdoutSpillPath != "" {
		neutral = append(neutral, r.StdoutSpillPath, "spill")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results[name] = unrandom(strings.NewReplacer(neutral...).Replace(string(line)))
}
