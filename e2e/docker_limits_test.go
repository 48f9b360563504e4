//go:build unix

package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/owner"
)

// hungry takes memory until there is none.
const hungry = `
print("before", flush=True)
kept = bytearray()
while True:
    kept += b"x" * (1 << 20)
`

// exitCode is the script's status, or -1000 if none was delivered.
func exitCode(r hermes.Result) int {
	if r.ExitCode == nil {
		return -1000
	}
	return *r.ExitCode
}

// B072: whoever is killed when the memory of a container runs out, the result says so. The containers
// have removed themselves by then.
func TestDockerOutOfMemory(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	t.Run("the script", func(t *testing.T) {
		t.Parallel()
		r := u.run(t, hungry, "--memory", "64m")
		r.failed(t, 137, hermes.KindOOM)
		if exitCode(r.Result) != -9 || r.Output != "before\n" || r.Error != "Script was killed: out of memory." || !strings.Contains(r.Hint, "64 MiB") {
			t.Errorf("exit code %d, output %q, error %q, hint %q", exitCode(r.Result), r.Output, r.Error, r.Hint)
		}
	})
	t.Run("a child", func(t *testing.T) {
		t.Parallel()
		r := u.run(t, `
import subprocess, sys
r = subprocess.run([sys.executable, "-c", "x = b'x' * (1 << 30)"])
print("child", r.returncode)
sys.exit(3)
`, "--memory", "64m")
		r.failed(t, 3, hermes.KindOOM)
		if exitCode(r.Result) != 3 || r.Output != "child -9\n" || !strings.Contains(r.Hint, "--memory") {
			t.Errorf("exit code %d, output %q, hint %q", exitCode(r.Result), r.Output, r.Hint)
		}
	})
	t.Run("the script in a container of somebody else", func(t *testing.T) {
		t.Parallel()
		r := u.run(t, hungry, "--container", u.Container(t, "--memory", "64m", u.Image))
		r.failed(t, 137, hermes.KindOOM)
		if r.Hint != "" {
			t.Errorf("hint %q: its limit is not ours", r.Hint)
		}
	})
	t.Run("a child, and the script does not mind", func(t *testing.T) {
		t.Parallel()
		u.run(t, `
import subprocess, sys
print(subprocess.run([sys.executable, "-c", "x = b'x' * (1 << 30)"]).returncode)
`, "--memory", "64m").must(t, "-9\n")
	})
}

// Too little for Python itself is told as that, whoever of ours was killed for it.
func TestDockerTooLittleMemory(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	r := u.run(t, "print(1)", "--memory", "6m")
	if r.ErrorKind != hermes.KindOOM || r.Output != "" || !strings.Contains(r.Error+r.Hint, "--memory gives it more") {
		t.Errorf("status %d, %s: %q, output %q, hint %q", r.status, r.ErrorKind, r.Error, r.Output, r.Hint)
	}
}

// ours finds the pids of the agent and of its supervisors, by what they were started as, and visitors
// those of a process that somebody else has started there.
const ours = `
import os, time

def started_as(command):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid) as f:
                if f.read().startswith(command.replace(" ", "\0")):
                    yield int(pid)
        except OSError:
            pass

def ours():
    return started_as("python3 -I -S -c import")

def visitors():
    return started_as("python3 -u")

def score(pid, mode="r"):
    return open("/proc/%d/oom_score_adj" % pid, mode)
`

