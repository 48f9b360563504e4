//go:build unix

package e2e

import (
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/scripttest"
)

// TestDockerSearch and TestSSHSearch look for lines and names where a script runs: order, pages and
// counts are those of every other place.
func TestDockerSearch(t *testing.T) {
	t.Parallel()
	testSearch(t, dockerPlaces(t))
}

func TestSSHSearch(t *testing.T) {
	t.Parallel()
	testSearch(t, sshPlaces(t))
}

func testSearch(t *testing.T, places []scripttest.Place) {
	t.Helper()
	const code = `
import os, tempfile
from hermes_tools import search_files
with tempfile.TemporaryDirectory() as top:
    os.chdir(top)
    for name in ("b/z.py", "b/a.py", "b.py", "a/\u00e9.py", "build/x.py"):
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "w", encoding="utf-8") as f: f.write("one\n# TODO in %s\n# TODO\n" % name)
    with open(".gitignore", "w") as f: f.write("/build/\n")
    with open("big.log", "w") as f:
        for n in range(60000): f.write("%d a line of a log, as there are many\n" % n)
        f.write("FATAL\n")
    rows, page = [], {"next_offset": 0}
    while page["next_offset"] is not None:
        page = search_files("TODO", limit=3, offset=page["next_offset"])
        rows += ["%s:%d" % (m["path"], m["line"]) for m in page["matches"]]
    print(page["total_count"], *rows)
    print(*[m["path"] for m in search_files("*.py", target="files")["matches"]])
    print(*[m["path"] for m in search_files("TODO", path="b", output_mode="files_only")["matches"]])
    print(search_files("(?i)fatal|LINE", output_mode="count")["matches"], search_files("fatal")["total_count"])
    print(search_files("FATAL", context=1))
    os.chdir("/")
`
	const want = `8 a/é.py:2 a/é.py:3 b/a.py:2 b/a.py:3 b/z.py:2 b/z.py:3 b.py:2 b.py:3
a/é.py b/a.py b/z.py b.py
b/a.py b/z.py
[{'path': 'big.log', 'count': 60001}] 0
{'matches': [{'path': 'big.log', 'line': 60001, 'content': 'FATAL', 'before': ['59999 a line of a log, as there are many'], 'after': []}], 'total_count': 1, 'truncated': False, 'next_offset': None}
`
	inEach(t, places, nil, func(t *testing.T, env *hermes.Env) {
		t.Helper()
		got := env.Run(t.Context(), hermes.Script{Code: []byte(code)})
		if got.Output != want {
			t.Errorf("%s; %s\n%s\nwant\n%s", got.Status, got.Error, got.Output, want)
		}
	})
}
