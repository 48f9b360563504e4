package local_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/local"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// User code that kills the agent together with its own supervisor leaves nothing: neither what is in
// a session of its own nor what gave its environment away, and nobody has to close anything for it.
func TestAgentAndSupervisorKilled(t *testing.T) {
	b, err := local.Open(t.Context(), local.Config{Dir: t.TempDir(), Env: testenv.Environ(), Python: testenv.Python(t)})
	if err != nil {
		t.Fatal(err)
	}
	testenv.CloseAfter(t, b)
	seconds := strconv.Itoa(1e6 + rand.IntN(1e6)) // tells these sleeps from all others
	out := newLines()
	_, err = b.Start(t.Context(), backend.Cmd{
		Args:   []string{"/bin/sh", "-c", "setsid sleep $0 & env -i setsid sleep $0 & echo $$; wait", seconds},
		Env:    map[string]string{"PATH": os.Getenv("PATH"), "SCRATCH": b.Info().Scratch},
		Stdout: out,
	})
	if err != nil {
		t.Fatal(err)
	}
	script := <-out.first
	testenv.Eventually(t, "all three run", func() bool { return len(testenv.Processes(seconds)) == 3 })
	supervisor := parent(t, script)
	for _, pid := range []int{parent(t, supervisor), supervisor} {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	testenv.NoProcesses(t, seconds)
}

// lines is a writer that tells the number on the first line.
type lines struct {
	text  string
	first chan int
}

func newLines() *lines { return &lines{first: make(chan int, 1)} }

func (l *lines) Write(p []byte) (int, error) {
	if l.text += string(p); strings.HasSuffix(l.text, "\n") {
		n, _ := strconv.Atoi(strings.TrimSpace(l.text))
		l.first <- n
	}
	return len(p), nil
}

func parent(t *testing.T, pid int) (parent int) {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	if _, err := fmt.Sscanf(rest, "%c %d", new(rune), &parent); err != nil {
		t.Fatal(err)
	}
	return parent
}
