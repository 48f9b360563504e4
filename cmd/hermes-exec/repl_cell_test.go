package main

import (
	"slices"
	"strings"
	"testing"
)

func TestCellReader(t *testing.T) {
	for name, test := range map[string]struct {
		lines    string
		terminal []string // the cells, where an empty line ends a block
		pipe     []string // where it does not; nil: the same
	}{
		"statements":                     {"x = 1\nprint(x)", []string{"x = 1", "print(x)"}, nil},
		"brackets":                       {"f(1,\n2)\ny", []string{"f(1,\n2)", "y"}, nil},
		"triple quotes":                  {"s = '''a\n\"b\nif x:\n'''\ny", []string{"s = '''a\n\"b\nif x:\n'''", "y"}, nil},
		"backslash":                      {"x = 1 + \\\n2\ny", []string{"x = 1 + \\\n2", "y"}, nil},
		"string with a hash and a colon": {"s = '# :'\ny", []string{"s = '# :'", "y"}, nil},
		"comment":                        {"x = 1  # (:\ny", []string{"x = 1  # (:", "y"}, nil},
		"block":                          {"for i in x:\n  f(i)\n\ny", []string{"for i in x:\n  f(i)\n", "y"}, []string{"for i in x:\n  f(i)\n", "y"}},
		"block ended by the next":        {"for i in x:\n  f(i)\nprint(i)", []string{"for i in x:\n  f(i)", "print(i)"}, nil},
		"block on one line":              {"if x: y\nelse: z\nw", []string{"if x: y\nelse: z", "w"}, nil},
		"else":                           {"if x:\n  y\nelse:\n  z\nw", []string{"if x:\n  y\nelse:\n  z", "w"}, nil},
		"decorator":                      {"@d\ndef f():\n  pass\nf()", []string{"@d\ndef f():\n  pass", "f()"}, nil},
		"empty line in a function": {
			"def f():\n  a = 1\n\n  return a\nf()",
			[]string{"def f():\n  a = 1\n", "  return a", "f()"},
			[]string{"def f():\n  a = 1\n\n  return a", "f()"},
		},
		"empty line after a header":     {"def f():\n\n  return a\nf()", []string{"def f():\n\n  return a", "f()"}, nil},
		"comment at the margin":         {"if x:\n  y\n# so\n  z\nw", []string{"if x:\n  y\n# so\n  z", "w"}, nil},
		"names that look like headers":  {"iffy = 1\nformat(x)\nmatch = 2", []string{"iffy = 1", "format(x)", "match = 2"}, nil},
		"match":                         {"match x:\n  case 1:\n    y\nz", []string{"match x:\n  case 1:\n    y", "z"}, nil},
		"mistakes":                      {"x = 'a\ny)\nz", []string{"x = 'a", "y)", "z"}, nil},
		"header over several lines":     {"def f(a,\n b):\n  pass\nx", []string{"def f(a,\n b):\n  pass", "x"}, nil},
		"lambda and slice in a bracket": {"f(lambda:\n1)\nx[1:\n2]\ny", []string{"f(lambda:\n1)", "x[1:\n2]", "y"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if test.pipe == nil {
				test.pipe = test.terminal
			}
			for emptyEnds, want := range map[bool][]string{true: test.terminal, false: test.pipe} {
				if got := splitCells(test.lines, emptyEnds); !slices.Equal(got, want) {
					t.Errorf("an empty line ends a block: %v\n got %q\nwant %q", emptyEnds, got, want)
				}
			}
		})
	}
}

// splitCells puts a text through a cellReader.
func splitCells(text string, emptyEnds bool) []string {
	var r cellReader
	var cells []string
	for line := range strings.SplitSeq(text, "\n") {
		if done := r.add(line); done != "" {
			cells = append(cells, done)
		}
		if r.complete(emptyEnds) {
			cells = append(cells, r.take())
		}
	}
	if r.begun() {
		cells = append(cells, r.take())
	}
	return cells
}
