//go:build unix

package hermes_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// newSessions returns a set that is closed at the end of the test.
func newSessions(t *testing.T) *hermes.Sessions {
	t.Helper()
	s := hermes.NewSessions(nil)
	testenv.CloseAfter(t, s)
	return s
}

// cells runs cells of one set with one caller's options.
type cells struct {
	*testing.T
	set     *hermes.Sessions
	options hermes.Options
}

func newCells(t *testing.T, backendName string) *cells {
	t.Helper()
	return &cells{t, newSessions(t), options(t, backendName)}
}

// run runs a cell of a session, which has to come to its end within a minute.
func (c *cells) run(name, code string) *hermes.Result {
	c.Helper()
	return c.in(c.options, name, code)
}

func (c *cells) in(o hermes.Options, name, code string) *hermes.Result {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	return c.set.Run(ctx, name, o, hermes.Script{Code: []byte(code)}, false)
}

// prints runs a cell that succeeds.
func (c *cells) prints(name, code, output string) *hermes.Result {
	c.Helper()
	r := c.run(name, code)
	if r.Status != hermes.Success || r.Output != output {
		c.Errorf("%s: %q, %s, want %q\n%s", code, r.Output, r.Status, output, r.Error)
	}
	return r
}

// state checks what a result says of the state.
func (c *cells) state(r *hermes.Result, want hermes.KernelState) {
	c.Helper()
	if r.Kernel == nil || *r.Kernel != want {
		c.Errorf("kernel %+v, want %+v", r.Kernel, want)
	}
}

// pid is the kernel's.
func (c *cells) pid(name string) int {
	c.Helper()
	for _, i := range c.set.List() {
		if i.Name == name {
			return i.PID
		}
	}
	return 0
}

// begin runs a cell in the background and returns when it has printed.
func (c *cells) begin(ctx context.Context, name, code string) (result <-chan *hermes.Result) {
	c.Helper()
	done, printed := make(chan *hermes.Result, 1), newFirst()
	go func() {
		done <- c.set.Run(ctx, name, c.options, hermes.Script{Code: []byte(code), Stdout: printed}, false)
	}()
	select {
	case <-printed.seen:
	case r := <-done:
		c.Fatalf("%s: ended before it printed: %s %s", code, r.Status, r.Error)
	}
	return done
}

// first is a writer that tells when something was written to it.
type first struct {
	seen chan struct{}
	once sync.Once
}

func newFirst() *first { return &first{seen: make(chan struct{})} }

func (f *first) Write(p []byte) (int, error) {
	f.once.Do(func() { close(f.seen) })
	return len(p), nil
}

// number is what a cell has printed.
func (c *cells) number(r *hermes.Result) int {
	c.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(r.Output))
	if err != nil {
		c.Fatalf("%s %s", r.Output, r.Error)
	}
	return n
}

// process tells the state and the parent of a process; the state is "" if there is none.
func process(pid int) (state string, parent int) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(data), ") ")
	_, _ = fmt.Sscan(rest, &state, &parent)
	return state, parent
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	testenv.Eventually(t, fmt.Sprintf("process %d has ended", pid), func() bool {
		state, _ := process(pid)
		return state == "" || state == "Z"
	})
}

// kill ends a process at once.
func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

const (
	sleeps = "print('on', flush=True)\nimport time\ntime.sleep(600)"
	// orphan leaves a process in a session of its own.
	orphan = "import subprocess, sys\np = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\nprint(p.pid)"
)

// P152: a reset ends the kernel, and the next cell starts another.
func TestSessionsReset(t *testing.T) {
	c := newCells(t, "local")
	if c.set.Reset("a") {
		t.Error("there was a session")
	}
	c.prints("a", "x = 1", "")
	pid := c.pid("a")
	if !c.set.Reset("a") {
		t.Error("there was no session")
	}
	gone(t, pid)
	r := c.run("a", "print(x)")
	c.state(r, hermes.KernelState{Session: "a", ExecutionCount: 1, StateReset: true, StateLost: true, Reason: hermes.LostReset})
	c.state(c.run("a", "1"), hermes.KernelState{Session: "a", ExecutionCount: 2, Reused: true})
}

