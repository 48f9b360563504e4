//go:build unix

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// callsTools prints what a file has that it wrote by a tool, and what a command printed.
const callsTools = `
import os
from hermes_tools import write_file, terminal
name = os.environ["TMPDIR"] + "/hx-tool"
write_file(name, "there\n")
print(terminal("cat " + name + "; rm " + name)["output"], end="")
`

// shells are login shells, each a program of that name.
var shells = []string{"sh", "dash", "bash", "zsh", "csh", "tcsh", "fish", "ash"}

// shell is the path of a login shell, which is also in SHELL. That of busybox goes by a name of its own.
func shell(t *testing.T, name string) string {
	t.Helper()
	if name != "ash" {
		return program(t, name)
	}
	path := filepath.Join(testenv.TempDir(t), name)
	if err := os.Symlink(program(t, "busybox"), path); err != nil {
		t.Fatal(err)
	}
	return path
}

// program is the path of a program that has to be where tests of SSH may not be skipped.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		testenv.Missing(t, "ssh", err.Error())
	}
	return path
}

// throughShell is the configuration of an sshd whose users have such a login shell: what a client asks
// for is run by it.
func throughShell(path string) []string {
	return []string{`ForceCommand exec ` + path + ` -c "$SSH_ORIGINAL_COMMAND"`, "SetEnv SHELL=" + path}
}

// B111: whatever the login shell is, scripts, tools and sessions work.
func TestSSHShells(t *testing.T) {
	t.Parallel()
	for _, name := range shells {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVisitor(t, throughShell(shell(t, name))...)
			v.run(t, callsTools).must(t, "there\n")
			v.run(t, "x = 6", "--session", "s").must(t, "")
			v.run(t, "print(x*7)", "--session", "s").must(t, "42\n")
		})
	}
}

// noise is what login files print, and words that look like those of a protocol.
const noise = "echo 'Welcome to box'; echo motd >&2; printf '\\0\\377{}\\r\\n'; "

// B110: what login files and banners print is not in the output, and disturbs nothing.
func TestSSHNoise(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]string{
		"a command":     {"ForceCommand " + noise + `eval "$SSH_ORIGINAL_COMMAND"`},
		"much":          {"ForceCommand (while echo noise; do :; done | head -c 50000); " + `eval "$SSH_ORIGINAL_COMMAND"`},
		"another shell": {"ForceCommand " + noise + `exec ` + program(t, "tcsh") + ` -c "$SSH_ORIGINAL_COMMAND"`},
		"a banner":      {"Banner /etc/passwd"},
		"files":         nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVisitor(t, lines...)
			for _, file := range []string{".bashrc", ".bash_profile", ".profile", ".zshrc", ".cshrc"} {
				write(t, filepath.Join(v.There, file), noise+"\n")
			}
			v.run(t, callsTools).must(t, "there\n")
			v.run(t, callsTools, "--session", "s").must(t, "there\n")
		})
	}
}

// B067: programs of the login shell's PATH are found.
func TestSSHLoginPath(t *testing.T) {
	t.Parallel()
	for _, name := range shells {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVisitor(t, throughShell(shell(t, name))...)
			for _, file := range []string{".profile", ".zprofile"} {
				write(t, filepath.Join(v.There, file), "echo noise; PATH=$PATH:$HOME/own/bin\n")
			}
			write(t, filepath.Join(v.There, ".login"), "echo noise; setenv PATH \"${PATH}:$HOME/own/bin\"\n")
			write(t, filepath.Join(v.There, ".config/fish/config.fish"), "echo noise; set PATH $PATH $HOME/own/bin\n")
			write(t, filepath.Join(v.There, "own/bin/mytool"), "#!/bin/sh\necho mine\n")
			if err := os.Chmod(filepath.Join(v.There, "own/bin/mytool"), 0o755); err != nil {
				t.Fatal(err)
			}
			v.run(t, "from hermes_tools import terminal\nprint(terminal('mytool')['output'], end='')").must(t, "mine\n")
		})
	}
}

