//go:build unix

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// visitor is somebody who calls the hermes-exec command with a host, on which nothing else runs.
type visitor struct {
	*testenv.Host
	dir  string
	vars []string // more variables of his
}

// newVisitor returns one whose session server has ended at the end of the test, with nothing left here
// and there. Lines are those of the configuration of sshd.
func newVisitor(t *testing.T, lines ...string) *visitor {
	t.Helper()
	return newVisitorAt(t, testenv.SSHD(t, lines...))
}

// newVisitorAt returns one of that host.
func newVisitorAt(t *testing.T, h *testenv.Host) *visitor {
	t.Helper()
	v := &visitor{Host: h, dir: testenv.TempDir(t)}
	for _, dir := range []string{v.home(), v.dir + "/tmp"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if pid := serverOf(t, v.home()); pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGTERM) // it may be ending
		}
		testenv.NoProcesses(t, v.home()) // its arguments have it, and its environment has not
		v.gone(t)
		left, _ := os.ReadDir(v.dir + "/tmp")
		for _, entry := range left {
			t.Errorf("left behind: %s", entry.Name())
		}
	})
	return v
}

// home is his HERMES_HOME.
func (v *visitor) home() string { return filepath.Join(v.dir, "home") }

// gone waits until nothing runs on the host any more.
func (v *visitor) gone(t *testing.T) {
	t.Helper()
	testenv.NoProcesses(t, "HERMES_TEST_HOST="+v.There)
}

// start calls `hermes-exec run` with a script. Arguments are its flags.
func (v *visitor) start(t *testing.T, code string, flags ...string) *call {
	t.Helper()
	args := append([]string{"run", "--output", "ndjson", "--backend", "ssh"}, flags...)
	if !slices.Contains(flags, "--host") {
		args = append(args, "--host", "box")
	}
	return begin(t, v.command(t, append(args, "-")...), code)
}

// run runs a script to its end.
func (v *visitor) run(t *testing.T, code string, flags ...string) ended {
	t.Helper()
	return v.start(t, code, flags...).wait(t)
}

// command is a call with any arguments. It does not end with the test by itself.
func (v *visitor) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := command()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = v.dir
	cmd.Env = append(os.Environ(), "HOME="+v.Home, "HERMES_HOME="+v.home(), "TMPDIR="+v.dir+"/tmp", "SSH_AUTH_SOCK=")
	cmd.Env = append(cmd.Env, v.vars...)
	return cmd
}
