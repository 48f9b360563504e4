//go:build unix

package hermes_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// leaveFiles is a script that leaves artifacts of several kinds, and what is none.
const leaveFiles = `
import os
d = os.environ["HERMES_ARTIFACTS"]
os.makedirs(d + "/sub/deep")
with open(d + "/plot.png", "wb") as f: f.write(b"\x89PNG\r\n\x1a\n" + bytes(1000))
with open(d + "/sub/deep/\u00e4.csv", "w") as f: f.write("a,b\n")
with open(d + "/page", "w") as f: f.write("<html>")
open(d + "/empty.txt", "w").close()
os.symlink("/etc/passwd", d + "/link")
os.mkfifo(d + "/fifo")
`

// artifacts are those that leaveFiles leaves, below dir.
func artifacts(dir string) []hermes.Artifact {
	return []hermes.Artifact{
		{Path: filepath.Join(dir, "empty.txt"), Bytes: 0, MediaType: "text/plain; charset=utf-8"},
		{Path: filepath.Join(dir, "page"), Bytes: 6, MediaType: "text/html; charset=utf-8"},
		{Path: filepath.Join(dir, "plot.png"), Bytes: 1008, MediaType: "image/png"},
		{Path: filepath.Join(dir, "sub/deep/ä.csv"), Bytes: 4, MediaType: "text/csv; charset=utf-8"},
	}
}

func TestArtifacts(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		t.Helper()
		e := open(t, o)
		dir := filepath.Join(t.TempDir(), "made", "here")
		got := e.Run(t.Context(), hermes.Script{Code: []byte(leaveFiles), Artifacts: dir})
		if want := artifacts(dir); got.Status != hermes.Success || got.Warning != "" || !reflect.DeepEqual(got.Artifacts, want) {
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
	want := "2 artifact(s) with 268435457 bytes were left out: at most 1000 files and 256 MiB are brought back"
	if len(got.Artifacts) != 1000 || got.Warning != want || !strings.HasSuffix(got.Artifacts[0].Path, "/0001") {
		t.Errorf("%d artifacts, %q", len(got.Artifacts), got.Warning)
	}
}

// Every cell of a session has the directory to itself.
func TestArtifactsOfCells(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		t.Helper()
		sessions := hermes.NewSessions(nil)
		testenv.CloseAfter(t, sessions)
		run := func(code, dir string) *hermes.Result {
			return sessions.Run(t.Context(), "s", o, hermes.Script{Code: []byte(code), Artifacts: dir}, false)
		}
		one, two := t.TempDir(), t.TempDir()
		if got := run(leaveFiles, one); !reflect.DeepEqual(got.Artifacts, artifacts(one)) {
			t.Errorf("%+v", got)
		}
		if got := run("print(os.path.exists(d))", ""); got.Output != "False\n" || got.Artifacts != nil {
			t.Errorf("%+v", got)
		}
		got := run("open(d + '/b', 'w').close()\nprint(x := 1)", two)
		if len(got.Artifacts) != 1 || got.Artifacts[0].Path != filepath.Join(two, "b") || got.Execution != "kernel" {
			t.Errorf("%+v", got)
		}
	})
}
