package testenv

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// NoMoreProcesses has the system refuse every further process and thread of the process pid, until
// allow is called. It takes the limit of the user; root, who is not bound by that, needs a control
// group. Where there is neither the test ends as with Missing.
func NoMoreProcesses(t testing.TB, pid int) (allow func()) {
	t.Helper()
	if os.Geteuid() == 0 {
		return noMoreInGroup(t, pid)
	}
	var old unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NPROC, nil, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: 0, Max: old.Max}, nil); err != nil {
		t.Fatal(err)
	}
	return func() { _ = unix.Prlimit(pid, unix.RLIMIT_NPROC, &old, nil) } // it may have ended
}

// noMoreInGroup moves pid into a control group whose limit on processes is 0.
func noMoreInGroup(t testing.TB, pid int) (allow func()) {
	t.Helper()
	root := "/sys/fs/cgroup/pids" // version 1
	if _, err := os.Stat(root); err != nil {
		root = "/sys/fs/cgroup"
	}
	group := filepath.Join(root, "hermes-exec-test-"+strconv.Itoa(pid))
	if err := os.Mkdir(group, 0o755); err != nil {
		Missing(t, "process limit", err.Error())
	}
	procs := strconv.Itoa(pid)
	allow = func() {
		_ = os.WriteFile(filepath.Join(root, "cgroup.procs"), []byte(procs), 0) // it may have ended
		if err := os.Remove(group); err != nil {
			t.Errorf("control group stays: %v", err)
		}
	}
	for _, set := range [][2]string{{"pids.max", "0"}, {"cgroup.procs", procs}} {
		if err := os.WriteFile(filepath.Join(group, set[0]), []byte(set[1]), 0); err != nil {
			allow()
			Missing(t, "process limit", err.Error())
		}
	}
	return allow
}
