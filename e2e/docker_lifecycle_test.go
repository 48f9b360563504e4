//go:build unix

package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// Whatever somebody does to the container of a script that runs, the script is lost and the container
// is gone.
func TestDockerContainerIsEnded(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"removed": {"rm", "--force"}, "killed": {"kill"}, "stopped": {"stop"}, "terminated": {"kill", "--signal", "TERM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			c := u.start(t, steady)
			c.until(t, "more\nmore\n")
			u.Docker(t, append(command, u.container(t))...)
			lostScript(t, c.wait(t))
		})
	}
}

// B095: a container that was removed between two cells takes the state along, and nothing else.
func TestDockerContainerIsRemovedBetweenCells(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{"removed": {"rm", "--force"}, "stopped": {"stop"}, "restarted": {"restart"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			u.run(t, "x = 1", "--session", "s").must(t, "")
			u.Docker(t, append(command, u.container(t))...)
			u.gone(t)
			r := u.run(t, "print('x' in globals())", "--session", "s")
			r.must(t, "False\n")
			if !r.Kernel.StateLost || r.Kernel.Reason != hermes.LostEnvironment || r.Kernel.Reused {
				t.Errorf("kernel %+v", r.Kernel)
			}
			u.container(t) // the new one is the only one
		})
	}
}

// A paused container obeys nothing: the run's own time is its limit, and no container stays.
func TestDockerContainerIsPaused(t *testing.T) {
	t.Parallel()
	const givenUp = "Script timed out after 6s and was given up: its environment does not answer."
	for name, flags := range map[string][]string{"made for the run": nil, "made for a session": {"--session", "s"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			c := u.start(t, steady, append(flags, "--timeout", "6s")...)
			c.until(t, "more\nmore\n")
			u.Docker(t, "pause", u.container(t))
			r := c.wait(t)
			r.failed(t, 124, hermes.KindTimeout)
			if r.Error != givenUp || !strings.Contains(r.Warning, "it may still run") {
				t.Errorf("error %q, warning %q", r.Error, r.Warning)
			}
			if r.Kernel != nil {
				u.run(t, "print(6*7)", flags...).must(t, "42\n")
				u.container(t) // the paused one is gone
				return
			}
			u.gone(t)
		})
	}
	t.Run("entered", func(t *testing.T) {
		t.Parallel()
		u := newUser(t)
		id := u.Container(t, u.Image)
		c := u.start(t, steady, "--container", id, "--timeout", "6s")
		c.until(t, "more\nmore\n")
		u.Docker(t, "pause", id)
		r := c.wait(t)
		r.failed(t, 124, hermes.KindTimeout)
		if r.Error != givenUp || !strings.Contains(r.Warning, "it may still run") {
			t.Errorf("error %q, warning %q", r.Error, r.Warning)
		}
		r = u.run(t, "print(1)", "--container", id)
		r.failed(t, 125, hermes.KindBackend)
		if !strings.Contains(r.Error, "docker unpause") {
			t.Errorf("error %q", r.Error)
		}
		u.Docker(t, "unpause", id)
		u.idle(t, id, 0)
	})
}

// processes counts those of a container that Python runs.
func (u *user) processes(t *testing.T, id string) int {
	t.Helper()
	return strings.Count(u.Docker(t, "top", id, "-o", "pid,comm"), "python")
}

// idle waits until a container has no more of them than that.
func (u *user) idle(t *testing.T, id string, want int) {
	t.Helper()
	testenv.Eventually(t, "no process of ours is left in the container", func() bool { return u.processes(t, id) == want })
}