func TestSessionsResetDuringCell(t *testing.T) {
	c := newCells(t, "local")
	running := c.begin(t.Context(), "a", sleeps)
	c.set.Reset("a")
	r := <-running
	if r.Status != hermes.Interrupted || !strings.Contains(r.Output, "[execution interrupted — the session was reset]") {
		t.Errorf("%s: %q", r.Status, r.Output)
	}
	c.state(r, hermes.KernelState{Session: "a", ExecutionCount: 1, StateLost: true, Ended: true, Reason: hermes.LostReset})
	r = c.run("a", "1")
	c.state(r, hermes.KernelState{Session: "a", ExecutionCount: 1, StateReset: true, StateLost: true, Reason: hermes.LostReset})
}

// A reset, the end of a session and that of all do not wait for the grace of a cell that was
// interrupted before.
func TestSessionsEndDuringGrace(t *testing.T) {
	for name, end := range map[string]func(s *hermes.Sessions){
		"reset": func(s *hermes.Sessions) { s.Reset("a") },
		"end":   func(s *hermes.Sessions) { s.End("a") },
		"close": func(s *hermes.Sessions) { _ = s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCells(t, "local")
			c.options.Settings.KillGrace = time.Hour
			ctx, interrupt := context.WithCancelCause(t.Context())
			defer interrupt(nil)
			running := c.begin(ctx, "a", "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"+sleeps)
			pid := c.pid("a")
			interrupt(&hermes.Interrupt{})
			end(c.set)
			r := <-running
			if r.Status != hermes.Interrupted {
				t.Errorf("%s: %s", r.Status, r.Error)
			}
			c.state(r, hermes.KernelState{Session: "a", ExecutionCount: 1, StateLost: true, Ended: true, Reason: hermes.LostInterrupted})
			gone(t, pid)
		})
	}
}

// P138 P139 P156: the end of a session ends its processes, and no others, and the name is free.
func TestSessionsEnd(t *testing.T) {
	c := newCells(t, "local")
	c.prints("b", "x = 1", "")
	child := c.number(c.run("a", orphan))
	pid := c.pid("a")
	running := c.begin(t.Context(), "a", sleeps)
	if !c.set.End("a") || c.set.End("a") {
		t.Error("it was not ended once")
	}
	if r := <-running; r.Status != hermes.Interrupted {
		t.Errorf("%s: %s", r.Status, r.Error)
	}
	gone(t, pid)
	gone(t, child)
	c.state(c.prints("b", "print(x)", "1\n"), hermes.KernelState{Session: "b", Reused: true, ExecutionCount: 2})
	c.set.End("b")
	if list := c.set.List(); len(list) != 0 || !c.set.Idle() {
		t.Errorf("%+v", list)
	}
	c.state(c.run("a", "1"), hermes.KernelState{Session: "a", ExecutionCount: 1})
}

func TestSessionsClose(t *testing.T) {
	c := newCells(t, "local")
	running := c.begin(t.Context(), "a", sleeps)
	if err := c.set.Close(); err != nil {
		t.Error(err)
	}
	if r := <-running; r.Status != hermes.Interrupted || !strings.Contains(r.Error, "closed") {
		t.Errorf("%s: %s", r.Status, r.Error)
	}
	testenv.NoProcesses(t, c.options.Environ["HOME"])
	if r := c.run("a", "1"); r.Status != hermes.Failure || !strings.Contains(r.Error, "closed") {
		t.Errorf("%s: %s", r.Status, r.Error)
	}
}

// P142: cells that come at once share one kernel, and run one after another. B051: none is lost.
func TestSessionsTenFirstCells(t *testing.T) {
	c := newCells(t, "local")
	var all sync.WaitGroup
	results := make([]*hermes.Result, 10)
	for i := range results {
		all.Go(func() { results[i] = c.run("a", "import os\nn = globals().get('n', 0) + 1\nprint(n, os.getpid())") })
	}
	all.Wait()
	counts, pids := map[int]bool{}, map[string]bool{}
	for _, r := range results {
		n, pid, _ := strings.Cut(r.Output, " ")
		if n != strconv.Itoa(r.Kernel.ExecutionCount) {
			t.Errorf("cell %d printed %q: %s", r.Kernel.ExecutionCount, n, r.Error)
		}
		counts[r.Kernel.ExecutionCount], pids[pid] = true, true
	}
	if len(counts) != 10 || len(pids) != 1 {
		t.Errorf("%d counts, %d kernels", len(counts), len(pids))
	}
}

