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
