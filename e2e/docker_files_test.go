//go:build unix

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// ownerOf says whose a file of this machine is.
func ownerOf(t *testing.T, name string) (uid, gid uint32) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Skip("files have no owners here")
	}
	return stat.Uid, stat.Gid
}

// B064: TestDockerTools has every tool for files act in the container, with what it does on this machine.
func TestDockerTools(t *testing.T) {
	e := engine(t)
	const code = `
import os, tempfile
from hermes_tools import write_file, patch, read_file, search_files, terminal
here = tempfile.mkdtemp()
os.chdir(here)
def show(**answer): print(sorted(answer.items()).__str__().replace(here, "HERE"))
show(**write_file("a/notes.txt", "one\ntwo é\n"))
show(**patch("a/notes.txt", "two", "2", diff=True))
show(**read_file("a/notes.txt"))
show(**search_files("^2", path="a"))
show(**search_files("*.txt", target="files"))
show(**terminal("cat a/notes.txt; pwd; cd /; exit 3"))
show(**terminal("pwd", workdir="a"))
show(**read_file("none"))
show(**write_file(here, "a directory"))
print(open("a/notes.txt").read(), os.listdir("a"))
open("/tmp/hx-e2e-was-here", "w").close()
`
	c := newCaller(t, e)
	there := c.script(t, code, "--image", e.Image)
	if _, err := os.Stat("/tmp/hx-e2e-was-here"); err == nil {
		t.Error("the script ran on this machine")
	}
	here := c.run(t, strings.ReplaceAll(code, "/tmp/hx-e2e-was-here", "here"), "--backend", "local")
	here.prints(t, here.stdout)
	there.prints(t, here.stdout)
}

// B098: TestDockerReadOnly runs scripts where little can be written.
func TestDockerReadOnly(t *testing.T) {
	e := engine(t)
	const code = `
import os
from hermes_tools import write_file, terminal
for place in "/work/x", "/tmp/x":
    print(place, "error" in write_file(place, "x"), terminal("echo x >" + place)["exit_code"])
print(os.getcwd())
`
	const temporary = "/work/x True 1\n/tmp/x False 0\n/work\n"
	for name, test := range map[string]struct {
		made []string
		want string
	}{
		"a read-only root":                  {[]string{"--read-only", "--tmpfs", "/tmp"}, temporary},
		"a work directory of somebody else": {[]string{"--read-only", "--tmpfs", "/tmp", "--tmpfs", "/work:mode=0755"}, temporary},
		"a work directory in memory": {
			[]string{"--read-only", "--tmpfs", "/tmp", "--tmpfs", "/work:uid=1000,mode=0700"}, "/work/x False 0\n/tmp/x False 0\n/work\n",
		},
		// There is memory to share, which is enough for what a run needs.
		"nothing but a read-only root": {[]string{"--read-only"}, "/work/x True 1\n/tmp/x True 1\n/work\n"},
		"another user":                 {[]string{"--read-only", "--tmpfs", "/tmp", "--user", "4321:4321"}, temporary},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := e.Container(t, append(test.made, e.Image)...)
			newCaller(t, e).script(t, code, "--container", id).prints(t, test.want)
		})
	}
}

// TestDockerUsers runs scripts as users whom the image does not know.
func TestDockerUsers(t *testing.T) {
	e := engine(t)
	const code = "import os, pathlib; p = pathlib.Path.home() / 'x'; p.write_text('x'); print(os.getuid(), os.getgid(), p.parent.parent)"
	for user, want := range map[string]string{
		"1234:4321": "1234 4321 /tmp", "1234": "1234 0 /tmp", "hermes": "1000 1000 /home", "root": "0 0 /",
	} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			newCaller(t, e).script(t, code, "--image", e.Image, "--user", user).prints(t, want+"\n")
		})
	}
	t.Run("in a container that is there", func(t *testing.T) {
		t.Parallel()
		newCaller(t, e).script(t, code, "--container", e.Container(t, e.Image), "--user", "1234:4321").prints(t, "1234 4321 /tmp\n")
	})
	t.Run("nobody of that name", func(t *testing.T) {
		t.Parallel()
		newCaller(t, e).script(t, code, "--image", e.Image, "--user", "ghost").complains(t, 125, "unable to find user ghost")
	})
}

