//go:build unix

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// TestDockerOverSSH reaches the engine of another machine, through a real sshd, which forwards to sockets
// or does not.
func TestDockerOverSSH(t *testing.T) {
	t.Parallel()
	e := engine(t)
	socket := strings.TrimPrefix(e.Endpoint, "unix://")
	const code = "from hermes_tools import write_file, read_file\n" +
		"write_file('/tmp/x', 'there and back'); print(read_file('/tmp/x')['content'])"
	for name, test := range map[string]struct {
		line string // of sshd's configuration
		lead func(*testing.T, *caller)
	}{
		"DOCKER_HOST": {"", func(_ *testing.T, c *caller) { c.env["DOCKER_HOST"] = "ssh://box" + socket }},
		"a context": {"", func(t *testing.T, c *caller) {
			c.context(t, "far", "host=ssh://box")
			c.env["DOCKER_CONTEXT"] = "far"
		}},
		"by a command there": {noForwarding, func(_ *testing.T, c *caller) { c.env["DOCKER_HOST"] = "ssh://box" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lines []string
			if test.line != "" {
				lines = append(lines, test.line)
			}
			h := testenv.SSHD(t, lines...)
			c := newCaller(t, e)
			c.env["HOME"] = h.Home
			delete(c.env, "DOCKER_HOST")
			test.lead(t, c)
			c.script(t, code, "--image", e.Image).prints(t, "there and back\n")
			c.script(t, "x = 'kept'", "--image", e.Image, "--session", "far").prints(t, "")
			c.script(t, "print(x)", "--image", e.Image, "--session", "far").prints(t, "kept\n")
			c.endSessions(t)
		})
	}
}

// TestDockerOverSSHFails: an engine behind SSH is out of reach for the reasons of either.
func TestDockerOverSSHFails(t *testing.T) {
	t.Parallel()
	e := engine(t)
	const failed = 125
	h := testenv.SSHD(t)
	for name, test := range map[string]struct {
		host string
		want []string
	}{
		"no such host":    {"ssh://nowhere.invalid", []string{"engine at ssh://nowhere.invalid:", "connect to"}},
		"not let in":      {"ssh://stranger@box", []string{"engine at ssh://stranger@box:", "does not let stranger in"}},
		"no engine there": {"ssh://box/nowhere/docker.sock", []string{"ssh://box/nowhere/docker.sock"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCaller(t, e)
			c.env["HOME"], c.env["DOCKER_HOST"] = h.Home, test.host
			c.env["PATH"] = filepath.Join(c.dir, "nothing") // the host's docker command is none of this
			c.script(t, "print(1)", "--image", e.Image).complains(t, failed, test.want...)
		})
	}
}