// The agent and the supervisors are small, but the kernel may choose them all the same.
func TestDockerOutOfMemoryOfOurs(t *testing.T) {
	t.Parallel()
	for name, pick := range map[string]string{"the agent": "min(ours())", "the supervisor": "max(ours())"} {
		for kind, flags := range map[string][]string{"a script": {"--memory", "64m"}, "a cell": {"--memory", "64m", "--session", "s"}} {
			t.Run(name+" of "+kind, func(t *testing.T) {
				t.Parallel()
				u := newUser(t)
				c := u.start(t, ours+`
print("ready", flush=True)
while score(`+pick+`).read() != "1000\n" or any(visitors()):
    time.sleep(0.01)
`+hungry, flags...)
				c.until(t, "ready")
				// Who runs the script has no right to choose the victim.
				u.Docker(t, "run", "--rm", "--user", "0", "--network", "none", "--pid", "container:"+u.container(t), u.Image,
					"python3", "-u", "-c", ours+`score(`+pick+`, "w").write("1000")`)
				r := c.wait(t)
				if r.ErrorKind != hermes.KindOOM || r.Error != "Script was killed: out of memory." || !strings.Contains(r.Output, "before") {
					t.Errorf("status %d, %s: %q, output %q", r.status, r.ErrorKind, r.Error, r.Output)
				}
				if r.Kernel != nil {
					if !r.Kernel.StateLost || !r.Kernel.Ended {
						t.Errorf("kernel %+v", r.Kernel)
					}
					u.run(t, "print(6*7)", flags...).must(t, "42\n")
				}
			})
		}
	}
}

// A cell that takes all memory loses its session's state, and the next one has a session again.
func TestDockerOutOfMemoryInSession(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	flags := []string{"--session", "s", "--memory", "64m"}
	u.run(t, "x = 1", flags...).must(t, "")
	r := u.run(t, hungry, flags...)
	if r.ErrorKind != hermes.KindOOM || r.Kernel.Reason != hermes.LostDied || !r.Kernel.StateLost || r.Output != "before\n" || r.Hint == "" {
		t.Errorf("%s: %q, hint %q, output %q, kernel %+v", r.ErrorKind, r.Error, r.Hint, r.Output, r.Kernel)
	}
	r = u.run(t, "print('x' in globals())", flags...)
	r.must(t, "False\n")
	if r.Kernel.Reason != hermes.LostDied || r.Kernel.Reused {
		t.Errorf("kernel %+v", r.Kernel)
	}
}

// A temporary directory that is full is an error of the cell that fills it, and costs no state. What is in
// it counts as memory, and who runs out of that is told.
func TestDockerFullTemp(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	flags := []string{"--session", "s", "--memory", "128m"}
	r := u.run(t, `
x = 1
with open("/tmp/big", "wb") as f:
    while True: f.write(bytes(1 << 20))
`, flags...)
	r.failed(t, 1, hermes.KindScript)
	if !strings.Contains(r.Error, "No space left on device") || r.Kernel.StateLost {
		t.Errorf("%q, kernel %+v", r.Error, r.Kernel)
	}
	u.run(t, "def f(): return x\nimport os; print(f(), os.path.getsize('/tmp/big') >> 20 > 50)", flags...).must(t, "1 True\n")
	r = u.run(t, hungry, flags...)
	r.failed(t, 137, hermes.KindOOM)
	if !strings.Contains(r.Hint, "Files in /tmp count as memory.") {
		t.Errorf("hint %q", r.Hint)
	}
	u.run(t, "import os; print(os.remove('/tmp/big'))", flags...).must(t, "None\n")
}

// B034: no process can be started any more, and the run ends all the same, with all that it started.
func TestDockerProcesses(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.configure(t, "terminal:\n  container_pids: 40\n")
	const storm = `
import os, time
while True:
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
`
	r := u.run(t, storm)
	r.failed(t, 1, hermes.KindScript)
	if !strings.Contains(r.Error, "BlockingIOError") {
		t.Errorf("error %q", r.Error)
	}
	u.gone(t)
	// One that never stops trying.
	r = u.run(t, strings.Replace(storm, "    if", "  try:\n    if", 1)+"  except OSError:\n    pass\n", "--timeout", "2s")
	r.failed(t, 124, hermes.KindTimeout)
}

