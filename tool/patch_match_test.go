package tool

import (
	"strconv"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestTolerant(t *testing.T) {
	for name, tt := range map[string]struct {
		text, before, after string
		want, note, err     string // want is "" where nothing is found
	}{
		"line ends": {
			"a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n",
			"x\r\ny\r\nz\r\nc\r\n", "line 1, white space at line ends not counted", "",
		},
		"the last line keeps its end": {"a\r\nb\r\n", "a\nb", "x\ny", "x\r\ny\r\n", "", ""},
		"the last line has no end":    {"a\r\n  b", "\tb", "\tx\n\ty", "a\r\n  x\r\n  y", "", ""},
		"white space at line ends":    {"a  \nb\t\nc", "a\nb", "x", "x\nc", "", ""},
		"indentation": {
			"class C:\n    def f(self):\n        return 1\n", "def f(self):\n    return 1", "def f(self):\n    if self:\n        return 2",
			"class C:\n    def f(self):\n        if self:\n            return 2\n", "line 2, indentation not counted; new_string was given", "",
		},
		"tabs": {
			"\tif x:\n\t\ty()\n", "    if x:\n        y()\n", "    if x:\n        y()\n    else:\n            z()\n",
			"\tif x:\n\t\ty()\n\telse:\n\t\t\tz()\n", "", "",
		},
		"too much of it, and less in the new text": {
			"if x:\n    y()\n", "    if x:\n        y()\n", "    if x:\n        y()\nz()\n",
			"if x:\n    y()\nz()\n", "", "",
		},
		"spaces between words": {"x = f( 1,   2 )\n", "x  =  f( 1, 2 )", "x = 3", "x = 3\n", "the amount of white space", ""},
		"a space that is none": {"x\u00a0= 1\n", "x = 1", "x = 2", "x = 2\n", "", ""},
		"other characters":     {"a = 1\nb = 2\n", "a = 1\nb = 3", "x", "", "", ""},
		"words that are one":   {"foobar\n", "foo bar", "x", "", "", ""},
		"a part of a line":     {"x = f(a,  b)\n", "f(a, b)", "x", "", "", ""},
		"white space alone":    {"a\n \nb\n", "\t\n", "x", "", "", ""},
		"twice": {
			"  a()\nb\n    a()\n", "\ta()", "x", "", "",
			"indentation not counted, it occurs on lines 1, 3:",
		},
		"indentation that is not clear": {"if x:\n  a()\nb()\n", "if x:\n    a()\n    b()", "x", "", "", ""},
		"tabs, and deeper than anything known": {
			"\tif x:\n\t\ta()\n", "if x:\n    a()", "if x:\n    a()\n    if y:\n        b()\n        if z:\n            c()",
			"\tif x:\n\t\ta()\n\t\tif y:\n\t\t\tb()\n\t\t\tif z:\n\t\t\t\tc()\n", "", "",
		},
		"tabs for two spaces": {
			"\tif x:\n\t\ta()\n", "if x:\n  a()", "if x:\n  if y:\n    b()\n    if z:\n      c()",
			"\tif x:\n\t\tif y:\n\t\t\tb()\n\t\t\tif z:\n\t\t\t\tc()\n", "", "",
		},
		"tabs in braces": {
			"\tif x {\n\t\ta()\n\t}\n", "if x {\n    a()\n}", "if x {\n    if y {\n        a()\n    }\n}",
			"\tif x {\n\t\tif y {\n\t\t\ta()\n\t\t}\n\t}\n", "", "",
		},
		"spaces for tabs": {
			"class A:\n    def f(self):\n        return 1\n", "\tdef f(self):\n\t\treturn 1", "\tdef f(self):\n\t\tif x:\n\t\t\treturn 1\n\t\treturn 2",
			"class A:\n    def f(self):\n        if x:\n            return 1\n        return 2\n", "", "",
		},
		"four spaces for two": {
			"class A:\n    def f(self):\n        return 1\n", "  def f(self):\n    return 1", "  def f(self):\n    if x:\n      return 1",
			"class A:\n    def f(self):\n        if x:\n            return 1\n", "", "",
		},
		"a step of two units": {
			"\tcase x:\n\t\t\ta()\n", "case x:\n        a()", "case x:\n    b()\n        a()\n            c()",
			"\tcase x:\n\t\tb()\n\t\t\ta()\n\t\t\t\tc()\n", "", "",
		},
		"one line, spaces for tabs": {
			"class A:\n    def f(self): pass\n", "\tdef f(self): pass", "\tdef f(self):\n\t\treturn 1",
			"class A:\n    def f(self):\n        return 1\n", "", "",
		},
		"one line, tabs for spaces": {
			"\tif x {}\n", "if x {}", "if x {\n    if y {\n        a()\n    }\n}",
			"\tif x {\n\t\tif y {\n\t\t\ta()\n\t\t}\n\t}\n", "", "",
		},
		"one line, spaces": {
			"if x:\n    a = f(1)\n", "a = f(1)", "if y:\n    a = f(1,\n          2)",
			"if x:\n    if y:\n        a = f(1,\n              2)\n", "", "",
		},
		"one line, less": {
			"class A:\n\tdef f(self):\n\t\tpass\n", "        pass", "        pass\n    def g(self): pass",
			"class A:\n\tdef f(self):\n\t\tpass\n\tdef g(self): pass\n", "", "",
		},
		"one line, another unit": {
			"if x:\n  a()\n", "a()", "if y:\n    a()", "", "",
			`old_string is on line 2, indentation not counted, but how "a()" is to be indented there is not clear: copy the indentation of the file`,
		},
		"one line, no unit in the file": {"    a()\n    \tb()\n", "\ta()", "\ta()\n\t\tb()", "", "", `how "b()" is to be indented`},
		"one line, eight spaces for a tab or two": {
			"\ta()\n", "a()", "if x:\n        a()", "", "", `how "a()" is to be indented`,
		},
		"a step and a part of one": {
			"\tif x:\n\t\ta()\n", "if x:\n    a()", "if x:\n    a(1,\n      2)", "", "", `how "2)" is to be indented`,
		},
		"tabs among spaces": {
			"class A:\n    if x:\n        a()\n", "if x:\n    a()", "if x:\n    if y:\n    \ta()", "", "", `how "a()" is to be indented`,
		},
		"spaces behind tabs": {
			"\t/*\n\t * a\n\t */\n", "/*\n * a\n */", "/*\n * b\n */\nif x {\n    a()\n}", "", "", `how "a()" is to be indented`,
		},
		"spaces behind tabs, as they are": {
			"\t/*\n\t * a\n\t */\n", "/*\n * a\n */", "/*\n * b\n * c\n */\nx()", "\t/*\n\t * b\n\t * c\n\t */\n\tx()\n", "", "",
		},
		"steps that are not the same": {
			"\tif x:\n\t\ta(\n\t\t\t\tb)\n", "if x:\n  a(\n    b)", "if x:\n  a(\n    b,\n      c)", "", "", `how "c)" is to be indented`,
		},
		"less than there is": {
			"\tif x:\n\t\ta()\n", "        if x:\n            a()", "        if x:\n            a()\nb()", "", "", `how "b()" is to be indented`,
		},
		"the indentation of the file stays": {"if x:\n\ta( 1 )\n", "\ta(  1 )", "\tif y:\n\t    a(2)", "if x:\n\tif y:\n\t    a(2)\n", "", ""},
		"nothing changes": {
			"a\r\nif x:\n", "  if x:", "if x:", "", "",
			"nothing changes: old_string is on line 2, indentation not counted, and new_string is the same in the form of the file",
		},
		"less and more is not the same": {"  a()\nif b:\n  c()\n", "a()\nif b:\nc()", "x", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := tolerant(t.Context(), tt.text, tt.before, tt.after)
			switch {
			case tt.err != "":
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%v, want %q", err, tt.err)
				}
			case err != nil:
				t.Error(err)
			case c == nil || tt.want == "":
				if c != nil || tt.want != "" {
					t.Errorf("%+v, want %q", c, tt.want)
				}
			default:
				if got := tt.text[:c.from] + c.with + tt.text[c.to:]; got != tt.want || !strings.Contains(c.note, tt.note) {
					t.Errorf("%q, want %q; %s", got, tt.want, c.note)
				}
			}
		})
	}
}