// B024: what a timeout ends in a container that stays is ended there, with all that it started.
func TestDockerTimeoutsLeaveNothing(t *testing.T) {
	t.Parallel()
	const workers = `
import os, time
for leaves in (False, True):
    if os.fork() == 0:
        if leaves:
            os.setsid()
        time.sleep(600)
print("begun", flush=True)
time.sleep(600)
`
	t.Run("script", func(t *testing.T) {
		t.Parallel()
		u := newUser(t)
		id := u.Container(t, u.Image)
		for range 5 {
			r := u.run(t, workers, "--container", id, "--timeout", "3s")
			r.failed(t, 124, hermes.KindTimeout)
			if !strings.HasPrefix(r.Output, "begun\n") || r.Warning != "" {
				t.Errorf("output %q, warning %q", r.Output, r.Warning)
			}
		}
		u.idle(t, id, 0)
		u.run(t, "print(6*7)", "--container", id).must(t, "42\n")
	})
	t.Run("cell", func(t *testing.T) {
		t.Parallel()
		u := newUser(t)
		u.run(t, "pass", "--session", "s").must(t, "")
		id := u.container(t)
		u.run(t, workers, "--session", "s", "--timeout", "1s").failed(t, 124, hermes.KindTimeout)
		u.run(t, "pass", "--session", "s").must(t, "")
		idle := u.processes(t, id)
		for range 4 {
			u.run(t, workers, "--session", "s", "--timeout", "1s").failed(t, 124, hermes.KindTimeout)
			u.run(t, "pass", "--session", "s").must(t, "")
		}
		u.idle(t, id, idle)
	})
}

// --container names one that is somebody else's: it stays as it was.
func TestDockerContainerOfOthersStays(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	id := u.Container(t, u.Image)
	u.run(t, "open('/work/kept', 'w').write('x')", "--container", id).must(t, "")
	u.run(t, "print(open('/work/kept').read())", "--container", id, "--session", "s").must(t, "x\n")
	c := u.start(t, steady, "--container", id)
	c.until(t, "more\n")
	c.kill(t)
	killServer(t, u)
	u.idle(t, id, 0)
	if running := u.Docker(t, "inspect", "--format", "{{.State.Running}}", id); running != "true" {
		t.Errorf("it runs: %s", running)
	}
}

// B096: a container ends with the process that made it, whatever ends that.
func TestDockerContainerEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	ownersAreKilled(t, steady, func(t *testing.T) someone { t.Helper(); return newUser(t) })
	t.Run("one interrupt", func(t *testing.T) {
		t.Parallel()
		u := newUser(t)
		c := u.start(t, steady)
		c.until(t, "more\n")
		c.interrupt(t)
	})
	t.Run("two interrupts", func(t *testing.T) {
		t.Parallel()
		u := newUser(t)
		u.configure(t, "code_execution:\n  kill_grace: 600\n")
		c := u.start(t, `
import signal
signal.signal(signal.SIGINT, lambda *_: print("heard", flush=True))
`+steady)
		c.until(t, "more\n")
		if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		c.until(t, "heard\n")
		if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		c.wait(t).failed(t, 130, hermes.KindInterrupted)
	})
}

// P168: two sessions in one container keep their state apart, and their tools.
func TestDockerSessionsInOneContainer(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	id := u.Container(t, u.Image)
	var work sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		work.Go(func() {
			flags := []string{"--container", id, "--session", name}
			u.run(t, "from hermes_tools import terminal, write_file\nmine = "+strconv.Quote(name)+"\nheard = []", flags...).must(t, "")
			for range 4 {
				u.run(t, "for _ in range(6): heard.append(terminal('echo ' + mine)['output'].strip())", flags...).must(t, "")
			}
			r := u.run(t, "print(len(heard), set(heard))", flags...)
			r.must(t, fmt.Sprintf("24 {'%s'}\n", name))
			if r.Kernel.ExecutionCount != 6 {
				t.Errorf("kernel %+v", r.Kernel)
			}
		})
	}
	work.Wait()
}