// P219: what a script finds of the container's hardening, and what the engine says of it.
func TestDockerHardening(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.configure(t, "terminal:\n  container_pids: 77\n")
	c := u.start(t, `
import os, sys
facts = dict(line.rstrip("\n").split(":\t") for line in open("/proc/self/status") if ":\t" in line)
print({k: v for k, v in facts.items() if k.startswith("Cap")} , facts["NoNewPrivs"], os.getuid())
print(open("/proc/1/cmdline").read().split("\0")[0])
print(sorted(os.listdir("/sys/class/net")))
print("ready", flush=True)
import signal; signal.pause()
`, "--cpus", "0.5", "--memory", "128m", "--timeout", "20s")
	c.until(t, "ready")
	const format = `{{.HostConfig.NanoCpus}} {{.HostConfig.Memory}} {{.HostConfig.MemorySwap}} {{.HostConfig.PidsLimit}} ` +
		`{{.HostConfig.NetworkMode}} {{.HostConfig.LogConfig.Type}} {{.HostConfig.Init}} {{.HostConfig.AutoRemove}} {{.HostConfig.CapDrop}} ` +
		`{{.HostConfig.SecurityOpt}} {{.HostConfig.Privileged}}`
	const want = "500000000 134217728 134217728 77 none none true true [ALL] [no-new-privileges] false"
	if got := u.Docker(t, "inspect", "--format", format, u.container(t)); got != want {
		t.Errorf("the engine says\n%s, want\n%s", got, want)
	}
	label := u.Docker(t, "inspect", "--format", `{{index .Config.Labels "hermes-exec.owner"}}`, u.container(t))
	if m, err := owner.Parse(label); err != nil || m.PID != c.cmd.Process.Pid || m.Node != owner.Self().Node {
		t.Errorf("its owner is %q, %v; want process %d", label, err, c.cmd.Process.Pid)
	}
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	r := c.wait(t)
	r.failed(t, 130, hermes.KindInterrupted)
	const none = "0000000000000000"
	const found = "{'CapInh': '" + none + "', 'CapPrm': '" + none + "', 'CapEff': '" + none + "', 'CapBnd': '" + none + "', 'CapAmb': '" + none +
		"'} 1 1000\n/sbin/docker-init\n['lo']\nready\n"
	if !strings.HasPrefix(r.Output, found) {
		t.Errorf("the script found\n%s, want\n%s", r.Output, found)
	}
}

// Without a network a connection fails at once, and the hint names the flag.
func TestDockerNetwork(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	const fetch = "import urllib.request\nurllib.request.urlopen('http://%s/')\n"
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		for _, host := range []string{"192.0.2.1", "example.com"} {
			r := u.run(t, strings.Replace(fetch, "%s", host, 1), "--timeout", "20s")
			r.failed(t, 1, hermes.KindScript)
			if !strings.Contains(r.Hint, "--network bridge") {
				t.Errorf("%s: hint %q, error %q", host, r.Hint, r.Error)
			}
		}
	})
	t.Run("of a name", func(t *testing.T) {
		t.Parallel()
		name := strings.ReplaceAll(u.image[len("hermes-exec/test:"):], ":", "-")
		u.Docker(t, "network", "create", name)
		t.Cleanup(func() { u.Docker(t, "network", "rm", name) })
		u.run(t, "import os; print(sorted(os.listdir('/sys/class/net')))", "--network", name).must(t, "['eth0', 'lo']\n")
		r := u.run(t, strings.Replace(fetch, "%s", "nowhere.invalid", 1), "--network", name)
		r.failed(t, 1, hermes.KindScript)
		if r.Hint != "" {
			t.Errorf("hint %q", r.Hint)
		}
	})
	t.Run("unknown", func(t *testing.T) {
		t.Parallel()
		r := u.run(t, "print(1)", "--network", "no-such-network")
		r.failed(t, 125, hermes.KindBackend)
		if !strings.Contains(r.Error, "no-such-network not found") {
			t.Errorf("error %q", r.Error)
		}
	})
}

func TestDockerUnknownRuntime(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.configure(t, "terminal:\n  docker_runtime: no-such-runtime\n")
	r := u.run(t, "print(1)")
	r.failed(t, 125, hermes.KindBackend)
	if !strings.Contains(r.Error, "no-such-runtime") {
		t.Errorf("error %q", r.Error)
	}
}
