//go:build unix

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/backend/docker"
	"github.com/hermes-exec/hermes-exec/internal/owner"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// TestDockerGivenUp gives up containers at every moment of their making: the engine goes on with what it
// has begun, and nothing of it may stay.
func TestDockerGivenUp(t *testing.T) {
	e := engine(t)
	given := 0
	for i := range 30 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*5)*time.Millisecond)
		b, err := docker.Open(ctx, docker.Config{Image: e.Image, Env: testenv.Environ()})
		cancel()
		if err != nil {
			given++
			continue
		}
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if left := e.Containers(t, "hermes-exec.owner="+owner.Self().String()); len(left) > 0 {
		t.Errorf("of %d that were given up there stay %v", given, left)
	}
	if given < 10 {
		t.Errorf("%d of 30 were given up: the engine is too fast for this test", given)
	}
}

// TestDockerMoreProcessors asks for more processors than the engine has: it gets them all.
func TestDockerMoreProcessors(t *testing.T) {
	t.Parallel()
	e := engine(t)
	newCaller(t, e).script(t, "print('all of them')", "--image", e.Image, "--cpus", "1000").prints(t, "all of them\n")
}

// TestDockerMeetingIsRemoved: the directory that host and container share goes, whatever a script makes of
// it, also where the caller is not root.
func TestDockerMeetingIsRemoved(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for name, code := range map[string]string{
		"closed": "import os\nos.mkdir('/run/hermes-exec/a')\nopen('/run/hermes-exec/a/f', 'w').close()\n" +
			"os.chmod('/run/hermes-exec/a', 0)\nos.chmod('/run/hermes-exec', 0)\nprint('done')",
		"deep": "import os\nos.chdir('/run/hermes-exec')\nfor i in range(3000):\n  os.mkdir('d')\n  os.chdir('d')\nprint('done')",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCaller(t, e)
			socket := filepath.Join(c.dir, "docker.sock")
			p := relay(t, e, listenUnix(t, socket), 0)
			if err := os.Chmod(socket, 0o666); err != nil {
				t.Fatal(err)
			}
			c.become(t, 2000, 2000)
			c.env["DOCKER_HOST"] = p.host
			c.script(t, code, "--image", e.Image, "--user", "2000:2000").prints(t, "done\n")
			nothingOf(t, c.env["TMPDIR"])
		})
	}
}

// nothingOf fails the test if a directory of a run is left.
func nothingOf(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, "hermes_sandbox_*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestDockerWithoutTemp: no temporary directory on this machine, or none that can be written to, is no
// reason not to run.
func TestDockerWithoutTemp(t *testing.T) {
	t.Parallel()
	e := engine(t)
	c := newCaller(t, e)
	c.env["TMPDIR"] = "/nonexistent"
	c.script(t, "import os; print(os.environ['HERMES_RPC_SOCKET'])", "--image", e.Image, "--transport", "uds").
		prints(t, "/run/hermes-exec/s1.sock\n")
}
