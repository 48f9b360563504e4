//go:build unix

package e2e

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/hermes-exec/hermes-exec"
)

// someone calls the command for one backend: a user of containers, or a visitor of a host.
type someone interface {
	home() string // his HERMES_HOME
	command(t *testing.T, args ...string) *exec.Cmd
	start(t *testing.T, code string, flags ...string) *call
	run(t *testing.T, code string, flags ...string) ended
	gone(t *testing.T) // waits until nothing of his runs there
}

var (
	_ someone = (*user)(nil)
	_ someone = (*visitor)(nil)
)

// kill ends a call with no word, and waits for its end.
func (c *call) kill(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-c.read
	_ = c.cmd.Wait() // it was killed
}

// killServer ends somebody's sessions with no word.
func killServer(t *testing.T, who someone) {
	t.Helper()
	if err := syscall.Kill(serverOf(t, who.home()), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// prune removes what a killed process has left of its own on this machine.
func prune(t *testing.T, who someone) {
	t.Helper()
	if out, err := who.command(t, "prune").CombinedOutput(); err != nil {
		t.Errorf("prune: %v: %s", err, out)
	}
}

// ownersAreKilled tests what is left there by a run and by a session server that are killed: nothing. Code
// is a script that does not end, and begins by printing "begun".
func ownersAreKilled(t *testing.T, code string, anybody func(*testing.T) someone) {
	t.Run("kill -9 of a run", func(t *testing.T) {
		t.Parallel()
		who := anybody(t)
		c := who.start(t, code)
		c.until(t, "begun\n")
		c.kill(t)
		who.gone(t)
		prune(t, who)
	})
	t.Run("kill -9 of the session server", func(t *testing.T) {
		t.Parallel()
		who := anybody(t)
		who.run(t, "x = 1", "--session", "s").must(t, "")
		killServer(t, who)
		who.gone(t)
		r := who.run(t, "print('x' in globals())", "--session", "s")
		r.must(t, "False\n")
		if r.Kernel.Reason != hermes.LostServer {
			t.Errorf("kernel %+v", r.Kernel)
		}
	})
}

// freezes tests a script whose connection lets nothing pass any more, until its deadline or, without one,
// until the connection counts as dead.
func freezes(t *testing.T, who someone, s *shaky, deadline bool, flags ...string) {
	t.Helper()
	if deadline {
		flags = append(flags, "--timeout", "3s")
	}
	c := who.start(t, steady, flags...)
	c.until(t, "more\nmore\n")
	s.freeze()
	defer s.thaw()
	r := c.wait(t)
	if !deadline {
		lostScript(t, r)
		return
	}
	r.failed(t, 124, hermes.KindTimeout)
	if !strings.HasSuffix(r.Error, " and was given up: its environment does not answer.") || !strings.Contains(r.Warning, "it may still run") {
		t.Errorf("error %q, warning %q", r.Error, r.Warning)
	}
}
