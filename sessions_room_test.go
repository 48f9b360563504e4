//go:build unix

package hermes_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
)

// P137 P140 P158: the kernel that was least recently used goes, and a busy one never does.
func TestSessionsEviction(t *testing.T) {
	c := newCells(t, "local")
	c.options.Settings.MaxSessionKernels = 2
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	running := c.begin(ctx, "busy", sleeps)
	c.prints("b", "x = 1", "")
	c.prints("c", "x = 1", "")
	c.state(c.run("b", "1"), hermes.KernelState{Session: "b", ExecutionCount: 1, StateLost: true, Reason: hermes.LostEvicted})
	if c.pid("busy") == 0 || c.pid("b") == 0 || c.pid("c") != 0 {
		t.Errorf("%+v", c.set.List())
	}
	other := c.begin(ctx, "d", sleeps)
	third := c.begin(ctx, "e", sleeps) // beyond the cap, for all are busy
	if c.pid("busy") == 0 || c.pid("d") == 0 || c.pid("e") == 0 || c.pid("b") != 0 {
		t.Errorf("%+v", c.set.List())
	}
	end(nil)
	for _, r := range []*hermes.Result{<-running, <-other, <-third} {
		if r.Kernel.Reason != hermes.LostInterrupted {
			t.Errorf("%+v", r.Kernel)
		}
	}
}

// A kernel that had to be one too many, for all others were busy, lives on when its cell has ended. It
// is the next to go when another one is idle.
func TestSessionsOneTooMany(t *testing.T) {
	c := newCells(t, "local")
	c.options.Settings.MaxSessionKernels = 1
	running := c.begin(t.Context(), "busy", "print('on', flush=True)\nimport time\nwhile not __import__('os').path.exists('go'): time.sleep(.01)")
	c.prints("more", "x = 1", "")
	c.state(c.prints("more", "print(x)", "1\n"), hermes.KernelState{Session: "more", ExecutionCount: 2, Reused: true})
	if err := os.WriteFile(filepath.Join(c.options.Dir, "go"), nil, 0o600); err != nil { // when the other is idle
		t.Fatal(err)
	}
	if r := <-running; r.Status != hermes.Success || r.Kernel.Ended {
		t.Errorf("%s: %s, %+v", r.Status, r.Error, r.Kernel)
	}
	if c.pid("busy") == 0 || c.pid("more") != 0 {
		t.Errorf("%+v", c.set.List())
	}
	c.state(c.run("more", "1"), hermes.KernelState{Session: "more", ExecutionCount: 1, StateLost: true, Reason: hermes.LostEvicted})
}

// A caller who allows fewer kernels does not end what others keep.
func TestSessionsLimitsDiffer(t *testing.T) {
	c := newCells(t, "local")
	c.options.Settings.MaxSessionKernels = 3
	few := c.options
	few.Settings.MaxSessionKernels = 1
	c.prints("a", "x = 1", "")
	c.in(few, "b", "x = 1")
	c.in(few, "c", "x = 1")
	if c.pid("a") == 0 || c.pid("b") == 0 || c.pid("c") == 0 {
		t.Errorf("%+v", c.set.List())
	}
	c.in(few, "d", "x = 1")
	if c.pid("a") != 0 || c.pid("d") == 0 { // a is the least recently used, and took its limit along
		t.Errorf("%+v", c.set.List())
	}
	c.in(few, "d", "x = 1")
	if c.pid("b") != 0 || c.pid("c") != 0 || c.pid("d") == 0 {
		t.Errorf("%+v", c.set.List())
	}
}
