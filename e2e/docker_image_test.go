//go:build unix

package e2e

import (
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// TestDockerImages runs a script in images that have little in common with each other.
func TestDockerImages(t *testing.T) {
	e := engine(t)
	const code = "import os; from hermes_tools import terminal\n" +
		"print(os.getuid(), os.environ.get('USER', '?'), os.access(os.environ['HOME'], os.W_OK), 'é', terminal('echo ü')['output'], end='')"
	for name, test := range map[string]struct {
		image func(testing.TB) string
		want  string
	}{
		"a user with a home":                       {func(testing.TB) string { return e.Image }, "1000 ? True é ü\n"},
		"an entrypoint of its own":                 {e.Entrypoint, "1000 ? True é ü\n"},
		"a user without a name, a home or a group": {e.Nameless, "1000 ? True é ü\n"},
		"the POSIX locale":                         {e.Posix, "1000 ? True é ü\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newCaller(t, e).script(t, code, "--image", test.image(t)).prints(t, test.want)
		})
	}
	t.Run("from the file of settings", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t, e)
		write(t, filepath.Join(c.env["HERMES_HOME"], "config.yaml"), "terminal: {backend: docker, docker_image: '"+e.Image+"'}\n")
		c.run(t, "print('there')", "-").prints(t, "there\n")
		c.script(t, "print(1)", "--image", "127.0.0.1:1/other").complains(t, 125, "image 127.0.0.1:1/other: it is not at ")
	})
	t.Run("an interpreter by its path", func(t *testing.T) {
		t.Parallel()
		const code = "import sys; print(sys.executable)"
		c := newCaller(t, e)
		c.script(t, code, "--image", e.Image, "--python", "/usr/bin/python3").prints(t, "/usr/bin/python3\n")
		c.script(t, code, "--image", e.Image, "--python", "/opt/python").
			complains(t, 127, "no usable Python 3 in image "+e.Image, "/opt/python: not found")
	})
}

// TestDockerImagesWithoutPython tells what is missing.
func TestDockerImagesWithoutPython(t *testing.T) {
	e := engine(t)
	const unusable = 127
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		image := e.NoPython(t)
		newCaller(t, e).script(t, "print(1)", "--image", image).
			complains(t, unusable, "no usable Python 3 in image "+image, "python3: not found", "--image", "--python")
	})
	t.Run("too old", func(t *testing.T) {
		t.Parallel()
		image, version := e.OldPython(t)
		newCaller(t, e).script(t, "print(1)", "--image", image).complains(t, unusable, "Python "+version+" is older than 3.8")
	})
	t.Run("of another architecture", func(t *testing.T) {
		t.Parallel()
		r := newRegistry(t)
		const program = "\x7fELF\x02\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x16" // of an s390x
		r.tiny(t, "other", "s390x", map[string]string{"bin/python3": program, "bin/sh": program})
		unpull(t, e, r.name("other"))
		newCaller(t, e).script(t, "print(1)", "--image", r.name("other")).complains(t, unusable, "python3: made for machines of another architecture", "linux/s390x")
	})
}

// TestDockerPrograms has programs in the place of Python that are none.
func TestDockerPrograms(t *testing.T) {
	e := engine(t)
	id := e.Container(t, e.Image)
	for program, said := range map[string]string{
		"/bin/false":  "/bin/false: it ended before it greeted; ",
		"/bin/sh":     "Illegal option",
		"/bin/cat":    "cat --help",
		"/bin/echo":   "before it greeted: -I -S -c",
		"/etc/passwd": "ermission denied",
	} {
		for flag, place := range map[string]string{"--image": e.Image, "--container": id} {
			t.Run(flag+" "+program, func(t *testing.T) {
				t.Parallel()
				newCaller(t, e).script(t, "print(1)", flag, place, "--python", program).
					complains(t, 127, "no usable Python 3 in "+strings.TrimPrefix(flag, "--")+" "+place+": "+program+": ", said)
			})
		}
	}
}

// TestDockerBrokenPython has a python3 first on PATH that nothing can execute.
func TestDockerBrokenPython(t *testing.T) {
	e := engine(t)
	id := e.Container(t, e.Image)
	const broken = "echo '#!/none' > /usr/local/bin/python3 && chmod 755 /usr/local/bin/python3"
	e.Docker(t, "exec", "--user", "0", id, "sh", "-c", broken)
	image := "hermes-exec/test:broken-python"
	e.Docker(t, "commit", "--change", "ENTRYPOINT []", id, image)
	t.Cleanup(func() { e.Docker(t, "rmi", image) })
	const code = "import sys, subprocess; print(sys.executable, subprocess.check_output([sys.executable, '-c', 'print(1)']))"
	t.Run("in an image", func(t *testing.T) {
		t.Parallel()
		newCaller(t, e).script(t, code, "--image", image).prints(t, "/usr/bin/python3 b'1\\n'\n")
	})
	t.Run("in a container", func(t *testing.T) {
		t.Parallel()
		newCaller(t, e).script(t, code, "--container", id).prints(t, "/usr/bin/python b'1\\n'\n")
	})
	t.Run("by its path", func(t *testing.T) {
		t.Parallel()
		newCaller(t, e).script(t, code, "--image", image, "--python", "/usr/local/bin/python3").
			complains(t, 127, "/usr/local/bin/python3: not found")
	})
}

