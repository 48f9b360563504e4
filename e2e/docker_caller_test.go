//go:build unix

package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// caller is somebody who calls the command with an environment of its own, in a directory of its own.
type caller struct {
	env  map[string]string
	dir  string
	uid  uint32   // who it is, as root only; 0 is this process's user
	gid  uint32   // its group
	wrap []string // a command line that starts the command; nil: none
}

// newCaller returns a caller whom nothing but the engine's address leads to an engine.
func newCaller(t *testing.T, e testenv.Engine) *caller {
	t.Helper()
	home := testenv.TempDir(t)
	c := &caller{dir: filepath.Join(home, "work"), env: map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": home, "HERMES_HOME": filepath.Join(home, "hermes"), "TMPDIR": home, "DOCKER_HOST": e.Endpoint,
	}}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return c
}

// become makes the caller another user, who owns its files.
func (c *caller) become(t *testing.T, uid, gid int) {
	t.Helper()
	if os.Geteuid() != 0 {
		testenv.Missing(t, "root", "only root can be somebody else")
	}
	path, err := command()
	if err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode()&0o001 == 0 {
			testenv.Missing(t, "root", "nobody else can run the program, for "+dir+" is closed to others")
		}
	}
	c.uid, c.gid = uint32(uid), uint32(gid)
	for _, dir := range []string{c.env["HOME"], c.dir} {
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
}

// command is a call with these arguments.
func (c *caller) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := command()
	if err != nil {
		t.Fatal(err)
	}
	args = slices.Concat(c.wrap, []string{path}, args)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = c.dir
	for name, value := range c.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if c.uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.uid, Gid: c.gid}}
	}
	return cmd
}

// outcome is how a call of the command ended.
type outcome struct {
	status         int
	stdout, stderr string
}

// run calls the command with that text as its stdin.
func (c *caller) run(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	cmd := c.command(t, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// endSessions ends the caller's sessions, and waits for their server: it uses the caller's directory to its
// own end.
func (c *caller) endSessions(t *testing.T) {
	t.Helper()
	c.run(t, "", "session", "end", "--all").prints(t, "")
	testenv.NoProcesses(t, c.env["HERMES_HOME"])
}

// script runs a script in a container.
func (c *caller) script(t *testing.T, code string, flags ...string) outcome {
	t.Helper()
	return c.run(t, code, append([]string{"--backend", "docker"}, flags...)...)
}

// prints fails the test unless the call succeeded and printed that.
func (o outcome) prints(t *testing.T, want string) {
	t.Helper()
	if o.status != 0 || o.stdout != want || o.stderr != "" {
		t.Errorf("status %d, stdout %q, stderr %q; want status 0 and %q", o.status, o.stdout, o.stderr, want)
	}
}

// complains fails the test unless the call had that status, printed nothing, and all of that is in its
// only line on stderr.
func (o outcome) complains(t *testing.T, status int, parts ...string) {
	t.Helper()
	if o.status != status || o.stdout != "" || strings.Count(o.stderr, "\n") != 1 {
		t.Errorf("status %d, stdout %q, stderr %q; want status %d and one line", o.status, o.stdout, o.stderr, status)
	}
	for _, part := range parts {
		if !strings.Contains(o.stderr, part) {
			t.Errorf("stderr %q does not tell %q", o.stderr, part)
		}
	}
}
