package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// Under a limit on processes a run either succeeds or says that nothing can be started. It never ends
// as the Go runtime ends a program that gets no thread: with status 2, and that after its result.
func TestProcessLimit(t *testing.T) {
	if os.Geteuid() != 0 {
		testenv.Missing(t, "process limit", "only root can become a user who has no other processes")
	}
	for _, kind := range []string{"run", "session"} {
		t.Run(kind, func(t *testing.T) {
			succeeded, refused := 0, 0
			for _, limit := range []int{8, 10, 11, 12, 13, 14, 16, 20, 60} {
				switch r, status, stderr := runLimited(t, kind, limit); {
				case status == 0 && r.Status == hermes.Success && r.Output == "1\n":
					succeeded++
				case status == 125 && r.ErrorKind == hermes.KindBackend && strings.Contains(r.Error, "ulimit -u"):
					refused++
				default:
					t.Errorf("at most %d processes: status %d, %s %s: %s\n%.2000s", limit, status, r.Status, r.ErrorKind, r.Error, stderr)
				}
			}
			if succeeded == 0 || refused == 0 {
				t.Errorf("%d succeeded and %d were refused: both has to happen", succeeded, refused)
			}
		})
	}
}

// runLimited runs a script as a user with a limit on processes, and nobody else's.
func runLimited(t *testing.T, kind string, limit int) (r *hermes.Result, status int, said string) {
	t.Helper()
	home := filepath.Join(testenv.TempDir(t), "home")
	uid := uint32(1<<20 + rand.IntN(1<<20)) // one whose processes nobody else counts, not even dead ones
	if err := errors.Join(os.Mkdir(home, 0o700), os.Chown(home, int(uid), int(uid)), os.Chmod(filepath.Dir(home), 0o755)); err != nil {
		t.Fatal(err)
	}
	python, prlimit := testenv.Python(t), testenv.Require(t, "prlimit") // now: at its end a test can ask for nothing
	limited := func(limit int, args ...string) *exec.Cmd {
		cmd := exec.Command(prlimit, append([]string{fmt.Sprintf("--nproc=%d", limit), "--", "./hermes-exec"}, args...)...)
		cmd.Dir = filepath.Dir(home)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + home, "TMPDIR=" + home, "HERMES_EXEC_PYTHON=" + python}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		return cmd
	}
	program, err := os.ReadFile("/proc/self/exe") // where it lies nobody else can go
	if err == nil {
		err = os.WriteFile(filepath.Join(filepath.Dir(home), "hermes-exec"), program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"run", "--output", "json"}
	if kind == "session" {
		args = append(args, "--session", "s")
		t.Cleanup(func() {
			if out, err := limited(1000, "session", "end", "--all").CombinedOutput(); err != nil {
				t.Errorf("end: %v %s", err, out)
			}
			testenv.NoProcesses(t, home)
		})
	}
	cmd := limited(limit, args...)
	cmd.Stdin = strings.NewReader("print(1)")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	r = &hermes.Result{}
	if err := json.Unmarshal(stdout.Bytes(), r); err != nil {
		t.Errorf("at most %d processes: %v: %q\n%.1000s", limit, err, stdout.String(), stderr.String())
	}
	return r, cmd.ProcessState.ExitCode(), stderr.String()
}
