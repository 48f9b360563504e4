//go:build unix

package tool

import (
	"errors"
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

	t.Run("both line ends", func(t *testing.T) {
		fresh(t)
		for _, c := range []struct{ before, after string }{
			{" a\n-b\n+B\n c", "a\r\nB\nc\r\nd\n"},
			{"-a\n-b\n+A\n+B\n+C", "A\r\nB\nC\nc\r\nd\n"},
			{" a\n+x\n b\n+y\n c", "a\r\nx\r\nb\ny\nc\r\nd\n"},
			{" d\n+e", "a\r\nb\nc\r\nd\ne\n"},
		} {
			w.put("m", "a\r\nb\nc\r\nd\n")
			w.ok("patch", args("*** Update File: m", "@@", c.before))
			if got := w.get("m"); got != c.after {
				t.Errorf("%q: %q, want %q", c.before, got, c.after)
			}
		}
	})
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
	t.Run("a symlink that leads nowhere goes", func(t *testing.T) {
		fresh(t)
		for _, diff := range []bool{false, true} {
			if err := os.Symlink("nowhere", filepath.Join(w.dir, "dangling")); err != nil {
				t.Fatal(err)
			}
			a := args("*** Delete File: dangling", "*** Update File: a", "-one", "+1")
			a["diff"] = diff
			w.ok("patch", a)
			if _, err := os.Lstat(filepath.Join(w.dir, "dangling")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("diff %v: %v", diff, err)
			}
			w.put("a", "one\ntwo\n")
		}
	})
	t.Run("a symlink that is moved leads to the same file", func(t *testing.T) {
		for _, tt := range []struct{ link, leads, to string }{
			{"z/ln", "a", "m"},
			{"ln", "z/a", "z/ln"},
			{"ln", "z/a", "new/deep/ln"},
		} {
			fresh(t)
			w.put("z/a", "one\n")
			if err := os.Symlink(tt.leads, filepath.Join(w.dir, tt.link)); err != nil {
				t.Fatal(err)
			}
			before := files(t)
			w.fails("patch", args("*** Add File: x", "+x", "*** Update File: "+tt.link, "*** Move to: "+tt.to, "-one", "+1"),
				tt.to+": the symlink that is to be moved there leads to "+tt.leads+", relative to its directory, and would lead elsewhere: move the file")
			if got := files(t); !reflect.DeepEqual(got, before) {
				t.Errorf("%q", got)
			}
		}
		for _, tt := range []struct{ link, leads, to string }{
			{"z/ln", "a", "z/m"},
			{"z/ln", w.dir + "/z/a", "m"},
			{"z/ln", "../z/a", "new/m"},
			{"ln", "z/../z/a", "./m"},
		} {
			fresh(t)
			w.put("z/a", "one\n")
			if err := os.Symlink(tt.leads, filepath.Join(w.dir, tt.link)); err != nil {
				t.Fatal(err)
			}
			w.ok("patch", args("*** Update File: "+tt.link, "*** Move to: "+tt.to, "-one", "+1"))
			if leads, err := os.Readlink(filepath.Join(w.dir, tt.to)); err != nil || leads != tt.leads || w.get(tt.to) != "1\n" || w.get("z/a") != "1\n" {
				t.Errorf("%q: %q, %v", tt, leads, err)
			}
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
	t.Run("a mistake in the patch", func(t *testing.T) {
		fresh(t)
		w.fails("patch", args("*** Update File: a", "-one", "y"), "patch: line 4: ")
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