// TestDockerDirectories runs scripts in the directories that are asked for.
func TestDockerDirectories(t *testing.T) {
	e := engine(t)
	const code = "import os; from hermes_tools import terminal; print(os.getcwd(), terminal('pwd')['output'], end='')"
	for name, test := range map[string]struct {
		flags []string
		want  string
	}{
		"the image's":             {nil, "/work"},
		"asked for":               {[]string{"--cwd", "/etc"}, "/etc"},
		"relative to the image's": {[]string{"--cwd", "../usr/lib"}, "/usr/lib"},
		"of the caller":           {[]string{"--mount-cwd"}, "/workspace"},
		"beside the caller's":     {[]string{"--mount-cwd", "--cwd", "/opt"}, "/opt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newCaller(t, e).script(t, code, append(test.flags, "--image", e.Image)...).prints(t, test.want+" "+test.want+"\n")
		})
	}
	for name, test := range map[string]struct{ dir, want string }{
		"none":                    {"/none", "/none: No such file or directory"},
		"a file":                  {"/etc/passwd", "/etc/passwd: Not a directory"},
		"not ours":                {"/root", "/root: Permission denied"},
		"in one that is not ours": {"/root/x", "/root/x: Permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newCaller(t, e).script(t, code, "--image", e.Image, "--cwd", test.dir).complains(t, 2, "working directory", test.want)
		})
	}
	t.Run("P211 the caller's is not there unless it is asked for", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t, e)
		c.script(t, "import os; print(os.path.exists('/workspace'))", "--image", e.Image).prints(t, "False\n")
		write(t, filepath.Join(c.dir, "data.csv"), "1,2\n")
		write(t, filepath.Join(c.env["HERMES_HOME"], "config.yaml"), "terminal: {docker_mount_cwd_to_workspace: true}\n")
		c.script(t, "print(open('data.csv').read(), end='')", "--image", e.Image).prints(t, "1,2\n")
	})
	t.Run("the image's that nobody may write to", func(t *testing.T) {
		t.Parallel()
		image := changed(t, e, "unwritable", "WORKDIR /usr")
		newCaller(t, e).script(t, code+"; print('error' in __import__('hermes_tools').write_file('x', ''))", "--image", image).
			prints(t, "/usr /usr\nTrue\n")
	})
	t.Run("the image's that nobody may enter", func(t *testing.T) {
		t.Parallel()
		image := changed(t, e, "closed", "WORKDIR /root")
		r := newCaller(t, e).script(t, "import os; print(os.getcwd() == os.path.dirname(__file__))", "--image", image)
		want := "hermes-exec: warning: the working directory of image " + image + " cannot be used, scripts run in the scratch: docker: enter /root: Permission denied\n"
		if r.status != 0 || r.stderr != want {
			t.Errorf("status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
		}
	})
}

// changed makes an image of the usual one with a line of a Dockerfile, which goes with the test.
func changed(t *testing.T, e testenv.Engine, name, line string) string {
	t.Helper()
	image := "hermes-exec/test:" + name
	e.Docker(t, "commit", "--change", line, "--change", "USER 1000", "--change", `ENTRYPOINT []`, e.Container(t, e.Image), image)
	t.Cleanup(func() { e.Docker(t, "rmi", image) })
	return image
}