// Whatever sshd refuses besides commands, everything works.
func TestSSHRefusals(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]string{
		"no forwarding":           {"AllowStreamLocalForwarding no", "AllowTcpForwarding no"},
		"nothing may be reached":  {"PermitOpen none", "PermitListen none"},
		"all is disabled":         {"DisableForwarding yes"},
		"no SFTP":                 {"Subsystem none /nowhere"},
		"no terminal and no X":    {"PermitTTY no", "X11Forwarding no", "PermitUserRC no"},
		"one session a time":      {"MaxSessions 1"},
		"two sessions a time":     {"MaxSessions 2"},
		"no compression, one MAC": {"Compression no", "MACs hmac-sha2-256", "Ciphers aes128-ctr"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVisitor(t, lines...)
			for _, transport := range []string{"uds", "tcp", "file"} {
				v.run(t, callsTools, "--transport", transport).must(t, "there\n")
			}
			// Two sessions of one server share a connection, if they may.
			for _, session := range []string{"one", "two"} {
				v.run(t, "mine = "+`"`+session+`"`, "--session", session).must(t, "")
			}
			c := v.start(t, "import time\nprint('begun', flush=True)\nfor i in range(20): print(mine, flush=True); time.sleep(0.05)", "--session", "one")
			c.until(t, "begun\n")
			v.run(t, "print(mine)", "--session", "two").must(t, "two\n")
			c.wait(t).must(t, "begun\n"+strings.Repeat("one\n", 20))
		})
	}
}

// B077, B078, B113: the sessions of a server share a connection as far as sshd lets them, and go on when one
// of them ends.
func TestSSHConnectionIsShared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		lines       []string
		connections int
	}{
		{"as many as there are", nil, 1},
		{"no more than four", []string{"MaxSessions 4"}, 2},
		{"no more than one", []string{"MaxSessions 1"}, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const sessions = 6
			v := newVisitor(t, append(c.lines, noForwarding)...)
			write(t, filepath.Join(v.home(), "config.yaml"), "code_execution:\n  max_session_kernels: 10\n")
			var work sync.WaitGroup
			for i := range sessions {
				work.Go(func() {
					v.run(t, fmt.Sprintf("mine = %d", i), "--session", strconv.Itoa(i)).must(t, "")
				})
			}
			work.Wait()
			testenv.Eventually(t, "the connections are as many as that needs", func() bool { return v.Connections() == c.connections })
			if out, err := v.command(t, "session", "end", "0").CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			for i := range sessions {
				if i > 0 {
					v.run(t, "print(mine)", "--session", strconv.Itoa(i)).must(t, fmt.Sprintln(i))
				}
			}
		})
	}
}

// A host without a usable Python says what it has and what to do.
func TestSSHPython(t *testing.T) {
	t.Parallel()
	// The agent's own words are found by their absolute path; python3 is not.
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t, `ForceCommand PATH=/nowhere; eval "$SSH_ORIGINAL_COMMAND"`)
		r := v.run(t, "print(1)")
		r.failed(t, 127, hermes.KindPython)
		for _, part := range []string{"box", "python3", "install Python 3.8 or newer there, or name one with --python"} {
			if !strings.Contains(r.Error, part) {
				t.Errorf("error %q lacks %q", r.Error, part)
			}
		}
		v.run(t, "print(6*7)", "--python", testenv.Python(t)).must(t, "42\n")
	})
	t.Run("no Python", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		for name, says := range map[string]string{
			"true": "without a word", "false": "without a word", "cat": "Try ", "echo": "-I -S -c …", "sh": "", "ssh-keygen": "",
		} {
			r := v.run(t, "print(1)", "--python", program(t, name))
			r.failed(t, 127, hermes.KindPython)
			for _, part := range []string{program(t, name) + ": ", says, "name one with --python"} {
				if !strings.Contains(r.Error, part) {
					t.Errorf("%s: error %q lacks %q", name, r.Error, part)
				}
			}
		}
	})
	t.Run("Python 2", func(t *testing.T) {
		t.Parallel()
		for _, i := range testenv.Pythons(t) {
			if i.Major == 2 {
				r := newVisitor(t).run(t, "print(1)", "--python", i.Path)
				r.failed(t, 127, hermes.KindPython)
				if !strings.Contains(r.Error, "Python 2 is older than 3.8") {
					t.Errorf("error %q", r.Error)
				}
				return
			}
		}
		testenv.Missing(t, "old-python", "no Python 2 here")
	})
	t.Run("nobody may log in", func(t *testing.T) {
		t.Parallel()
		for _, status := range []string{"0", "1", "254"} {
			v := newVisitor(t, "ForceCommand echo This account is not available; exit "+status)
			v.run(t, "print(1)").says(t, "it ended before it greeted: This account is not available")
		}
	})
	t.Run("too old", func(t *testing.T) {
		t.Parallel()
		var old testenv.Interp
		for _, i := range testenv.Pythons(t) {
			if i.Major == 3 && !i.Usable() && i.Minor > old.Minor {
				old = i
			}
		}
		if old.Path == "" {
			testenv.Missing(t, "old-python", "no Python 3 before 3.8 here")
		}
		v := newVisitor(t)
		if err := os.Symlink(old.Path, filepath.Join(v.There, "python3")); err != nil {
			t.Fatal(err)
		}
		w := newVisitor(t, "ForceCommand PATH="+v.There+`; eval "$SSH_ORIGINAL_COMMAND"`)
		r := w.run(t, "print(1)")
		r.failed(t, 127, hermes.KindPython)
		if !strings.Contains(r.Error, old.Version) {
			t.Errorf("error %q lacks %s", r.Error, old.Version)
		}
		w.run(t, "print(6*7)", "--python", testenv.Python(t)).must(t, "42\n")
	})
}

