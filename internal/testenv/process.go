package testenv

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// NoProcesses waits until no process of this machine but the test's own has marker in its
// environment or its arguments, and fails with their names if some stay. A zombie has neither and so
// counts as dead. It needs /proc and skips the test where there is none.
func NoProcesses(t testing.TB, marker string) {
	t.Helper()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		Missing(t, "proc", "processes cannot be listed: "+err.Error())
	}
	var left []string
	defer func() {
		if t.Failed() && len(left) > 0 {
			t.Logf("left: %s", strings.Join(left, "; "))
		}
	}()
	Eventually(t, "all processes with "+marker+" are gone", func() bool {
		left = Processes(marker)
		return len(left) == 0
	})
}

// Processes lists the processes with marker in their environment or arguments, as "pid arguments",
// without the caller.
func Processes(marker string) []string {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var found []string
	for _, dir := range dirs {
		pid := filepath.Base(dir)
		if pid == strconv.Itoa(os.Getpid()) {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if bytes.Contains(args, []byte(marker)) || bytes.Contains(env, []byte(marker)) {
			found = append(found, fmt.Sprintf("%s %q", pid, bytes.ReplaceAll(args, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// DeadPID returns the number of a process that has ended.
func DeadPID(t testing.TB) int {
	t.Helper()
	cmd := exec.Command(Require(t, "true")) //nolint:forbidigo // It only has to end.
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}
