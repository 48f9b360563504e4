//go:build unix

package tool

import (
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

func TestPatch(t *testing.T) { eachWorld(t, testPatch) }

func testPatch(t *testing.T, w *world) {
	t.Helper()
	patch := func(file, old, with string, more ...object) object {
		args := object{"path": file, "old_string": old, "new_string": with}
		for _, m := range more {
			maps.Copy(args, m)
		}
		return args
	}

	t.Run("B056 literal", func(t *testing.T) {
		for _, with := range []string{`\1`, `$'…\"'`, `C:\new`, `%s {}`, `$1 ${x} \\\"`, "\ufeff\r\n\x00", ""} {
			w.put("a", "open(x) and (more)\r\nend")
			o := w.ok("patch", patch("a", "open(x)", with))
			if want := (object{"status": "success", "success": true, "replacements": 1.0}); !reflect.DeepEqual(o, want) {
				t.Errorf("%q: %v", with, o)
			}
			if got := w.get("a"); got != with+" and (more)\r\nend" {
				t.Errorf("%q became %q", with, got)
			}
		}
	})
	t.Run("ambiguity lists the places", func(t *testing.T) {
		w.put("a", "x\nx x\nyy\nx\n")
		w.fails("patch", patch("a", "x", "z"), "occurs 4 times, on lines 1, 2, 4;")
		w.put("a", "aaa")
		w.fails("patch", patch("a", "aa", "b"), "occurs 2 times, on line 1;")
		if w.get("a") != "aaa" {
			t.Error("a refused patch changed the file")
		}
		w.put("a", strings.Repeat("x\n", 100))
		w.fails("patch", patch("a", "x", "z"), "occurs more than 20 times, on lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 and further down;")
		w.put("a", strings.Repeat("x", 1<<20)) // each of which would be looked at
		w.fails("patch", patch("a", strings.Repeat("x", 1<<19), "z"), "occurs more than 20 times, on line 1 and further down;")
		w.put("a", strings.Repeat("x\n", 20))
		w.fails("patch", patch("a", "x", "z"), "occurs 20 times, on lines 1,")
		w.put("a", strings.Repeat("x\n", 100))
		if o := w.ok("patch", patch("a", "x", "xx", object{"replace_all": true})); o["replacements"] != 100.0 {
			t.Errorf("%v", o)
		}
		if w.get("a") != strings.Repeat("xx\n", 100) {
			t.Errorf("%q", w.get("a"))
		}
	})
	t.Run("replace_all shows the nearest place", func(t *testing.T) {
		all := object{"replace_all": true}
		w.put("a", "if x:\n    a = 1\n    b = 2\n")
		w.fails("patch", patch("a", "a = 1\nb = 2", "c", all), "a: old_string was not found literally, and with replace_all nothing else counts; without it, it is found on line 2, "+
			"indentation not counted; the nearest is line 2 (- what was asked for, + the file):\n-a = 1\n-b = 2\n+    a = 1\n+    b = 2")
		w.fails("patch", patch("a", "    a = 3", "c", all), "a: old_string was not found; the nearest is line 2 (- what was asked for, + the file):\n-    a = 3\n+    a = 1")
		w.put("a", "  a = 1\n    a = 1\n")
		w.fails("patch", patch("a", "\ta = 1", "c", all), "indentation not counted, it occurs on lines 1, 2:")
		w.put("a", "a\r\nb\r\n")
		w.fails("patch", patch("a", "a\nb", "c", all), "without it, it is found on line 1, white space at line ends not counted")
	})
	t.Run("characters that nobody sees are shown", func(t *testing.T) {
		const said = "u: old_string was not found; the nearest is line 1 (- what was asked for, + the file):\n"
		for _, c := range [][3]string{
			{"return\u200b 1\n", "return 1", "-return 1\n+return\\u200b 1"},
			{"x =\ufeff 1 + y\n", "x = 1 + z", "-x = 1 + z\n+x =\\ufeff 1 + y"},
			{"name = 'caf\u00e9'\n", "name = 'cafe\u0301'", `-name = 'cafe\u0301'` + "\n" + `+name = 'caf\u00e9'`},
			{"cafe\u0301\n", "caf\u00e9", `-caf\u00e9` + "\n" + `+cafe\u0301`},
			{"a\u200bb\n", "ab", "-ab\n+a\\u200bb"},
			{"name = 'café', 1\n", "name = 'café', 2", "-name = 'café', 2\n+name = 'café', 1"},
		} {
			w.put("u", c[0])
			w.fails("patch", patch("u", c[1], "c"), said+c[2])
		}
	})
	t.Run("lines without the indentation of the first are told", func(t *testing.T) {
		const source = "class A:\n    def f(self):\n        x = 1\n        return x\n"
		for _, c := range []struct{ old, with, note string }{
			{"x = 1", "if y:\n    x = 2\nelse:\n    x = 3", "new_string stands behind the indentation of line 3, and its other lines were taken as they are, which have less"},
			{"x = 1", "if y:\n            x = 2\n\n        x = 3", ""},
			{"x = 1", "y = 2", ""},
			{"        x = 1", "    if y:\n    x = 2", ""},
			{"x = 1\n        return x", "x = 1\nreturn x", "new_string stands behind the indentation of line 3, and its other lines were taken as they are, which have less"},
			{"self):\n        x = 1", "self):\n    pass", ""},
		} {
			w.put("i", source)
			o := w.ok("patch", patch("i", c.old, c.with))
			if note, _ := o["note"].(string); note != c.note || w.get("i") != strings.Replace(source, c.old, c.with, 1) {
				t.Errorf("%q by %q: %q, want %q; %q", c.old, c.with, note, c.note, w.get("i"))
			}
		}
	})
	t.Run("what stays", func(t *testing.T) {
		w.put("a", "\ufeffone\r\ntwo\r\n")
		if err := errors.Join(os.Chmod(w.dir+"/a", 0o710), os.Symlink("a", w.dir+"/link")); err != nil {
			t.Fatal(err)
		}
		w.ok("patch", patch("link", "one\r\n", "1\r\n"))
		info, err := os.Lstat(w.dir + "/a")
		if err != nil || info.Mode().Perm() != 0o710 || w.get("a") != "\ufeff1\r\ntwo\r\n" {
			t.Errorf("%v %v %q", info.Mode(), err, w.get("a"))
		}
		w.fails("patch", patch("a", "1 two", "x"), "a: old_string was not found")
	})
	t.Run("line ends", func(t *testing.T) {
		const given = "new_string was given the line ends of the file"
		for _, tt := range []struct {
			text, old, with, want, note string
			all                         bool
		}{
			{"a = 1\r\nb = 2\r\n", "a = 1", "a = 1\nc = 3", "a = 1\r\nc = 3\r\nb = 2\r\n", given, false},
			{"x\r\ny x\r\n", "x", "1\n2", "1\r\n2\r\ny 1\r\n2\r\n", given, true},
			{"a\r\nb\r\nc", "\nb", "\nx\ny", "a\r\nx\r\ny\r\nc", given, false},
			{"a\r\nb\r\nc", "\nb", "", "a\r\nc", given, false},
			{"a\r\nb\r\nc", "\n", " ", "a b c", given, true},
			{"a\r\nb\r\n", "a", "x\ry", "x\ry\r\nb\r\n", "", false},
			{"a\r\nb\n", "a", "x\ny", "x\ny\r\nb\n", "", false},
			{"a\r\nb\r\n", "a", "x\r\ny\nz", "x\r\ny\nz\r\nb\r\n", "", false},
			{"a\r\nb\r\n", "\r\n", "\n", "a\nb\n", "", true},
			{"a\r\nb\r\n", "a\r", "x\ny", "x\ny\nb\r\n", "", false},
			{"a", "a", "x\ny", "x\ny", "", false},
			{"a\r\nb\r\nc\r\n", "a\r\nb\r\n", "x\ny\n", "x\ny\nc\r\n", `the lines of old_string end in \r\n and those of new_string in \n, as they were given`, false},
			{"  a\r\n  b\nc\r\nd\n", "a\nb\n", "x\ny\nz\n", "  x\r\n  y\n  z\nc\r\nd\n", "old_string was found on line 1, indentation not counted; new_string was given the line ends and the indentation of the file", false},
			{"a\nb\n", "a", "x\ny", "x\ny\nb\n", "", false},
		} {
			w.put("a", tt.text)
			o := w.ok("patch", patch("a", tt.old, tt.with, object{"replace_all": tt.all}))
			if note, _ := o["note"].(string); w.get("a") != tt.want || note != tt.note {
				t.Errorf("%q in %q: %q, want %q; %q", tt.old, tt.text, w.get("a"), tt.want, note)
			}
		}
		w.put("a", "x\r\nx\r\n")
		w.fails("patch", patch("a", "x", "y\nz"), "occurs 2 times, on lines 1, 2;")
	})
	t.Run("UTF-16", func(t *testing.T) {
		for mark, order := range map[string]byteOrder{"\xff\xfe": binary.LittleEndian, "\xfe\xff": binary.BigEndian} {
			wide := func(s string) string {
				data := []byte(mark)
				for _, u := range utf16.Encode([]rune(s)) {
					data = order.AppendUint16(data, u)
				}
				return string(data)
			}
			w.put("a", wide("ä😀\r\nb"))
			w.ok("patch", patch("a", "😀", "€€"))
			if w.get("a") != wide("ä€€\r\nb") {
				t.Errorf("%q", w.get("a"))
			}
			w.put("a", wide("b")+"x")
			w.fails("patch", patch("a", "b", "c"), "is not UTF-16 text")
		}
	})
	t.Run("diff", func(t *testing.T) {
		w.put("a", "one\ntwo\nthree\n")
		o := w.ok("patch", patch("a", "two", "2", object{"diff": true}))
		want := "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
		if o["diff"] != want || !reflect.DeepEqual(o["files_modified"], []any{"a"}) {
			t.Errorf("%v", o)
		}
	})
	t.Run("refused", func(t *testing.T) {
		w.put("a", "x")
		w.put("binary", "x\xff")
		w.fails("patch", patch("missing", "x", "y"), "missing: no such file or directory")
		w.fails("patch", patch("binary", "x", "y"), "is not UTF-8 text")
		w.fails("patch", patch(".", "x", "y"), "is a directory")
		w.fails("patch", patch("a", "", "y"), "old_string is empty")
		w.fails("patch", patch("a", "x", "x"), "are the same")
		w.fails("patch", object{"path": "a", "old_string": "x"}, "patch: missing argument 'new_string'")
		w.fails("patch", object{"old_string": "x", "new_string": "y"}, "patch: missing argument 'path'")
		w.fails("patch", object{"path": "a"}, "patch: missing argument 'old_string', 'new_string'")
		w.fails("patch", patch(strings.Repeat("n", 300), "x", "y"), "patch: "+strings.Repeat("n", 199)+"…: file name too long")
		w.fails("patch", object{"mode": "patch"}, "missing argument 'patch'")
		w.fails("patch", object{"patch": "*** Begin Patch", "path": "a"}, "a patch names its files itself")
		if err := os.Truncate(w.dir+"/a", maxPatched+1); err != nil {
			t.Fatal(err)
		}
		w.fails("patch", patch("a", "x", "y"), "patch: a: is larger than")
		if _, err := os.Stat(w.dir + "/missing"); err == nil {
			t.Error("a refused patch made a file")
		}
	})
	t.Run("patches of one file at once all arrive", func(t *testing.T) {
		var text strings.Builder
		for i := range 20 {
			text.WriteString("<" + strconv.Itoa(i) + ">\n")
		}
		w.put("a", text.String())
		if err := os.Symlink("a", w.dir+"/alias"); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				name := []string{"a", "alias", w.dir + "/a"}[i%3]
				if _, err := w.try(t.Context(), "patch", patch(name, "<"+strconv.Itoa(i)+">", "done")); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if w.get("a") != strings.Repeat("done\n", 20) {
			t.Errorf("%q", w.get("a"))
		}
	})
}

// The text around the replaced places is untouched, whatever the texts are.
func TestReplaceIsExact(t *testing.T) {
	letters := rapid.StringMatching(`[ab\n\r\\$1€]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.StringMatching(`[ab\n€]{1,3}`).Draw(t, "before")
		after := letters.Draw(t, "after")
		parts := rapid.SliceOfN(letters, 1, 5).Draw(t, "parts")
		text := strings.Join(parts, before)
		all := rapid.Bool().Draw(t, "all")

		got, n, err := replace(text, before, after, all)
		places := occurrences(text, before)
		switch {
		case len(places) == 0 || (!all && len(places) > 1):
			if err == nil {
				t.Fatalf("no error for %d places", len(places))
			}
		case err != nil:
			t.Fatal(err)
		default:
			want := strings.Join(strings.Split(text, before), after)
			if got != want || n != strings.Count(text, before) {
				t.Fatalf("%q with %d, want %q", got, n, want)
			}
		}
	})
}

func TestDecodeTextGivesBackTheFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.ByteRange(0, 255)).Draw(t, "data")
		mark := rapid.SampledFrom([]string{"", "\xff\xfe", "\xfe\xff", "\xef\xbb\xbf"}).Draw(t, "mark")
		data = append([]byte(mark), data...)
		text, err := decodeText(data)
		if err != nil {
			return
		}
		back, err := io.ReadAll(text.encode(text.body))
		if err != nil || string(back) != string(data) {
			t.Fatalf("%q became %q", data, back)
		}
	})
}
