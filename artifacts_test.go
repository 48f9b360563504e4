//go:build unix

package hermes_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
)

// leaveFiles is a script that leaves artifacts of several kinds, and what is none.
const leaveFiles = `
import os
d = os.environ["HERMES_ARTIFACTS"]
assert not os.listdir(d)
os.makedirs(d + "/sub/deep")
with open(d + "/plot.png", "wb") as f: f.write(b"\x89PNG\r\n\x1a\n" + bytes(1000))
with open(d + "/sub/deep/\u00e4.csv", "w") as f: f.write("a,b\n")
with open(d + "/page", "w") as f: f.write("<html>")
open(d + "/empty.txt", "w").close()
os.symlink("/etc/passwd", d + "/link")
os.mkfifo(d + "/fifo")
`

// oddFiles is what is said of those that leaveFiles leaves and nobody gets.
const oddFiles = "only regular files are brought back, and not fifo (a FIFO), link (a symbolic link)"

// artifacts are those that leaveFiles leaves, below dir.
func artifacts(dir string) []hermes.Artifact {
	return []hermes.Artifact{
		{Path: filepath.Join(dir, "empty.txt"), Bytes: 0, MediaType: "text/plain; charset=utf-8"},
		{Path: filepath.Join(dir, "page"), Bytes: 6, MediaType: "text/html; charset=utf-8"},
		{Path: filepath.Join(dir, "plot.png"), Bytes: 1008, MediaType: "image/png"},
		{Path: filepath.Join(dir, "sub/deep/ä.csv"), Bytes: 4, MediaType: "text/csv; charset=utf-8"},
	}
}

// leaving runs a cell whose artifacts come into dir, if that is not "".
func (c *cells) leaving(code, dir string) *hermes.Result {
	c.Helper()
	return c.set.Run(c.Context(), "s", c.options, hermes.Script{Code: []byte(code), Artifacts: dir}, false)
}

func TestArtifacts(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		t.Helper()
		e := open(t, o)
		dir := filepath.Join(t.TempDir(), "made", "here")
		got := e.Run(t.Context(), hermes.Script{Code: []byte(leaveFiles), Artifacts: dir})
		if want := artifacts(dir); got.Status != hermes.Success || got.Warning != oddFiles || !reflect.DeepEqual(got.Artifacts, want) {
			t.Errorf("%s %q %v, want %v", got.Status, got.Warning, got.Artifacts, want)
		}
		if data, err := os.ReadFile(filepath.Join(dir, "sub/deep/ä.csv")); err != nil || string(data) != "a,b\n" {
			t.Errorf("%q, %v", data, err)
		}

		// Those of a script that fails, or is ended, come too, in place of old ones.
		o.Settings.Timeout = 3e9
		slow := open(t, o)
		got = slow.Run(t.Context(), hermes.Script{
			Code:      []byte("import os, time\nopen(os.environ['HERMES_ARTIFACTS'] + '/page', 'w').write('half')\ntime.sleep(60)"),
			Artifacts: dir,
		})
		if got.Status != hermes.Timeout || len(got.Artifacts) != 1 || got.Artifacts[0].Bytes != 4 {
			t.Errorf("%s %v", got.Status, got.Artifacts)
		}
		if data, err := os.ReadFile(filepath.Join(dir, "page")); err != nil || string(data) != "half" {
			t.Errorf("%q, %v", data, err)
		}
	})
}

