//go:build unix

package e2e

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// user is somebody who calls the hermes-exec command, with a home of his own and a name of his own for
// the image: his containers are known by that, whichever process made them.
type user struct {
	testenv.Engine
	image string
	dir   string
	vars  []string // more variables of his
}

// newUser returns a user whose session server has ended and whose containers are gone at the end of the
// test.
func newUser(t *testing.T, vars ...string) *user {
	t.Helper()
	u := &user{Engine: testenv.Docker(t), dir: testenv.TempDir(t), vars: vars}
	u.image = "hermes-exec/test:user-" + strings.ToLower(rand.Text()[:12])
	u.Docker(t, "tag", u.Image, u.image)
	for _, dir := range []string{u.home(), u.dir + "/tmp"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if pid := u.server(t); pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGTERM) // it may be ending
		}
		testenv.NoProcesses(t, u.home()) // its arguments have it, and its environment has not
		u.gone(t)
		u.Docker(t, "rmi", u.image)
		left, _ := os.ReadDir(u.dir + "/tmp")
		for _, entry := range left {
			t.Errorf("left behind: %s", entry.Name())
		}
	})
	return u
}

func (u *user) home() string { return filepath.Join(u.dir, "home") }

// configure writes his configuration.
func (u *user) configure(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(u.home(), "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// server is the process that holds his sessions, 0 if there is none.
func (u *user) server(t *testing.T) int {
	t.Helper()
	return serverOf(t, u.home())
}

// containers are the identifiers of his containers, those that ended included.
func (u *user) containers(t *testing.T) []string {
	t.Helper()
	var ids []string
	out := u.Docker(t, "ps", "--all", "--no-trunc", "--filter", "label=hermes-exec.owner", "--format", "{{.Image}} {{.ID}}")
	for line := range strings.Lines(out) {
		if image, id, _ := strings.Cut(strings.TrimSpace(line), " "); image == u.image {
			ids = append(ids, id)
		}
	}
	return ids
}

// container is the one that he has.
func (u *user) container(t *testing.T) string {
	t.Helper()
	ids := u.containers(t)
	if len(ids) != 1 {
		t.Fatalf("containers: %q", ids)
	}
	return ids[0]
}

// gone waits until none of his containers is left.
func (u *user) gone(t *testing.T) {
	t.Helper()
	testenv.Eventually(t, "no container of "+u.image+" is left", func() bool { return len(u.containers(t)) == 0 })
}

// start calls `hermes-exec run` with a script. Arguments are its flags.
func (u *user) start(t *testing.T, code string, flags ...string) *call {
	t.Helper()
	args := append([]string{"run", "--output", "ndjson", "--backend", "docker"}, flags...)
	if !slices.Contains(flags, "--container") {
		args = append(args, "--image", u.image)
	}
	return begin(t, u.command(t, append(args, "-")...), code)
}

// command is a call with any arguments. It does not end with the test by itself.
func (u *user) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := command()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = u.dir
	cmd.Env = append(os.Environ(), "HOME="+u.home(), "HERMES_HOME="+u.home(), "TMPDIR="+u.dir+"/tmp", "DOCKER_HOST="+u.Endpoint)
	cmd.Env = append(cmd.Env, u.vars...)
	return cmd
}

// run runs a script to its end.
func (u *user) run(t *testing.T, code string, flags ...string) ended {
	t.Helper()
	return u.start(t, code, flags...).wait(t)
}
