package tool

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestParseV4A(t *testing.T) {
	wrap := func(lines ...string) string {
		return v4aBegin + "\n" + strings.Join(lines, "\n") + "\n" + v4aEnd + "\n"
	}
	for name, tt := range map[string]struct{ patch, want string }{
		"no beginning":            {"*** Update File: a\n", `line 1: a patch begins with "*** Begin Patch"`},
		"empty":                   {"", "line 1: a patch begins"},
		"cut off":                 {"*** Begin Patch\n*** Update File: a\n-x", "is the patch cut off?"},
		"no file":                 {wrap(), "it changes no file"},
		"text behind the end":     {wrap("*** Delete File: a") + "more", "line 4: nothing may come after"},
		"text before a section":   {wrap("hello"), `line 2: "hello" is no beginning of a section`},
		"no path":                 {wrap("*** Add File: "), "line 2: *** Add File: needs a path"},
		"a NUL in a path":         {wrap("*** Add File: a\x00b"), "needs a path"},
		"no path to move to":      {wrap("*** Update File: a", "*** Move to:"), "line 3: *** Move to: needs a path"},
		"a new file without plus": {wrap("*** Add File: a", "+x", "y"), "line 4: every line of a new file begins with +"},
		"a removal with lines":    {wrap("*** Delete File: a", "-x"), `line 3: "-x" is no beginning of a section`},
		"no hunk":                 {wrap("*** Update File: a"), "changes nothing"},
		"context alone":           {wrap("*** Update File: a", "@@ f", " x", " y"), "line 3: nothing changes here"},
		"what goes comes back":    {wrap("*** Update File: a", "@@ f", "-1", "+1"), "line 3: nothing changes here: the lines that go and those that come are the same"},
		"and all of it":           {wrap("*** Update File: a", "-x", "+y", "@@", " x", "-y", "-z", "+y", "+z"), "line 5: nothing changes here: the lines that go"},
		"a line without a mark":   {wrap("*** Update File: a", "-x", "y"), `line 4: "y" begins with none of space, - and +`},
		"an unknown marker":       {wrap("*** Rename File: a"), "is no beginning of a section"},
		"numbers":                 {wrap("*** Update File: a", "@@ -1,3 +1,4 @@", "-x"), "line 3: @@ takes a line of the file that stands before the hunk, or nothing, and not the line numbers of a unified diff"},
		"numbers and a heading":   {wrap("*** Update File: a", "-x", "@@ -1 +1,4 @@ def f():", "-x"), "line 4: @@ takes a line of the file"},
		"numbers, not closed":     {wrap("*** Update File: a", "@@ -0,0 +1@@", "+x"), "line 3: @@ takes a line of the file"},
		"names and no numbers":    {wrap("*** Update File: a", "--- a/a", "+++ b/a", "@@ f", "-x"), "line 3: *** Update File: names the file, and not --- and +++"},
		"a unified diff":          {"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n", `line 1: a patch begins with "*** Begin Patch", and this is a unified diff: in V4A *** Update File: names a file`},
		"moved to itself":         {wrap("*** Update File: a", "*** Move to: ./a", "-x", "+y"), `line 2: a is moved to its own name: leave out "*** Move to:"`},
		"gone and made anew":      {wrap("*** Delete File: a", "*** Add File: a", "+x"), "line 3: the patch names a twice, and does one thing to a file: write_file replaces a whole one"},
		"made and changed":        {wrap("*** Add File: a", "+x", "*** Update File: a", "-x", "+y"), "line 4: the patch names a twice"},
		"changed twice":           {wrap("*** Update File: a", "-x", "+y", "*** Update File: ./a", "-z"), "the patch names ./a twice: put all of its hunks into one section"},
		"a diff of git":           {"diff --git a/a b/a\nnew file mode 100644\n", `line 1: a patch begins with "*** Begin Patch", and this is a unified diff`},
	} {
		if s, err := parseV4A(tt.patch); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "patch: ") {
			t.Errorf("%s: %v, %v, want %q", name, s, err, tt.want)
		}
	}
	got, err := parseV4A("\ufeff\n" + wrap("*** Update File: a b ", "*** Move to: c", "@@ class A", "@@   def f", " x", "", "-y", "", "@@", "+z", "*** End of File", "", "*** Add File: d", "*** Delete File: e"))
	if err != nil || len(got) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	first := got[0]
	if first.path != "a b" || first.to != "c" || len(first.hunks) != 2 || got[1].content != "" || got[2].path != "e" {
		t.Errorf("%+v", got)
	}
	if h := first.hunks[0]; strings.Join(h.anchors, "|") != "class A|def f" || len(h.lines) != 3 || h.lines[1] != (hunkLine{' ', ""}) || h.last {
		t.Errorf("%+v", h)
	}
	if h := first.hunks[1]; len(h.anchors) != 0 || !h.last || len(h.lines) != 1 {
		t.Errorf("%+v", h)
	}
}

