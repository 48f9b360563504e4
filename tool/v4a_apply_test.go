//go:build unix

package tool

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestV4A(t *testing.T) { eachWorld(t, testV4A) }

func testV4A(t *testing.T, w *world) {
	t.Helper()
	args := func(lines ...string) object {
		return object{"mode": "patch", "patch": v4aBegin + "\n" + strings.Join(lines, "\n") + "\n" + v4aEnd}
	}
	fresh := func(t *testing.T) {
		t.Helper()
		entries, err := os.ReadDir(w.dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") { // it is the agent's, whose home this is
				continue
			}
			if err := os.RemoveAll(filepath.Join(w.dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
		w.put("a", "one\ntwo\n")
		w.put("b", "\ufeffx\r\ny\r\n")
		w.put("gone", "\xff")
	}
	// files are all files below the directory.
	files := func(t *testing.T) map[string]string {
		t.Helper()
		found := map[string]string{}
		err := filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			if err == nil && !d.IsDir() {
				name, _ := filepath.Rel(w.dir, path)
				found[name] = w.get(name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}

	t.Run("all kinds at once", func(t *testing.T) {
		fresh(t)
		if err := os.Chmod(w.dir+"/b", 0o640); err != nil {
			t.Fatal(err)
		}
		o := w.ok("patch", args(
			"*** Update File: a", "-one", "+1", "@@", "-two", "+2",
			"*** Update File: b", "*** Move to: sub/c", " x", "-y", "+z",
			"*** Add File: sub/new", "+hello", "+", "*** Delete File: gone"))
		want := map[string]string{"a": "1\n2\n", "sub/c": "\ufeffx\r\nz\r\n", "sub/new": "hello\n\n"}
		if got := files(t); !reflect.DeepEqual(got, want) {
			t.Errorf("%q", got)
		}
		if info, err := os.Stat(w.dir + "/sub/c"); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%v, %v", info, err)
		}
		if o["replacements"] != 5.0 || o["status"] != "success" || o["diff"] != nil || o["note"] != nil {
			t.Errorf("%v", o)
		}
	})
	t.Run("a diff", func(t *testing.T) {
		fresh(t)
		patch := args("*** Update File: a", "-two", "+2", "*** Update File: b", "*** Move to: c", "*** Add File: d", "+d", "*** Delete File: gone")
		patch["diff"] = true
		o := w.ok("patch", patch)
		want := "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\nrename from b\nrename to c\n" +
			"--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+d\ndeleted file gone\n"
		if o["diff"] != want || !reflect.DeepEqual(o["files_modified"], []any{"a", "b", "c", "d", "gone"}) {
			t.Errorf("%q, %v", o["diff"], o["files_modified"])
		}
	})
	t.Run("a symlink stays one", func(t *testing.T) {
		fresh(t)
		for _, link := range []string{"link", "dropped"} {
			if err := os.Symlink("a", filepath.Join(w.dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		w.ok("patch", args("*** Update File: link", "-one", "+1"))
		w.ok("patch", args("*** Delete File: dropped"))
		target, err := os.Readlink(w.dir + "/link")
		if got := files(t); err != nil || target != "a" || got["a"] != "1\ntwo\n" || slices.Contains(keysOf(got), "dropped") {
			t.Errorf("%q, %v: %q", target, err, got)
		}
	})
	t.Run("nothing if one part fails", func(t *testing.T) {
		for want, part := range map[string][]string{
			"its lines were not found":           {"*** Update File: b", "-nothing", "+z"},
			"gone: is not UTF-8 text":            {"*** Update File: gone", "+z"},
			"none: no such file or directory":    {"*** Update File: none", "+z"},
			"none2: no such file or directory":   {"*** Delete File: none2"},
			"b: is there already":                {"*** Add File: b", "+z"},
			"gone: is there already":             {"*** Update File: b", "*** Move to: gone"},
			"not a directory":                    {"*** Add File: b/c", "+z"},
			"sub/: is the name of a directory":   {"*** Add File: sub/", "+z"},
			".: is a directory":                  {"*** Delete File: ."},
			"the patch names ./a twice":          {"*** Update File: ./a", "+z"},
			"the patch names new2/../new2 twice": {"*** Add File: new2", "+z", "*** Add File: new2/../new2", "+z"},
		} {
			fresh(t)
			before := files(t)
			w.fails("patch", args(slices.Concat([]string{"*** Add File: sub/new", "+hello", "*** Update File: a", "-one", "+1"}, part)...), want)
			if got := files(t); !reflect.DeepEqual(got, before) {
				t.Errorf("%s: %q", want, got)
			}
		}
	})
	t.Run("what was done is undone", func(t *testing.T) {
		fresh(t)
		if err := os.MkdirAll(w.dir+"/full", 0o755); err != nil {
			t.Fatal(err)
		}
		before := files(t)
		// The directory of the move is a file by then: only the last step can find that out.
		w.fails("patch", args("*** Add File: x", "+hello", "*** Update File: a", "-one", "+1", "*** Delete File: gone", "*** Update File: b", "*** Move to: x/y"), "x/y: ")
		if got := files(t); !reflect.DeepEqual(got, before) {
			t.Errorf("%q", got)
		}
	})
}

func keysOf(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}