// TestDockerVolumes mounts directories of this machine and volumes.
func TestDockerVolumes(t *testing.T) {
	e := engine(t)
	const code = "from hermes_tools import read_file, write_file; print(read_file('/data/in')['content'], 'error' in write_file('/data/out', 'x'))"
	for name, test := range map[string]struct{ dir, flag, want string }{
		"a path":            {"work/x y", "HOME/work/x y:/data", "in False\n"},
		"read-only":         {"work/x", "HOME/work/x:/data:ro", "in True\n"},
		"of the home":       {"x", "~/x:/data", "in False\n"},
		"beside the caller": {"work/x", "./x:/data", "in False\n"},
		"below the caller":  {"work/x/y", "x/y:/data", "in False\n"},
		"the caller's":      {"work", ".:/data", "in False\n"},
	} {
		t.Run("B100 "+name, func(t *testing.T) {
			t.Parallel()
			c := newCaller(t, e)
			dir := filepath.Join(c.env["HOME"], test.dir)
			write(t, filepath.Join(dir, "in"), "in")
			c.script(t, code, "--image", e.Image, "--volume", strings.Replace(test.flag, "HOME", c.env["HOME"], 1)).prints(t, test.want)
			if !strings.HasSuffix(test.flag, ":ro") {
				if uid, gid := ownerOf(t, filepath.Join(dir, "out")); int(uid) != os.Getuid() || int(gid) != os.Getgid() {
					t.Errorf("the file is one of %d:%d", uid, gid)
				}
			}
		})
	}
	t.Run("a volume", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t, e)
		volume := "hx-e2e-" + filepath.Base(c.env["HOME"])
		t.Cleanup(func() { e.Docker(t, "volume", "rm", volume) })
		// The engine gives a new volume the owner of what the image has in its place.
		c.script(t, "open('/work/x', 'w').write('kept')", "--image", e.Image, "--volume", volume+":/work").prints(t, "")
		c.script(t, "print(open('/data/x').read())", "--image", e.Image, "--volume", volume+":/data:ro").prints(t, "kept\n")
	})
	t.Run("several, in the place of the file's", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t, e)
		write(t, filepath.Join(c.env["HERMES_HOME"], "config.yaml"), "terminal: {docker_volumes: ['/none:/none']}\n")
		const code = "import os; print(os.path.exists('/none'), os.path.ismount('/a'), os.path.ismount('/b'))"
		c.script(t, code, "--image", e.Image, "--volume", ".:/a", "--volume", ".:/b:ro").prints(t, "False True True\n")
		c.script(t, code, "--image", e.Image).complains(t, 125, "bind source path does not exist: /none")
	})
	t.Run("a directory that is not there", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t, e)
		missing := filepath.Join(c.dir, "missing")
		c.script(t, code, "--image", e.Image, "--volume", missing+":/data").complains(t, 125, "bind source path does not exist: "+missing)
		if _, err := os.Stat(missing); err == nil {
			t.Error("it was made")
		}
	})
	for flag, want := range map[string]string{
		".:/data:readonly":   `flag --volume: ".:/data:readonly": unknown option "readonly": there are ro and rw`,
		".:data":             `flag --volume: ".:data": "data" is no absolute path`,
		"/data":              `flag --volume: "/data": want HOST:CONTAINER`,
		".:/run/hermes-exec": `flag --volume: ".:/run/hermes-exec": /run/hermes-exec is where hermes-exec itself and the container meet`,
	} {
		t.Run("a slip: "+flag, func(t *testing.T) {
			t.Parallel()
			newCaller(t, e).script(t, code, "--image", e.Image, "--volume", flag).complains(t, 2, want)
		})
	}
}

// A time zone that the container has no rules for is not taken for UTC in silence.
func TestDockerTimezone(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.configure(t, "timezone: Asia/Tokyo\n")
	const code = "import os, time; print(os.environ.get('TZ'), time.strftime('%z'))"
	u.run(t, code).must(t, "Asia/Tokyo +0900\n")
	r := u.run(t, code, "--volume", t.TempDir()+":/usr/share/zoneinfo")
	r.must(t, "None +0000\n")
	if r.Warning != "timezone Asia/Tokyo is not applied: the environment has no zone files (the package tzdata)" {
		t.Errorf("warning %q", r.Warning)
	}
}

// TestDockerSessionDirectory has the files of the directory that each call comes from, in one session.
func TestDockerSessionDirectory(t *testing.T) {
	e := engine(t)
	c := newCaller(t, e)
	defer c.endSessions(t)
	const code = "kept = globals().get('kept', 0) + 1; print(kept, open('in').read())"
	for _, call := range []struct {
		dir, flag, want string
		lost            hermes.Loss
	}{
		{"a", "--mount-cwd", "1 a\n", ""},
		{"a", "--mount-cwd", "2 a\n", ""},
		{"b", "--mount-cwd", "1 b\n", "target_changed"},
		{"b", "--volume=.:/work", "1 b\n", "target_changed"},
		{"a", "--volume=.:/work", "1 a\n", "target_changed"},
	} {
		c.dir = filepath.Join(c.env["HOME"], call.dir)
		write(t, filepath.Join(c.dir, "in"), call.dir)
		out := c.script(t, code, "--image", e.Image, "--session", "s", call.flag, "--output", "json")
		r := hermes.Result{}
		if err := json.Unmarshal([]byte(out.stdout), &r); err != nil {
			t.Fatalf("%v: %+v", err, out)
		}
		if r.Kernel == nil || r.Output != call.want || r.Kernel.Reason != call.lost {
			t.Errorf("%+v: %+v", call, out)
		}
	}
}

