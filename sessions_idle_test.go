//go:build unix

package hermes_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
)

// hand is a clock that goes when it is told to.
type hand struct {
	mu     sync.Mutex
	now    time.Time
	timers []*timer
}

type timer struct {
	at   time.Time
	call func()
}

func (h *hand) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hand) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := &timer{h.now.Add(d), f}
	h.timers = append(h.timers, t)
	return func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		n := len(h.timers)
		h.timers = slices.DeleteFunc(h.timers, func(other *timer) bool { return other == t })
		return len(h.timers) < n
	}
}

// forward moves the clock and runs what is due.
func (h *hand) forward(d time.Duration) {
	h.mu.Lock()
	h.now = h.now.Add(d)
	var due []*timer
	h.timers = slices.DeleteFunc(h.timers, func(t *timer) bool {
		is := !t.at.After(h.now)
		if is {
			due = append(due, t)
		}
		return is
	})
	h.mu.Unlock()
	for _, t := range due {
		t.call()
	}
}

// B043 P141 P147 P148 P157: an idle kernel is ended without a new call; busy and fresh ones stay.
func TestSessionsIdle(t *testing.T) {
	c, clock := newCells(t, "local"), &hand{now: time.Unix(1e9, 0)}
	c.set.SetClock(clock)
	idle := c.options.Settings.KernelIdleTimeout
	c.prints("old", "x = 1", "")
	pid := c.pid("old")
	clock.forward(idle / 2)
	c.prints("fresh", "x = 1", "")
	running := c.begin(t.Context(), "busy", "print('on', flush=True)\nimport time\nwhile not __import__('os').path.exists('go'): time.sleep(.01)")
	clock.forward(idle / 2)
	gone(t, pid)
	if c.pid("old") != 0 || c.pid("fresh") == 0 || c.pid("busy") == 0 {
		t.Errorf("%+v", c.set.List())
	}
	if got := c.set.Losses(); len(got) != 1 || got["old"] != hermes.LostIdle {
		t.Errorf("%v", got)
	}
	clock.forward(10 * idle)
	if c.pid("fresh") != 0 || c.pid("busy") == 0 || c.set.Idle() {
		t.Errorf("%+v", c.set.List())
	}
	c.prints("other", "open('go', 'w')", "")
	if r := <-running; r.Status != hermes.Success {
		t.Errorf("%s: %s", r.Status, r.Error)
	}
	clock.forward(idle)
	if !c.set.Idle() {
		t.Errorf("%+v", c.set.List())
	}
	c.state(c.run("old", "1"), hermes.KernelState{Session: "old", ExecutionCount: 1, StateLost: true, Reason: hermes.LostIdle})
}

// A cell starts the time anew.
func TestSessionsIdleAnew(t *testing.T) {
	c, clock := newCells(t, "local"), &hand{now: time.Unix(1e9, 0)}
	c.set.SetClock(clock)
	idle := c.options.Settings.KernelIdleTimeout
	for range 3 {
		c.prints("a", "1", "")
		clock.forward(idle - time.Second)
	}
	if r := c.run("a", "1"); r.Kernel.ExecutionCount != 4 {
		t.Errorf("%+v", r.Kernel)
	}
}
