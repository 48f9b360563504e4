package testenv_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

func TestImages(t *testing.T) {
	e := testenv.Docker(t)
	images := map[string]func(testing.TB) string{
		"image": func(testing.TB) string { return e.Image },
		"variables": func(t testing.TB) string {
			return e.Variables(t, "variables", map[string]string{"A": `a "b" \c`, "E": ""})
		},
		"entrypoint": e.Entrypoint, "nameless": e.Nameless, "posix": e.Posix, "no python": e.NoPython,
	}
	const home = `cd && pwd && touch f && cd /work && touch f`
	for _, c := range []struct {
		name, image string
		command     []string
		want        string
	}{
		{"the user is not root", "image", []string{"sh", "-c", "id -un; id -u; pwd"}, "hermes\n1000\n/work"},
		{"home and work directory are the user's", "image", []string{"sh", "-c", home}, "/home/hermes"},
		{"what scripts call", "image", []string{"sh", "-c", "for p in python3 git curl ps; do $p --version >/dev/null || echo no $p; done"}, ""},
		{"venv", "image", []string{"sh", "-c", "python3 -m venv /tmp/v && /tmp/v/bin/python -c 'print(6*7)'"}, "42"},
		{"time zones", "image", []string{"sh", "-c", "TZ=Asia/Tokyo date -d @0 +%H:%M"}, "09:00"},
		{"certificates", "image", []string{"python3", "-c", "import ssl; print(len(ssl.create_default_context().get_ca_certs()) > 50)"}, "True"},
		{"the locale is UTF-8", "image", []string{"locale", "charmap"}, "UTF-8"},
		{"the command becomes arguments", "entrypoint", []string{"python3", "-V"}, "entrypoint: python3 -V"},
		{"variables", "variables", []string{"sh", "-c", `printf %s "$A|$E|${F-none}"`}, `a "b" \c||none`},
		{"no name", "nameless", []string{"sh", "-c", "id -u; whoami 2>&1 || echo $HOME"}, "1000\nwhoami: cannot find name for user ID 1000\n/"},
		{"a POSIX locale", "posix", []string{"locale", "charmap"}, "ANSI_X3.4-1968"},
		{"a shell", "no python", []string{"sh", "-c", "echo $((6*7)); id -u; ls -d /tmp"}, "42\n0\n/tmp"},
		{"no python", "no python", []string{"sh", "-c", "which python3 python python2 || echo none"}, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"run", "--rm", "--network", "none", images[c.image](t)}, c.command...)
			if got := e.Docker(t, args...); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// It has its whole library, as far as a guest asks, and any user may run it.
func TestOldPython(t *testing.T) {
	e := testenv.Docker(t)
	image, version := e.OldPython(t)
	const script = `import sys, select, struct, socket, json, tempfile; print("%d.%d.%d" % sys.version_info[:3])`
	if got := e.Docker(t, "run", "--rm", "--user", "1000", image, "python3", "-I", "-S", "-c", script); got != version {
		t.Errorf("got %q, want %q", got, version)
	}
}

// A container that was never started counts as much as one that runs.
func TestContainersSeesLabels(t *testing.T) {
	e := testenv.Docker(t)
	label := "hx-test=" + t.TempDir() // no other container has it
	created := e.Docker(t, "create", "--label", label, e.Image)
	t.Cleanup(func() { e.Docker(t, "rm", "--force", created) })
	running := e.Container(t, "--label", label, e.Image)
	if got := e.Containers(t, label); len(got) != 2 || !slices.ContainsFunc(got, func(c string) bool { return strings.HasSuffix(c, ", Created)") }) {
		t.Errorf("two containers: %q", got)
	}
	e.Docker(t, "rm", "--force", created, running)
	e.NoContainers(t, label)
}
