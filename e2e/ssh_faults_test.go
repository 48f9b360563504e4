//go:build unix

package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/ssh"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// shaky leads the visitor to the host over a way that breaks. The configuration has these lines too.
func (v *visitor) shaky(t *testing.T, lines ...string) *shaky {
	t.Helper()
	s := newShakyTo(t, "tcp", func() (net.Conn, error) { return net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", v.Port)) })
	v.Configure(t, append(lines, fmt.Sprintf("Port %d", s.port), "HostKeyAlias box")...)
	return s
}

// lostCell fails the test unless the result is that of a cell whose session is lost with its host.
func lostCell(t *testing.T, r ended) {
	t.Helper()
	if r.Kernel.Reason != hermes.LostEnvironment || !r.Kernel.StateLost || !r.Kernel.Ended {
		t.Errorf("kernel %+v", r.Kernel)
	}
}

// kinds are a script and a cell, by what is called with them.
var kinds = map[string][]string{"script": nil, "cell": {"--session", "s"}}

// B019, B103, B106: a connection that breaks while a script prints ends it, here and there, and is no
// success. The next one works.
func TestSSHConnectionBreaks(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]string{"forwarded": nil, "relayed": {noForwarding}} {
		for kind, flags := range kinds {
			for how, breaks := range map[string]func(*shaky){"cut": (*shaky).cut, "reset": (*shaky).reset} {
				t.Run(how+" "+name+" "+kind, func(t *testing.T) {
					t.Parallel()
					v := newVisitor(t, lines...)
					s := v.shaky(t)
					c := v.start(t, steady, flags...)
					c.until(t, "more\nmore\n")
					breaks(s)
					r := c.wait(t)
					lostScript(t, r)
					v.gone(t)
					if kind == "cell" {
						lostCell(t, r)
					}
					v.run(t, "print(1)", flags...).says(t, "box", "connection refused")
					s.restore(t)
					v.run(t, "print(6*7)", flags...).must(t, "42\n")
				})
			}
		}
	}
}

// underWay waits until a tool has written that it runs: its file is there before that.
func underWay(t *testing.T, calls string) {
	t.Helper()
	testenv.Eventually(t, "the tool runs", func() bool {
		made, err := os.ReadFile(calls)
		return err == nil && len(made) > 0
	})
}

// A tool call that is under way when the connection breaks is made once.
func TestSSHConnectionBreaksInACall(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]string{"forwarded": nil, "relayed": {noForwarding}} {
		for _, transport := range []string{"uds", "file"} {
			t.Run(name+" "+transport, func(t *testing.T) {
				t.Parallel()
				v := newVisitor(t, lines...)
				s := v.shaky(t)
				calls := filepath.Join(v.There, "calls")
				c := v.start(t, "from hermes_tools import terminal\nprint('begun\\nmore', flush=True)\n"+
					"terminal('echo call >>"+calls+"; sleep 600')\nprint('on')", "--transport", transport)
				underWay(t, calls)
				s.cut()
				lostScript(t, c.wait(t))
				v.gone(t)
				if made, err := os.ReadFile(calls); string(made) != "call\n" {
					t.Errorf("calls %q, %v", made, err)
				}
				s.restore(t)
				v.run(t, callsTools, "--transport", transport).must(t, "there\n")
			})
		}
	}
}

// B104, B105: a network that lets nothing pass any more delays a result by no more than it takes to give up on
// it.
func TestSSHFrozenConnection(t *testing.T) {
	t.Parallel()
	for kind, flags := range kinds {
		t.Run("until the deadline, a "+kind, func(t *testing.T) {
			t.Parallel()
			v := newVisitor(t)
			s := v.shaky(t)
			freezes(t, v, s, true, flags...)
			v.gone(t)
		})
		t.Run("until it counts as dead, a "+kind, func(t *testing.T) {
			t.Parallel()
			v := newVisitor(t)
			s := v.shaky(t, "ServerAliveInterval 1", "ServerAliveCountMax 2")
			freezes(t, v, s, false, flags...)
			v.gone(t)
		})
	}
	t.Run("before anything is said", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		s := v.shaky(t)
		s.freeze()
		v.run(t, "print(1)", "--timeout", "2s").failed(t, 124, hermes.KindTimeout)
		s.thaw()
	})
}

