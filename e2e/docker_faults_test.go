//go:build unix

package e2e

import (
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec"
)

// steady prints for as long as it lives.
const steady = `
import time
print("begun", flush=True)
while True:
    print("more", flush=True)
    time.sleep(0.05)
`

// lostScript fails the test unless the result is that of a script whose end nobody knows: what it had
// printed is there, and no status.
func lostScript(t *testing.T, r ended) {
	t.Helper()
	r.failed(t, 125, hermes.KindTransport)
	if r.ExitCode != nil || !strings.HasPrefix(r.Output, "begun\nmore\n") || !strings.Contains(r.Error, "the script was lost") {
		t.Errorf("exit code %d, output %q, error %q", exitCode(r.Result), r.Output, r.Error)
	}
}

// B019, B103: a connection that breaks while a script prints ends it, and is no success. The engine
// itself lives on, and no container stays.
func TestDockerConnectionBreaks(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"unix", "tcp"} {
		for name, breaks := range map[string]func(*shaky){"all": (*shaky).cut, "attached": (*shaky).cutAttached} {
			for kind, flags := range map[string][]string{"script": nil, "cell": {"--session", "s"}} {
				t.Run(network+" "+name+" "+kind, func(t *testing.T) {
					t.Parallel()
					s := newShaky(t, network)
					u := newUser(t, "DOCKER_HOST="+s.host)
					c := u.start(t, steady, flags...)
					c.until(t, "more\nmore\n")
					breaks(s)
					r := c.wait(t)
					lostScript(t, r)
					u.gone(t)
					if name == "all" {
						s.restore(t)
					}
					if kind == "cell" {
						if r.Kernel.Reason != hermes.LostEnvironment || !r.Kernel.StateLost || !r.Kernel.Ended {
							t.Errorf("kernel %+v", r.Kernel)
						}
						u.run(t, "print(6*7)", flags...).must(t, "42\n")
					}
				})
			}
		}
	}
}

// B095: an engine that was away between two cells costs the state, not the session.
func TestDockerEngineComesBack(t *testing.T) {
	t.Parallel()
	s := newShaky(t, "unix")
	u := newUser(t, "DOCKER_HOST="+s.host)
	u.run(t, "x = 1", "--session", "s").must(t, "")
	s.cut()
	u.gone(t)
	r := u.run(t, "print(1)", "--session", "s")
	r.failed(t, 125, hermes.KindBackend)
	if !strings.Contains(r.Error, s.host) {
		t.Errorf("error %q", r.Error)
	}
	s.restore(t)
	r = u.run(t, "print('x' in globals())", "--session", "s")
	r.must(t, "False\n")
	if !r.Kernel.StateLost || r.Kernel.Reason != hermes.LostEnvironment {
		t.Errorf("kernel %+v", r.Kernel)
	}
}

// A network that lets nothing pass any more delays the result of a run by no more than it takes to give
// up on it.
func TestDockerFrozenConnection(t *testing.T) {
	t.Parallel()
	t.Run("until the deadline", func(t *testing.T) {
		t.Parallel()
		s := newShaky(t, "tcp")
		u := newUser(t, "DOCKER_HOST="+s.host)
		freezes(t, u, s, true)
	})
	t.Run("until it counts as dead", func(t *testing.T) {
		t.Parallel()
		s := newShaky(t, "tcp")
		u := newUser(t, "DOCKER_HOST="+s.host)
		freezes(t, u, s, false)
	})
}

// B094: a connection that stays open when the container has ended holds up nothing.
func TestDockerConnectionStaysOpen(t *testing.T) {
	t.Parallel()
	s := newShaky(t, "tcp")
	s.hold()
	u := newUser(t, "DOCKER_HOST="+s.host)
	t.Run("after a script", func(t *testing.T) {
		u.run(t, "print(6*7)").must(t, "42\n")
	})
	t.Run("of a container that was killed", func(t *testing.T) {
		c := u.start(t, steady)
		c.until(t, "more\nmore\n")
		u.Docker(t, "kill", u.container(t))
		lostScript(t, c.wait(t))
	})
	t.Run("of an agent that was executed and killed", func(t *testing.T) {
		id := u.Container(t, u.Image)
		c := u.start(t, steady, "--container", id)
		c.until(t, "more\nmore\n")
		u.Docker(t, "exec", id, "pkill", "-KILL", "-o", "-f", "stdin.buffer.raw.readline")
		lostScript(t, c.wait(t))
	})
}