func TestPatchText(t *testing.T) {
	const source = "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n"
	for name, tt := range map[string]struct{ text, hunks, want, note, err string }{
		"a line":                  {"a\nb\nc\n", " a\n-b\n+x\n+y", "a\nx\ny\nc\n", "", ""},
		"two hunks in order":      {"a\nb\nc\nb\n", "-a\n+1\n@@\n c\n-b\n+2", "1\nb\nc\n2\n", "", ""},
		"no place":                {"a\nb\n", "@@\n+c", "a\nb\nc\n", "names no place in the file, and was put at its end", ""},
		"an empty file":           {"", "@@\n+c", "c\n", "", ""},
		"hunks out of order":      {"a\nb\n", "-b\n+2\n@@\n-a\n+1", "", "", "its lines were not found below line 2 but on line 1: hunks are in the order of the file, and below their lines @@"},
		"an anchor":               {source, "@@ class B:\n-        return 1\n+        return 2", strings.Replace(source, "1\n\nclass B:\n    def f(self):\n        return 1", "1\n\nclass B:\n    def f(self):\n        return 2", 1), "", ""},
		"anchors one in another":  {source, "@@ class B:\n@@ def f(self):\n-        return 1\n+        return 2", strings.TrimSuffix(source, "1\n") + "2\n", "", ""},
		"above their anchor":      {source, "@@ class B:\n-class A:\n+class C:", "", "", "its lines were not found below line 5 but on line 1:"},
		"above, and at the end":   {"a\nb\nc\n", "@@ b\n-a\n+x\n*** End of File", "", "", "its lines were not found at the end of the file below line 2 but on line 1:"},
		"not above":               {"a\nb\n x\nc\n", "@@ b\n-x\n+y\n*** End of File", "", "", "at the end of the file below line 2; the nearest is line 3"},
		"above, indented":         {"  a\n  a\nb\n", "@@ b\n-a\n+x", "", "", "below line 3 but on lines 1, 2:"},
		"the nearest is above":    {"a = 1\nb\nc\n", "@@ b\n-a = 2\n+x", "", "", "below line 2; the nearest is line 1 (- what was asked for, + the file):\n-a = 2\n+a = 1"},
		"anchors out of order":    {source, "@@ class B:\n@@ class A:\n+    x = 1", "", "", `the line "class A:" was not found below line 5 but on line 1: hunks are in the order of the file`},
		"like an anchor":          {source, "@@ def f(me):\n-        return 1\n+        return 2", "", "", "the line \"def f(me):\" was not found; the nearest is line 2 (- what was asked for, + the file):\n-def f(me):\n+    def f(self):"},
		"like an anchor, above":   {source, "@@ class B:\n@@ class A(object):\n+    x = 1", "", "", `"class A(object):" was not found below line 5; the nearest is line 1`},
		"an anchor that is not":   {source, "@@ class C:\n-        return 1\n+        return 2", "", "", `the line "class C:" was not found`},
		"ambiguous":               {source, "-        return 1\n+        return 2", "", "", "occur on lines 3, 7: add more"},
		"an insertion":            {"a\nb\n", "@@ a\n+x", "a\nx\nb\n", "", ""},
		"an insertion at the end": {"a\nb\n", "+x", "a\nb\nx\n", "", ""},
		"into an empty file":      {"", "+x", "x\n", "", ""},
		"without a last end":      {"a\nb", "-b\n+c\n+d", "a\nc\nd", "", ""},
		"behind it":               {"a\nb", " b\n+c", "a\nb\nc", "", ""},
		"CRLF":                    {"a\r\nb\r\n", " a\n-b\n+c\n+d", "a\r\nc\r\nd\r\n", "", ""},
		"CRLF, but the last line": {"a\r\nb", "-b\n+c\n+d", "a\r\nc\r\nd", "", ""},
		"CRLF, behind that":       {"a\r\nb", " b\n+c\n+d", "a\r\nb\r\nc\r\nd", "", ""},
		"CRLF, nothing to find":   {"a\r\n", "+b", "a\r\nb\r\n", "", ""},
		"indented more":           {source, "@@ class A:\n def f(self):\n-    return 1\n+    if x:\n+        return 2", strings.Replace(source, "        return 1", "        if x:\n            return 2", 1), "line 2, indentation not counted", ""},
		"deeper than is known":    {"\tif x:\n\t\ta()\n", " if x:\n-    a()\n+    if y:\n+        b()\n+        if z:\n+            c()", "\tif x:\n\t\tif y:\n\t\t\tb()\n\t\t\tif z:\n\t\t\t\tc()\n", "line 1, indentation not counted", ""},
		"spaces for tabs":         {source, "@@ class A:\n \tdef f(self):\n-\t\treturn 1\n+\t\tif x:\n+\t\t\treturn 2", strings.Replace(source, "        return 1", "        if x:\n            return 2", 1), "", ""},
		"not known how deep":      {"  a()\n", "-a()\n+if x:\n+    a()", "", "", `it is on line 1 of the file, indentation not counted, but how "a()" is to be indented there is not clear`},
		"the file has it":         {"\ta\n", "-    a\n+    a ", "\ta \n", "", ""},
		"the same in the file":    {"a\nif x:\n", "-  if x:\n+if x:", "", "", "nothing changes on line 2 of the file, indentation not counted"},
		"and without an end":      {"a\nb", "-  b\n+b", "", "", "nothing changes on line 2"},
		"an empty line comes":     {"a\nb\n", "@@ a\n+", "a\n\nb\n", "", ""},
		"an empty line goes":      {"a\n\nb\n", " a\n-\n b", "a\nb\n", "", ""},
		"nothing but that goes":   {"\n", "-", "", "", ""},
		"a line that moves":       {"a\nb\n", "-a\n b\n+a", "b\na\n", "", ""},
		"the end of the file":     {"a\nb\na\n", "-a\n+x\n*** End of File", "a\nb\nx\n", "", ""},
		"not at the end":          {"a\nb\n", "-a\n+x\n*** End of File", "", "", "at the end of the file"},
		"the end, and elsewhere":  {"a\nb\nc\na\nc\n", "-a\n+x\n*** End of File", "", "", `its lines were not found at the end of the file but on lines 1, 4: leave out "*** End of File" if that is meant`},
		"the end, below a line":   {"a\nb\nc\n", "@@ a\n-b\n+x\n*** End of File", "", "", "at the end of the file but on line 2:"},
		"nothing like the end":    {"a = 1\nb\n", "-a = 2\n+x\n*** End of File", "", "", "at the end of the file; the nearest is line 1 (- what was asked for, + the file):\n-a = 2\n+a = 1"},
		"an anchor like numbers":  {"-1 of it\nb\nb\n", "@@ -1 of it\n-b\n+x", "-1 of it\nx\nb\n", "", ""},
		"lines like names":        {"a\n-- b\n", "--- b\n+++ c\n a", "", "", "its lines were not found"},
		"lines like names, there": {"-- b\na\n", "--- b\n+++ c\n a", "++ c\na\n", "", ""},
		"context keeps its bytes": {"a  \nb\n", " a\n-b\n+c", "a  \nc\n", "", ""},
		"the nearest is shown":    {"a = 1\nb = 2\n", " a = 1\n-b = 3\n+b = 4", "", "", "; the nearest is line 1"},
		"all lines go":            {"a\n", "-a", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			sections, err := parseV4A(v4aBegin + "\n" + v4aUpdate + " f\n" + tt.hunks + "\n" + v4aEnd)
			if err != nil {
				t.Fatal(err)
			}
			got, notes, err := patchText(t.Context(), tt.text, sections[0].hunks)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%q, %v; want %q", got, err, tt.err)
				}
				return
			}
			if note := strings.Join(notes, "; "); err != nil || got != tt.want || !strings.Contains(note, tt.note) {
				t.Errorf("%q, want %q; %s, %v", got, tt.want, note, err)
			}
		})
	}
}