// What agents have left that were killed in a container that stays is removed by the next one there.
func TestDockerContainerIsSwept(t *testing.T) {
	t.Parallel()
	const alone = "import glob, time\nwhile len(glob.glob('/tmp/hermes_sandbox_*')) > %d: time.sleep(.01)\nprint('swept')"
	for name, end := range map[string]func(u *user, t *testing.T, id string){
		"restarted": func(u *user, t *testing.T, id string) { u.Docker(t, "restart", "--time", "0", id) },
		"killed": func(u *user, t *testing.T, id string) {
			for _, signal := range []string{"-STOP", "-KILL"} { // with the supervisors, none before the other
				u.Docker(t, "exec", id, "pkill", signal, "-f", "stdin.buffer.raw.readline")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			id := u.Container(t, "--network", "none", u.Image)
			c := u.start(t, steady, "--container", id)
			c.until(t, "more\nmore\n")
			end(u, t, id)
			lostScript(t, c.wait(t))
			if n := u.Docker(t, "exec", id, "python3", "-c", "import glob; print(len(glob.glob('/tmp/hermes_sandbox_*')))"); n != "1" {
				t.Errorf("%s scratch directories are left", n)
			}
			living := u.start(t, steady, "--container", id)
			living.until(t, "more\nmore\n")
			u.run(t, fmt.Sprintf(alone, 2), "--container", id, "--timeout", "60s").must(t, "swept\n") // the living one's stays
			u.run(t, "from hermes_tools import terminal\nprint(terminal('echo hi')['output'], end='')", "--container", id).must(t, "hi\n")
			u.Docker(t, "exec", id, "pkill", "-INT", "-f", "script.py")
			living.wait(t)
			u.run(t, fmt.Sprintf(alone, 1), "--container", id, "--timeout", "60s").must(t, "swept\n")
		})
	}
}

// B021: what a script leaves running, with its output, holds nothing up and does not stay.
func TestDockerBackgroundChild(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	id := u.Container(t, u.Image)
	const code = "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\nprint('done')"
	u.run(t, code, "--container", id, "--timeout", "60s").must(t, "done\n")
	u.idle(t, id, 0)
	u.run(t, code, "--timeout", "60s").must(t, "done\n")
}

// P212: each of many runs at once has a container of its own, gets its own answer, and leaves none.
func TestDockerManyAtOnce(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	const runs, atOnce = 20, 5
	var work sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for i := range runs {
		work.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			u.run(t, fmt.Sprintf("import time\nfor i in range(3): print(%d, i, flush=True); time.sleep(0.1)", i)).
				must(t, fmt.Sprintf("%d 0\n%[1]d 1\n%[1]d 2\n", i))
		})
	}
	work.Wait()
}

// B097: 125, 126 and 127 are the script's where the script says so.
func TestDockerStatuses(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for _, status := range []int{1, 2, 124, 125, 126, 127, 130, 137, 255} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			r := u.run(t, fmt.Sprintf("import sys; sys.exit(%d)", status))
			r.failed(t, status, hermes.KindScript)
			if exitCode(r.Result) != status {
				t.Errorf("exit code %d", exitCode(r.Result))
			}
		})
	}
	t.Run("a signal", func(t *testing.T) {
		t.Parallel()
		u.run(t, "import os; os.kill(os.getpid(), 11)").failed(t, 139, hermes.KindSignal)
	})
}

// B008: what was printed is there, however often: of scripts in one container, and of agents that are
// executed in one.
func TestDockerOutputIsNeverEmpty(t *testing.T) {
	e := engine(t)
	settings := config.Defaults()
	settings.Backend, settings.Docker.Image = "docker", e.Image
	vars := environ()
	vars["DOCKER_HOST"], vars["TMPDIR"] = e.Endpoint, testenv.TempDir(t)
	vars["HERMES_HOME"] = vars["TMPDIR"]
	t.Run("scripts", func(t *testing.T) {
		t.Parallel()
		echo(t, settings, vars, 300)
	})
	t.Run("agents", func(t *testing.T) {
		t.Parallel()
		entered := settings
		entered.Docker.Container = e.Container(t, e.Image)
		for range 30 {
			echo(t, entered, vars, 5)
		}
	})
}
