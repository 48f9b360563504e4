package hermes_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// Where the environment can start nothing more, a cell has neither a kernel nor a process of its own.
// Its result says what was tried and which limit there is, and the session goes on when that has
// passed.
func TestSessionsExhausted(t *testing.T) {
	for _, tt := range []struct {
		name, limit string
		refuse      func(t testing.TB, pid int) (allow func())
	}{
		{"processes", "ulimit -u", testenv.NoMoreProcesses},
		{"open files", "ulimit -n", noMoreFiles},
	} {
		for _, name := range []string{"local", "pipe"} {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				c := newCells(t, name)
				c.options.Limits = "whose they are"
				c.prints("a", "x = 1", "")
				pid := c.pid("a")
				allow := sync.OnceFunc(tt.refuse(t, agentOf(pid)))
				defer allow()
				kill(t, pid)
				testenv.Eventually(t, "the end is known", func() bool { return c.pid("a") == 0 })
				for range 2 {
					r := c.run("a", "print(1)")
					if r.Status != hermes.Failure || r.ErrorKind != hermes.KindBackend || r.ExitStatus() != 125 || r.Execution != "" {
						t.Errorf("%s %s %d %q", r.Status, r.ErrorKind, r.ExitStatus(), r.Execution)
					}
					if !strings.Contains(r.Error, "start the script") || !strings.Contains(r.Error, tt.limit) {
						t.Errorf("error %q", r.Error)
					}
					if r.Hint != c.options.Limits {
						t.Errorf("hint %q", r.Hint)
					}
					if len(r.Fallback) != 1 || r.Fallback[0].From != "kernel" || !strings.Contains(r.Fallback[0].Reason, tt.limit) {
						t.Errorf("fallback %+v", r.Fallback)
					}
					// No cell has begun that could tell of the loss: the next one does.
					c.state(r, hermes.KernelState{Session: "a"})
				}
				allow()
				r := c.prints("a", "print(2)", "2\n")
				c.state(r, hermes.KernelState{Session: "a", ExecutionCount: 1, StateLost: true, Reason: hermes.LostDied})
			})
		}
	}
}

// Where hermes-exec itself can start nothing more, no interpreter is to blame.
func TestOpenExhausted(t *testing.T) {
	o := options(t, "local")
	o.Settings.Python = "" // so that there are others
	o.Limits = "whose they are"
	s := hermes.NewSessions(nil)
	testenv.CloseAfter(t, s)
	allow := noMoreFiles(t, os.Getpid())
	_, err := hermes.Open(t.Context(), o)
	cell := s.Run(t.Context(), "a", o, hermes.Script{Code: []byte("print(1)")}, false)
	allow()
	if cell.ErrorKind != hermes.KindBackend || cell.Hint != o.Limits {
		t.Errorf("cell %+v", cell)
	}
	r := hermes.Failed(err)
	if r.ErrorKind != hermes.KindBackend || r.ExitStatus() != 125 {
		t.Errorf("%s %d", r.ErrorKind, r.ExitStatus())
	}
	if !strings.Contains(r.Error, "ulimit -n") || strings.Contains(r.Error, "install") {
		t.Errorf("error %q", r.Error)
	}
}

// noMoreFiles lets a process have no more descriptors than it has, until allow is called. (With
// less it could not even wait for those.)
func noMoreFiles(t testing.TB, pid int) (allow func()) {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		testenv.Missing(t, "descriptors of the agent", err.Error())
	}
	var old unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(len(open)), Max: old.Max}, nil); err != nil {
		t.Fatal(err)
	}
	return func() { _ = unix.Prlimit(pid, unix.RLIMIT_NOFILE, &old, nil) } // it may have ended
}