// The wait for the cell before counts against the timeout and can be ended; the session is none the
// worse.
func TestSessionsQueue(t *testing.T) {
	c := newCells(t, "local")
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	running := c.begin(ctx, "a", sleeps)

	o := c.options
	o.Settings.Timeout = 50 * time.Millisecond
	r := c.in(o, "a", "print('ran')")
	if r.Status != hermes.Timeout || r.Kernel.StateLost || !strings.Contains(r.Warning, "did not begin") || strings.Contains(r.Output, "ran") {
		t.Errorf("%s: %s %+v %s", r.Status, r.Output, r.Kernel, r.Warning)
	}
	waiting, cancel := context.WithCancelCause(t.Context())
	cancel(&hermes.Interrupt{Reason: "no more"})
	r = c.set.Run(waiting, "a", c.options, hermes.Script{Code: []byte("print('ran')")}, false)
	if r.Status != hermes.Interrupted || r.Kernel.StateLost || !strings.Contains(r.Output, "no more") {
		t.Errorf("%s: %s %+v", r.Status, r.Output, r.Kernel)
	}
	end(&hermes.Interrupt{})
	r = <-running
	c.state(r, hermes.KernelState{Session: "a", ExecutionCount: 1, StateLost: true, Ended: true, Reason: hermes.LostInterrupted})
	c.prints("a", "print('well')", "well\n")
}

// An interrupt that asks for it keeps the state, as does one with on_timeout: interrupt.
func TestSessionsSoftInterrupt(t *testing.T) {
	c := newCells(t, "local")
	c.prints("a", "x = 1", "")
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	running := c.begin(ctx, "a", sleeps)
	end(&hermes.Interrupt{Soft: true})
	r := <-running
	if r.Status != hermes.Interrupted {
		t.Errorf("%s: %s", r.Status, r.Error)
	}
	c.state(r, hermes.KernelState{Session: "a", ExecutionCount: 2, Reused: true})
	c.prints("a", "print(x)", "1\n")
}

// A script that asks for it keeps the state too when it is interrupted, but not when its time is over.
func TestSessionsSoftScript(t *testing.T) {
	c := newCells(t, "local")
	c.prints("a", "x = 1", "")
	started := make(chan struct{})
	soft := hermes.Script{Code: []byte("print('ready')\nimport time\ntime.sleep(600)"), Soft: true, Stream: true, Events: onReady(func() { close(started) })}
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	go func() {
		<-started
		end(&hermes.Interrupt{})
	}()
	r := c.set.Run(ctx, "a", c.options, soft, false)
	c.state(r, hermes.KernelState{Session: "a", ExecutionCount: 2, Reused: true})
	c.prints("a", "print(x)", "1\n")
	soft.Events = nil
	c.options.Settings.Timeout = 300 * time.Millisecond
	r = c.set.Run(t.Context(), "a", c.options, soft, false)
	c.state(r, hermes.KernelState{Session: "a", ExecutionCount: 4, Reused: true, StateLost: true, Ended: true, Reason: hermes.LostTimeout})
}

