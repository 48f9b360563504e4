//go:build unix

package e2e

import (
	"strings"
	"testing"
)

// An agent that is lost takes the script and its tool calls along. Why is told once.
func TestDockerAgentIsLost(t *testing.T) {
	t.Parallel()
	const cause = "environment unavailable: the guest agent is gone: the guest agent was killed, by somebody or for want of memory"
	for name, flags := range map[string][]string{"script": nil, "cell": {"--session", "s"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			id := u.Container(t, u.Image)
			c := u.start(t, steady, append(flags, "--container", id)...)
			c.until(t, "more\nmore\n")
			u.Docker(t, "exec", id, "pkill", "-KILL", "-o", "-f", "import sys")
			r := c.wait(t)
			lostScript(t, r)
			if !strings.HasSuffix(r.Error, ": "+cause) || strings.Count(r.Error, "environment unavailable") != 1 || strings.Contains(r.Error, "tool calls") {
				t.Errorf("error %q", r.Error)
			}
		})
	}
}

// A script can open the streams of its container's main process, which are the agent's. One that writes
// there loses its container and is told so, also where it meant a few bytes.
func TestDockerStreamIsBroken(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"written to":          "open('/proc/1/fd/1', 'w').write('hello from a script\\n' * 20)",
		"written a few bytes": "open('/proc/1/fd/1', 'w').write('x')",
	} {
		for kind, flags := range map[string][]string{"script": nil, "cell": {"--session", "s"}} {
			t.Run(name+" by a "+kind, func(t *testing.T) {
				t.Parallel()
				u := newUser(t)
				c := u.start(t, "import os\n"+strings.Replace(steady, "while True", "while not os.path.exists('/tmp/now')", 1)+code+steady, flags...)
				c.until(t, "more\nmore\n")
				u.Docker(t, "exec", u.container(t), "touch", "/tmp/now")
				r := c.wait(t)
				lostScript(t, r)
				if !strings.Contains(r.Error, "stream is broken, as by something there that wrote into it or read from it") {
					t.Errorf("error %q", r.Error)
				}
				u.gone(t)
				if r.Kernel != nil {
					u.run(t, "print(6*7)", flags...).must(t, "42\n")
				}
			})
		}
	}
	t.Run("of a container that somebody else has made", func(t *testing.T) {
		t.Parallel()
		u := newUser(t)
		u.run(t, "open('/proc/1/fd/1', 'w').write('for its log')\nprint(6*7)", "--container", u.Container(t, u.Image)).must(t, "42\n")
	})
}