// A home that is not there, or that nobody may write to, is no hindrance.
func TestSSHNoHome(t *testing.T) {
	t.Parallel()
	v := newVisitor(t, "SetEnv HOME=/nonexistent")
	v.run(t, callsTools).must(t, "there\n")
	v.run(t, "import os, tempfile; tempfile.TemporaryFile(dir=os.environ['HOME']); print('writable')").must(t, "writable\n")
}

// A directory for temporary files that is deep, that programs may not be started from, or that is full, is
// no hindrance either.
func TestSSHTemporaryDirectories(t *testing.T) {
	t.Parallel()
	t.Run("deep", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(testenv.TempDir(t), strings.Repeat("long/", 40))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		v := newVisitor(t, "SetEnv TMPDIR="+dir)
		for _, transport := range []string{"uds", "file"} {
			v.run(t, callsTools, "--transport", transport).must(t, "there\n")
		}
	})
	// A session mounts its own there.
	mounted := func(options string) string {
		return "ForceCommand exec unshare -m sh -c 'mount -t tmpfs -o " + options + ` none "$TMPDIR" && eval "$SSH_ORIGINAL_COMMAND"'`
	}
	t.Run("not executable", func(t *testing.T) {
		t.Parallel()
		mounts(t)
		v := newVisitor(t, mounted("noexec"))
		v.run(t, callsTools).must(t, "there\n")
		v.run(t, "import os; print(bool(os.statvfs(os.environ['TMPDIR']).f_flag & os.ST_NOEXEC))").must(t, "True\n")
	})
	t.Run("full", func(t *testing.T) {
		t.Parallel()
		mounts(t)
		v := newVisitor(t, mounted("size=4k"))
		v.run(t, `
import hermes_tools, os
print(hermes_tools.terminal("echo there")["output"], end="")
print(hermes_tools.__file__.startswith(os.environ["TMPDIR"]))
`).must(t, "there\nFalse\n")
	})
}

// mounts skips the test where this user may not mount.
func mounts(t *testing.T) {
	t.Helper()
	if out, err := exec.Command(program(t, "unshare"), "-m", "mount", "-t", "tmpfs", "none", "/mnt").CombinedOutput(); err != nil {
		testenv.Missing(t, "mount", fmt.Sprintf("%v: %s", err, out))
	}
}

// B010: what was printed is there, however often.
func TestSSHOutputIsNeverEmpty(t *testing.T) {
	t.Parallel()
	h := testenv.SSHD(t)
	settings := config.Defaults()
	settings.Backend, settings.SSH.Host = "ssh", "box"
	vars := testenv.Environ()
	vars["HOME"], vars["TMPDIR"] = h.Home, testenv.TempDir(t)
	vars["HERMES_HOME"] = vars["TMPDIR"]
	t.Run("scripts", func(t *testing.T) {
		t.Parallel()
		echo(t, settings, vars, 200)
	})
	t.Run("agents", func(t *testing.T) {
		t.Parallel()
		for range 30 {
			echo(t, settings, vars, 2)
		}
	})
}

// --cwd names a directory there.
func TestSSHDirectory(t *testing.T) {
	t.Parallel()
	v := newVisitor(t)
	dir := filepath.Join(v.There, "a b")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const where = "import os; from hermes_tools import terminal; print(os.getcwd()); print(terminal('pwd')['output'], end='')"
	v.run(t, where, "--cwd", dir).must(t, dir+"\n"+dir+"\n")
	v.run(t, where, "--cwd", "~/a b").must(t, dir+"\n"+dir+"\n")
	r := v.run(t, where, "--cwd", dir+"/missing")
	r.failed(t, 2, hermes.KindUsage)
	if !strings.Contains(r.Error, dir+"/missing") {
		t.Errorf("error %q", r.Error)
	}
}