// B048 P139 P153: the kernel is killed in the middle of a cell, and between two.
func TestSessionsKernelKilled(t *testing.T) {
	for _, name := range []string{"local", "pipe"} {
		t.Run(name, func(t *testing.T) {
			c := newCells(t, name)
			child := c.number(c.run("a", orphan))
			running := c.begin(t.Context(), "a", sleeps)
			kill(t, c.pid("a"))
			r := <-running
			if r.Status != hermes.Failure || r.ErrorKind != hermes.KindSignal || r.ExitCode != nil {
				t.Errorf("%s %s: %s", r.Status, r.ErrorKind, r.Error)
			}
			c.state(r, hermes.KernelState{Session: "a", ExecutionCount: 2, Reused: true, StateLost: true, Ended: true, Reason: hermes.LostDied})
			gone(t, child)
			c.state(c.prints("a", "print('well')", "well\n"), hermes.KernelState{Session: "a", ExecutionCount: 1, StateLost: true, Reason: hermes.LostDied})

			pid := c.pid("a")
			kill(t, pid)
			testenv.Eventually(t, "the end is known", func() bool { return c.pid("a") == 0 })
			r = c.prints("a", "print('well')", "well\n")
			c.state(r, hermes.KernelState{Session: "a", ExecutionCount: 1, StateLost: true, Reason: hermes.LostDied})
			if r.Warning != "the state of earlier cells is gone: the session's Python process died" {
				t.Error(r.Warning)
			}
			c.state(c.run("a", "1"), hermes.KernelState{Session: "a", ExecutionCount: 2, Reused: true})
		})
	}
}

// The agent is killed in the middle of a cell, and between two.
func TestSessionsAgentKilled(t *testing.T) {
	for _, name := range []string{"local", "pipe"} {
		for _, transport := range []string{"uds", "file"} {
			t.Run(name+"/"+transport, func(t *testing.T) {
				c := newCells(t, name)
				c.options.Settings.Transport = transport
				child := c.number(c.run("a", orphan))
				running := c.begin(t.Context(), "a", sleeps)
				pid := c.pid("a")
				kill(t, agentOf(pid))
				r := <-running
				if r.Status != hermes.Failure || r.ErrorKind != hermes.KindTransport || r.ExitCode != nil {
					t.Errorf("%s %s: %s", r.Status, r.ErrorKind, r.Error)
				}
				c.state(r, hermes.KernelState{Session: "a", ExecutionCount: 2, Reused: true, StateLost: true, Ended: true, Reason: hermes.LostEnvironment})
				gone(t, pid)
				gone(t, child)
				c.state(c.prints("a", "print('well')", "well\n"), hermes.KernelState{Session: "a", ExecutionCount: 1, StateLost: true, Reason: hermes.LostEnvironment})

				pid = c.pid("a")
				kill(t, agentOf(pid))
				gone(t, pid)
				testenv.Eventually(t, "the end is known", func() bool { return c.pid("a") == 0 })
				r = c.prints("a", "print('well')", "well\n")
				c.state(r, hermes.KernelState{Session: "a", ExecutionCount: 1, StateLost: true, Reason: hermes.LostEnvironment})
			})
		}
	}
}

// agentOf is the process above the supervisor of a kernel.
func agentOf(pid int) int {
	_, supervisor := process(pid)
	_, agent := process(supervisor)
	return agent
}

// Lose and Losses carry what no result has told from one process to the next.
func TestSessionsLosses(t *testing.T) {
	c := newCells(t, "local")
	c.set.Lose("a", hermes.LostServer)
	if got := c.set.Losses(); len(got) != 1 || got["a"] != hermes.LostServer {
		t.Errorf("%v", got)
	}
	c.state(c.run("a", "1"), hermes.KernelState{Session: "a", ExecutionCount: 1, StateLost: true, Reason: hermes.LostServer})
	c.set.Lose("a", hermes.LostServer) // it has a kernel here
	c.state(c.run("a", "1"), hermes.KernelState{Session: "a", ExecutionCount: 2, Reused: true})
	if got := c.set.Losses(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// Whoever closes sessions that somebody else is closing waits as long.
func TestSessionsClosedTwice(t *testing.T) {
	c := newCells(t, "local")
	if got := c.run("a", "x = 1"); got.Status != hermes.Success {
		t.Fatalf("%+v", got)
	}
	pid := c.set.List()[0].PID
	var closing sync.WaitGroup
	for range 4 {
		closing.Go(func() {
			if err := c.set.Close(); err != nil || syscall.Kill(pid, 0) == nil {
				t.Errorf("the kernel %d is there: %v", pid, err)
			}
		})
	}
	closing.Wait()
}