// A text of very many lines is not taken apart: that takes more memory than was asked for.
func TestManyLines(t *testing.T) {
	for _, text := range []string{strings.Repeat("\n", maxLines+1), strings.Repeat("a", maxByLine+1)} {
		hunks := []hunk{{lines: []hunkLine{{'+', "x"}}}}
		if _, _, err := patchText(t.Context(), text, hunks); err == nil || !strings.Contains(err.Error(), "the file has more than") {
			t.Errorf("%v", err)
		}
		old, with := "b ", "c"
		a := patchArgs{OldString: &old, NewString: &with}
		if _, _, _, err := a.replaced(t.Context(), text); !errors.Is(err, errNotFound) || !strings.Contains(err.Error(), "the file has more than") {
			t.Errorf("%v", err)
		}
		if got := nearest(text, 0, "\n"); got != "" {
			t.Errorf("%q", got)
		}
		if _, err := parseV4A(v4aBegin + "\n" + text); err == nil || !strings.Contains(err.Error(), "the patch has more than") {
			t.Errorf("%v", err)
		}
		long := text + "b"
		for what, a := range map[string]patchArgs{"old_string": {OldString: &long, NewString: &with}, "new_string": {OldString: &old, NewString: &long}} {
			if _, _, _, err := a.replaced(t.Context(), "b\n"); !errors.Is(err, errNotFound) || !strings.Contains(err.Error(), what+" has more than") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if after, n, note, err := a.replaced(t.Context(), text+"b "); err != nil || n != 1 || note != "" || after != text+"c" {
			t.Errorf("%d, %q, %v", n, note, err)
		}
	}
}

// counted is a context that ends when it has been looked at so many times.
type counted struct {
	context.Context //nolint:containedctx // it is one
	left            int
}

func (c *counted) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// To look for lines may take long, for each hunk and each tolerance and in each part of a text: all of them see
// that the call has ended.
func TestSearchForLinesEnds(t *testing.T) {
	text := strings.Repeat("a\n", 3*seekSteps)
	missing := hunk{lines: []hunkLine{{'-', "b"}}}
	anchor := hunk{anchors: []string{"b"}, lines: missing.lines}
	first := hunk{anchors: []string{"a"}, lines: []hunkLine{{'+', "x"}}}
	for name, tt := range map[string]struct {
		hunks []hunk
		looks int
	}{
		"a tolerance": {[]hunk{missing}, 11},
		"an anchor":   {[]hunk{anchor}, 11},
		"a hunk":      {[]hunk{first, first, first}, 2},
	} {
		_, _, err := patchText(&counted{t.Context(), tt.looks}, text, tt.hunks)
		_, _, known := patchText(&counted{t.Context(), tt.looks + 1}, text, tt.hunks)
		if !errors.Is(err, context.Canceled) || errors.Is(known, context.Canceled) {
			t.Errorf("%s: %v, %v", name, err, known)
		}
	}
	if _, err := tolerant(&counted{t.Context(), 8}, text, "b", "c"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Whatever a patch is, it is refused or does exactly what its lines say: what stays of the file are the
// file's own lines, and what comes are those with a plus.
func FuzzV4A(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: a\n@@ x\n x\n-y\n+z\n*** End Patch", "x\ny\n")
	f.Add("*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** End Patch", "")
	f.Add("*** Begin Patch\n*** Update File: a\n*** Move to: b\n\n-\t y\r\n*** End of File\n*** End Patch", "x\r\n y")
	f.Fuzz(func(t *testing.T, patch, text string) {
		sections, err := parseV4A(patch)
		if err != nil {
			return
		}
		for _, s := range sections {
			after, _, err := patchText(t.Context(), text, s.hunks)
			if err != nil {
				continue
			}
			removed, added := 0, 0
			for _, h := range s.hunks {
				for _, l := range h.lines {
					removed += strings.Count(string(l.op), "-")
					added += strings.Count(string(l.op), "+")
				}
			}
			before, now := len(splitLines(text)), len(splitLines(after))
			if now != before-removed+added && text != "" && strings.HasSuffix(text, "\n") {
				t.Errorf("%d lines, %d removed, %d added: %d", before, removed, added, now)
			}
		}
	})
}