// What is replaced has the same characters but for white space, and around it nothing changes.
func TestTolerantReplacesNothingElse(t *testing.T) {
	bare := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return -1
			}
			return r
		}, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([ \t]{0,3}[ab]?[ ]{0,2}[ab]?[ ]?\r?\n){0,8}`).Draw(t, "text")
		before := rapid.StringMatching(`([ \t]{0,3}[ab]?[ ]{0,2}[ab]?\n){1,3}`).Draw(t, "before")
		c, err := tolerant(t.Context(), text, before, "x\n  y\n")
		if err != nil || c == nil {
			return
		}
		if got := text[c.from:c.to]; bare(got) != bare(before) {
			t.Fatalf("%q stands for %q", got, before)
		}
		if bare(c.with) != "xy" {
			t.Fatalf("the new text became %q", c.with)
		}
	})
}

func TestNearest(t *testing.T) {
	text := "def f():\n    a = 1\n    b = 2\n    return a\n\ndef g():\n    a = 1\n    b = 3\n    return b\n"
	for name, tt := range map[string]struct{ wanted, want string }{
		"a line differs": {
			"    a = 1\n    b = 4\n    return b\n",
			"; the nearest is line 7 (- what was asked for, + the file):\n     a = 1\n-    b = 4\n+    b = 3\n     return b",
		},
		"words are common": {
			"result = g(return_b, 3)", "",
		},
		"most words of a line": {
			"    return a + c", "; the nearest is line 4 (- what was asked for, + the file):\n-    return a + c\n+    return a",
		},
		"nothing is":        {"while True:\n    pass\n", ""},
		"more than is read": {strings.Repeat("a = 1\n", maxNearLines+1), ""},
	} {
		if got := nearest(text, 0, tt.wanted); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	if got := nearest(strings.Repeat("other\n", 50)+strings.Repeat("x", 5000)+" = 1\nb\n", 100, strings.Repeat("y", 5000)+" = 1\nb\n"); !strings.HasPrefix(got, "; the nearest is line 151 ") || len(got) > maxNearDiff+200 {
		t.Errorf("%d bytes: %.100q", len(got), got)
	}
}

// However many indentations a text has, they do not cost as much as their square: these would be minutes.
func TestManyIndents(t *testing.T) {
	var same, other strings.Builder
	var h hunk
	for n := range 1 << 16 {
		indent := strings.NewReplacer("0", " ", "1", "\t").Replace(strconv.FormatInt(int64(n), 2))
		same.WriteString(indent + "x\n")
		other.WriteString(indent + " x\n")
		h.lines = append(h.lines, hunkLine{'-', indent + "x"})
	}
	for want, text := range map[string]string{"": same.String(), "that is not clear": other.String()} {
		_, _, err := patchText(t.Context(), text, []hunk{h})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("error %.200v, want %q", err, want)
		}
	}
}