// B104: what waits on a host for a machine that was lost with the network ends by itself, idle or not.
func TestSSHLease(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]bool{"idle": false, "busy": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := testenv.SSHD(t)
			s := newShakyTo(t, "tcp", func() (net.Conn, error) { return net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", h.Port)) })
			h.Configure(t, fmt.Sprintf("Port %d", s.port), "HostKeyAlias box")
			b := openSSHFrom(h, ssh.Config{}, ssh.Host{Lease: time.Second}, "")(t)
			if busy {
				cmd := backend.Cmd{Args: []string{"sleep", "600"}, Env: b.Info().Env}
				if _, err := b.Start(t.Context(), cmd); err != nil {
					t.Fatal(err)
				}
			}
			s.freeze()
			testenv.NoProcesses(t, "HERMES_TEST_HOST="+h.There)
			if left, err := os.ReadDir(h.Tmp()); err != nil || len(left) != 0 {
				t.Errorf("left %v, %v", left, err)
			}
			testenv.Eventually(t, "the environment counts as gone", func() bool {
				_, err := b.Get(t.Context(), "file")
				return errors.Is(err, backend.ErrUnavailable)
			})
			s.thaw()
		})
	}
}

// A laptop that sleeps and wakes up in time has lost nothing.
func TestSSHConnectionThaws(t *testing.T) {
	t.Parallel()
	v := newVisitor(t)
	s := v.shaky(t)
	ended := filepath.Join(v.There, "ended")
	begin := filepath.Join(v.There, "begin")
	c := v.start(t, `
import os, time
print("begun", flush=True)
while not os.path.exists("`+begin+`"): time.sleep(0.01)
for i in range(100): print(i, flush=True)
open("`+ended+`", "w")
`)
	c.until(t, "begun\n")
	s.freeze()
	write(t, begin, "")
	testenv.Eventually(t, "the script has ended", func() bool { _, err := os.Stat(ended); return err == nil })
	s.thaw()
	r := c.wait(t)
	if r.Status != hermes.Success || !strings.HasSuffix(r.Output, "\n98\n99\n") || strings.Count(r.Output, "\n") != 101 {
		t.Errorf("%s, output %q", r.Status, r.Output)
	}
}

// B114: a connection that has turned out to be dead is not used again, though it never ended.
func TestSSHDeadConnectionIsLeft(t *testing.T) {
	t.Parallel()
	v := newVisitor(t)
	s := v.shaky(t, "ServerAliveInterval 1", "ServerAliveCountMax 2")
	v.run(t, "x = 1", "--session", "s").must(t, "")
	s.freezeOpen()
	r := v.run(t, "print(x)", "--session", "s", "--timeout", "30s")
	if r.Status == hermes.Success || r.ErrorKind != hermes.KindTransport {
		t.Errorf("%s, %s: %q", r.Status, r.ErrorKind, r.Error)
	}
	lostCell(t, r)
	v.run(t, "print('x' in globals())", "--session", "s").must(t, "False\n")
	s.thaw()
}

// An sshd that is killed takes the script along and nothing else.
func TestSSHDIsKilled(t *testing.T) {
	t.Parallel()
	for kind, flags := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			v := newVisitor(t)
			c := v.start(t, steady, flags...)
			c.until(t, "more\nmore\n")
			v.Kill()
			r := c.wait(t)
			lostScript(t, r)
			v.gone(t)
			v.Restart(t)
			if kind == "cell" {
				lostCell(t, r)
			}
			v.run(t, "print(6*7)", flags...).must(t, "42\n")
		})
	}
	t.Run("between cells", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		v.run(t, "x = 1", "--session", "s").must(t, "")
		v.Kill()
		v.gone(t)
		v.Restart(t)
		r := v.run(t, "print('x' in globals())", "--session", "s")
		r.must(t, "False\n")
		if !r.Kernel.StateLost || r.Kernel.Reason != hermes.LostEnvironment {
			t.Errorf("kernel %+v", r.Kernel)
		}
	})
}

// B025, B026: what runs on the host ends with the process that started it, whatever ends that, and with
// its time. No signal of the protocol is needed.
func TestSSHHostIsLeftClean(t *testing.T) {
	t.Parallel()
	const workers = `
import os, signal, time
signal.signal(signal.SIGHUP, signal.SIG_IGN)
for leaves in (False, True):
    if os.fork() == 0:
        if leaves:
            os.setsid()
        time.sleep(600)
print("begun", flush=True)
time.sleep(600)
`
	ownersAreKilled(t, workers, func(t *testing.T) someone { t.Helper(); return newVisitor(t) })
	t.Run("an interrupt", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		c := v.start(t, workers)
		c.until(t, "begun\n")
		c.interrupt(t)
		v.gone(t)
	})
	t.Run("a timeout", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		for _, flags := range kinds {
			r := v.run(t, workers, append(flags, "--timeout", "2s")...)
			r.failed(t, 124, hermes.KindTimeout)
			if !strings.HasPrefix(r.Output, "begun\n") || strings.Contains(r.Warning, "still run") {
				t.Errorf("output %q, warning %q", r.Output, r.Warning)
			}
		}
		if out, err := v.command(t, "session", "end", "--all").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		v.gone(t)
	})
	t.Run("a script that is left to itself", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		v.run(t, "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\nprint('done')").must(t, "done\n")
		v.gone(t)
	})
}