func TestArtifactsThatNobodyWants(t *testing.T) {
	e := open(t, options(t, "local"))
	got := e.Run(t.Context(), hermes.Script{Code: []byte("import os\nprint('HERMES_ARTIFACTS' in os.environ)")})
	if got.Output != "False\n" || got.Artifacts != nil {
		t.Errorf("%q %v", got.Output, got.Artifacts)
	}
	got = e.Run(t.Context(), hermes.Script{Code: []byte("1"), Artifacts: t.TempDir()})
	if got.Status != hermes.Success || got.Artifacts == nil || len(got.Artifacts) != 0 {
		t.Errorf("%s %v, want an empty list", got.Status, got.Artifacts)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got = e.Run(t.Context(), hermes.Script{Code: []byte("print('ran')"), Artifacts: file})
	if got.ErrorKind != hermes.KindUsage || got.Output != "" || !strings.Contains(got.Error, "directory for artifacts") {
		t.Errorf("%s %q %q", got.ErrorKind, got.Output, got.Error)
	}
}

func TestArtifactsBeyondTheLimit(t *testing.T) {
	e := open(t, options(t, "local"))
	const code = `
import os
d = os.environ["HERMES_ARTIFACTS"]
for i in range(1002): open(d + "/%04d" % i, "w").close()
with open(d + "/0000", "wb") as f: f.truncate((256 << 20) + 1)
`
	got := e.Run(t.Context(), hermes.Script{Code: []byte(code), Artifacts: t.TempDir()})
	want := "2 artifact(s) with 268435457 bytes were left out: at most 1000 files and 256 MiB are brought back, and not 0000 (268435457 bytes), 1001 (0 bytes)"
	if len(got.Artifacts) != 1000 || got.Warning != want || !strings.HasSuffix(got.Artifacts[0].Path, "/0001") {
		t.Errorf("%d artifacts, %q", len(got.Artifacts), got.Warning)
	}
}

// A name that is no UTF-8 cannot stand in a result: the file gets one that can.
func TestArtifactsWithOddNames(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		t.Helper()
		const code = `
import os
d = os.fsencode(os.environ["HERMES_ARTIFACTS"])
for name in (b"figure-10.png", b"figure-2.png", b"caf\xe9.txt", b"caf%E9.txt", b"two\nlines"):
    with open(d + b"/" + name, "wb") as f: f.write(b"x")
`
		dir := t.TempDir()
		got := open(t, o).Run(t.Context(), hermes.Script{Code: []byte(code), Artifacts: dir})
		var names []string
		for _, a := range got.Artifacts {
			names = append(names, filepath.Base(a.Path))
			if data, err := os.ReadFile(a.Path); err != nil || string(data) != "x" {
				t.Errorf("%q: %q, %v", a.Path, data, err)
			}
		}
		want := []string{"caf%E9.txt", "figure-2.png", "figure-10.png", "two\nlines"}
		if !slices.Equal(names, want) || got.Warning != "artifact caf%E9.txt was left out: another one has this name in UTF-8" {
			t.Errorf("%q, want %q; %q", names, want, got.Warning)
		}
	})
}

// Why artifacts are lost is said as it is.
func TestArtifactsThatAreLost(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		t.Helper()
		e := open(t, o)
		for code, want := range map[string]string{
			"shutil.rmtree(d)":                        "artifacts were lost: the directory $HERMES_ARTIFACTS is gone",
			"shutil.rmtree(d); os.symlink('/etc', d)": "artifacts were lost: the directory $HERMES_ARTIFACTS is no directory any more but a symbolic link",
			"shutil.rmtree(d); open(d, 'w').close()":  "artifacts were lost: the directory $HERMES_ARTIFACTS is no directory any more but a file",
			"s.bind(d + '/s')":                        "only regular files are brought back, and not s (a socket)",
			"open(d + '/a\\x1b\\n', 'wb').truncate(257 << 20)": "1 artifact(s) with 269484032 bytes were left out: at most 1000 files and 256 MiB are brought back, " +
				`and not "a\x1b\n" (269484032 bytes)`,
		} {
			got := e.Run(t.Context(), hermes.Script{
				Code:      []byte("import os, shutil, socket\nd = os.environ['HERMES_ARTIFACTS']\ns = socket.socket(socket.AF_UNIX)\n" + code),
				Artifacts: t.TempDir(),
			})
			if got.Status != hermes.Success || got.Warning != want || got.Artifacts == nil || len(got.Artifacts) > 0 {
				t.Errorf("%s: %s %q %v, want %q", code, got.Error, got.Warning, got.Artifacts, want)
			}
		}
	})
}

func TestArtifactInWords(t *testing.T) {
	for want, a := range map[string]hermes.Artifact{
		"/a b (1 byte, text/csv)":       {Path: "/a b", Bytes: 1, MediaType: "text/csv"},
		`"/a\nb\x1b[1m" (0 bytes, x/y)`: {Path: "/a\nb\x1b[1m", MediaType: "x/y"},
	} {
		if got := a.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Every cell of a session has the directory to itself.
func TestArtifactsOfCells(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		t.Helper()
		c := &cells{t, newSessions(t), o}
		one, two := t.TempDir(), t.TempDir()
		if got := c.leaving(leaveFiles, one); !reflect.DeepEqual(got.Artifacts, artifacts(one)) {
			t.Errorf("%+v", got)
		}
		const none = "from hermes_tools import terminal\nprint(os.path.exists(d), os.environ.get('HERMES_ARTIFACTS'), terminal('echo ${HERMES_ARTIFACTS-none}')['output'], end='')"
		if got := c.leaving(none, ""); got.Output != "False None none\n" || got.Artifacts != nil {
			t.Errorf("%+v", got)
		}
		if got := c.leaving("print(terminal('echo $HERMES_ARTIFACTS')['output'] == d + '\\n' == os.environ['HERMES_ARTIFACTS'] + '\\n', os.path.isdir(d))", one); got.Output != "True True\n" {
			t.Errorf("%+v", got)
		}
		got := c.leaving("open(d + '/b', 'w').close()\nprint(x := 1)", two)
		if len(got.Artifacts) != 1 || got.Artifacts[0].Path != filepath.Join(two, "b") || got.Execution != "kernel" {
			t.Errorf("%+v", got)
		}
	})
}