// TestDockerOwners writes files to the caller's directory, whose owner he is to be.
func TestDockerOwners(t *testing.T) {
	e := engine(t)
	const code = "import os; from hermes_tools import write_file\n" +
		"open('script', 'w').close(); write_file('tool', ''); print(os.getuid(), os.getgid(), os.access(os.path.expanduser('~'), os.W_OK))"
	owned := func(t *testing.T, c *caller, uid, gid uint32) {
		t.Helper()
		for _, name := range []string{"script", "tool"} {
			if u, g := ownerOf(t, filepath.Join(c.dir, name)); u != uid || g != gid {
				t.Errorf("%s is a file of %d:%d", name, u, g)
			}
		}
	}
	asRoot := func(t *testing.T) {
		t.Helper()
		if os.Geteuid() != 0 {
			testenv.Missing(t, "root", "the caller is to be root")
		}
	}
	t.Run("B100 root", func(t *testing.T) {
		t.Parallel()
		asRoot(t)
		c := newCaller(t, e)
		c.script(t, code, "--image", e.Image, "--mount-cwd").prints(t, "0 0 True\n")
		owned(t, c, 0, 0)
	})
	t.Run("B100 another user", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t, e)
		p := relay(t, e, listenUnix(t, filepath.Join(c.env["HOME"], "docker.sock")), 0)
		if err := os.Chmod(strings.TrimPrefix(p.host, "unix://"), 0o666); err != nil {
			t.Fatal(err)
		}
		c.env["DOCKER_HOST"] = p.host
		c.become(t, 12345, 54321)
		c.script(t, code, "--image", e.Image, "--mount-cwd").prints(t, "12345 54321 True\n")
		owned(t, c, 12345, 54321)
		c.script(t, "from hermes_tools import terminal; print(terminal('id -u')['output'], end='')", "--image", e.Image).prints(t, "1000\n")
	})
	t.Run("a user that is asked for", func(t *testing.T) {
		t.Parallel()
		asRoot(t)
		c := newCaller(t, e)
		if err := os.Chown(c.dir, 12345, 54321); err != nil {
			t.Fatal(err)
		}
		c.script(t, code, "--image", e.Image, "--mount-cwd", "--user", "12345:54321").prints(t, "12345 54321 True\n")
		owned(t, c, 12345, 54321)
	})
	t.Run("with an engine that is rootless", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t, e)
		c.env["DOCKER_HOST"] = rootless(t, e, filepath.Join(c.env["HOME"], "docker.sock")).host
		const code = "import os; print(os.getuid())"
		c.script(t, code, "--image", e.Image, "--mount-cwd").prints(t, "1000\n")
		c.script(t, code, "--image", e.Image, "--mount-cwd", "--user", "0").prints(t, "0\n")
	})
	t.Run("with an engine that is elsewhere", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t, e)
		c.env["DOCKER_HOST"] = relay(t, e, listenTCP(t), 0).host
		c.script(t, "import os; print(os.getuid())", "--image", e.Image, "--mount-cwd").prints(t, "1000\n")
	})
	// Root in a container has no capabilities, so that it may not write to what others own.
	t.Run("a directory of somebody else", func(t *testing.T) {
		t.Parallel()
		asRoot(t)
		c := newCaller(t, e)
		if err := os.Chown(c.dir, 12345, 54321); err != nil {
			t.Fatal(err)
		}
		const code = "from hermes_tools import write_file; print(write_file('tool', ''))"
		c.script(t, code, "--image", e.Image, "--mount-cwd").prints(t, "{'error': 'write_file: tool: permission denied'}\n")
	})
}