// TestDockerUnknownUser is told by the engine, which starts nothing then.
func TestDockerUnknownUser(t *testing.T) {
	e := engine(t)
	id := e.Container(t, e.Image)
	for user, said := range map[string]string{"ghost": "unable to find user ghost", "0:ghosts": "unable to find group ghosts"} {
		for flag, place := range map[string]string{"--image": e.Image, "--container": id} {
			t.Run(flag+" "+user, func(t *testing.T) {
				t.Parallel()
				newCaller(t, e).script(t, "print(1)", flag, place, "--user", user).
					complains(t, 125, "open "+strings.TrimPrefix(flag, "--")+" "+place+": engine at "+e.Endpoint+": ", said)
			})
		}
	}
}

// TestDockerPull fetches images that the engine does not have.
func TestDockerPull(t *testing.T) {
	e := engine(t)
	t.Run("it is told on a terminal", func(t *testing.T) {
		t.Parallel()
		r := newRegistry(t)
		r.copy(t, e, e.Image, "lab")
		count, err := strconv.Atoi(e.Docker(t, "image", "inspect", "--format", "{{len .RootFS.Layers}}", e.Image))
		if err != nil {
			t.Fatal(err)
		}
		layers := fmt.Sprintf(": %d of %[1]d layers", count+1) // copy has added one
		for _, test := range []struct {
			vars  map[string]string
			flags []string
			has   []string
			not   []string
		}{
			{has: []string{"\rhermes-exec: pulling image " + r.name("lab") + "\x1b[K", layers + ", ", "\r\x1b[Kpulled"}},
			{vars: map[string]string{"NO_COLOR": "1"}, has: []string{"pulling image " + r.name("lab") + layers}},
			{vars: map[string]string{"TERM": "dumb"}, has: []string{"hermes-exec: pulling image " + r.name("lab") + "\r\n", "pulled"}, not: []string{"\x1b", "layers"}},
			{vars: map[string]string{"CI": "true"}, has: []string{"pulled"}, not: []string{"pulling"}},
			{flags: []string{"--quiet"}, has: []string{"pulled"}, not: []string{"pulling"}},
			{flags: []string{"--session", "s"}, has: []string{layers + ", ", "\r\x1b[Kpulled"}},
		} {
			c := newCaller(t, e)
			c.env["TERM"] = "xterm"
			maps.Copy(c.env, test.vars)
			out := c.onTerminal(t, append([]string{"--backend", "docker", "--image", r.name("lab")}, test.flags...), "print('pulled')")
			for _, want := range test.has {
				if !strings.Contains(out, want) {
					t.Errorf("%v %v: %q has no %q", test.vars, test.flags, out, want)
				}
			}
			for _, unwanted := range test.not {
				if strings.Contains(out, unwanted) {
					t.Errorf("%v %v: %q has %q", test.vars, test.flags, out, unwanted)
				}
			}
			c.endSessions(t)
			e.Docker(t, "rmi", r.name("lab"))
		}
		unpull(t, e, r.name("lab"))
		newCaller(t, e).script(t, "print('pulled')", "--image", r.name("lab")).prints(t, "pulled\n") // and no more
	})
	t.Run("B097 it is not there", func(t *testing.T) {
		t.Parallel()
		r := newRegistry(t)
		newCaller(t, e).script(t, "print(1)", "--image", r.name("nothing")).
			complains(t, 125, "image "+r.name("nothing")+": it is not at "+e.Endpoint+" and could not be pulled:", "manifest unknown", "--image")
	})
	t.Run("it takes too long", func(t *testing.T) {
		t.Parallel()
		r := newRegistry(t)
		r.tiny(t, "slow", "amd64", map[string]string{"slow": r.address})
		r.slow = true
		newCaller(t, e).script(t, "print(1)", "--image", r.name("slow"), "--timeout", "2s").complains(t, 124,
			"Script timed out after 2s before it began", "open image "+r.name("slow")+": the engine at "+e.Endpoint+" was pulling it")
	})
	t.Run("a layer is damaged", func(t *testing.T) {
		t.Parallel()
		r := newRegistry(t)
		r.tiny(t, "damaged", "amd64", map[string]string{"damaged": r.address})
		blobs, err := filepath.Glob(r.dir + "/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, blob := range blobs {
			if err := os.WriteFile(blob, []byte("rubbish"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		newCaller(t, e).script(t, "print(1)", "--image", r.name("damaged")).complains(t, 125, "could not be pulled:", "verif")
	})
	t.Run("the name is none", func(t *testing.T) {
		t.Parallel()
		newCaller(t, e).script(t, "print(1)", "--image", "No Name").complains(t, 125, "image No Name", "invalid reference format")
	})
	t.Run("the network is missing, not the image", func(t *testing.T) {
		t.Parallel()
		newCaller(t, e).script(t, "print(1)", "--image", e.Image, "--network", "image-net").complains(t, 125, "network image-net not found")
	})
}

// onTerminal runs a script on a terminal and returns what that shows.
func (c *caller) onTerminal(t *testing.T, flags []string, code string) string {
	t.Helper()
	write(t, filepath.Join(c.dir, "job.py"), code)
	cmd := c.command(t, append(flags, "job.py")...)
	line := "stty cols 120; exec"
	for _, arg := range cmd.Args {
		line += " '" + arg + "'"
	}
	cmd.Path = testenv.Require(t, "script")
	cmd.Args = []string{"script", "--quiet", "--return", "--command", line, "/dev/null"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %q", err, out)
	}
	return string(out)
}

// credentialHelper makes a helper named test, which is a script.
func credentialHelper(t *testing.T, dir, script string) {
	t.Helper()
	name := filepath.Join(dir, "docker-credential-test")
	write(t, name, "#!/bin/sh\n"+script)
	if err := os.Chmod(name, 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestDockerPullWithCredentials takes those that the docker command has stored.
func TestDockerPullWithCredentials(t *testing.T) {
	e := engine(t)
	auths := func(r *registry) string {
		return fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, r.address, base64.StdEncoding.EncodeToString([]byte("me:secret")))
	}
	helper := func(t *testing.T, c *caller, answer string) {
		t.Helper()
		bin := filepath.Join(c.env["HOME"], "bin")
		credentialHelper(t, bin, answer)
		c.env["PATH"] = bin + ":" + c.env["PATH"]
	}
	t.Run("a helper that waits", func(t *testing.T) {
		t.Parallel()
		r := newRegistry(t)
		c := newCaller(t, e)
		helper(t, c, "exec sleep 600")
		write(t, filepath.Join(c.env["HOME"], ".docker/config.json"), `{"credsStore": "test"}`)
		c.script(t, "print(1)", "--image", r.name("any"), "--timeout", "2s").complains(t, 124, "Script timed out after 2s before it began")
	})
	for name, test := range map[string]struct {
		store func(*testing.T, *caller, *registry)
		want  string // of the complaint
	}{
		"in the configuration": {func(t *testing.T, c *caller, r *registry) {
			c.env["DOCKER_CONFIG"] = filepath.Join(c.env["HOME"], "elsewhere")
			write(t, filepath.Join(c.env["DOCKER_CONFIG"], "config.json"), auths(r))
		}, "no usable Python 3"},
		"in a variable": {func(_ *testing.T, c *caller, r *registry) { c.env["DOCKER_AUTH_CONFIG"] = auths(r) }, "no usable Python 3"},
		"in a helper": {func(t *testing.T, c *caller, r *registry) {
			helper(t, c, `echo "{\"ServerURL\": \"$(cat)\", \"Username\": \"me\", \"Secret\": \"secret\"}"`)
			write(t, filepath.Join(c.env["HOME"], ".docker/config.json"), fmt.Sprintf(`{"credHelpers": {%q: "test"}}`, r.address))
		}, "no usable Python 3"},
		"a helper that fails": {func(t *testing.T, c *caller, _ *registry) {
			helper(t, c, `cat >/dev/null; echo the vault is locked; exit 1`)
			write(t, filepath.Join(c.env["HOME"], ".docker/config.json"), `{"credsStore": "test"}`)
		}, "docker-credential-test: "},
		"a helper that is not there": {func(t *testing.T, c *caller, _ *registry) {
			write(t, filepath.Join(c.env["HOME"], ".docker/config.json"), `{"credsStore": "test"}`)
		}, "docker-credential-test is not on PATH"},
		"none": {func(*testing.T, *caller, *registry) {}, "no basic auth credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegistry(t)
			r.user = "me"
			r.tiny(t, "private", "amd64", map[string]string{"private": r.address})
			c := newCaller(t, e)
			test.store(t, c, r)
			// That it has no Python is what shows that it was pulled.
			status := 125
			if test.want == "no usable Python 3" {
				status = 127
				unpull(t, e, r.name("private"))
			}
			c.script(t, "print(1)", "--image", r.name("private")).complains(t, status, r.name("private"), test.want)
		})
	}
}
