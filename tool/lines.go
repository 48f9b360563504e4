package tool

import (
	"context"
	"strings"
	"unicode"
)

// tolerance is how far two lines may differ and still be the same to patch. The characters that are no
// white space never differ. From one to the next more is tolerated.
type tolerance int

const (
	exactly     tolerance = iota
	lineEnds              // white space at the end of a line, line ends among it
	indentation           // and at its start
	spacing               // and how much of it stands between two words
)

// String says what is not counted.
func (t tolerance) String() string {
	return [...]string{"nothing", "white space at line ends", "indentation", "the amount of white space"}[t]
}

// key is what has to be equal in two lines.
func (t tolerance) key(line string) string {
	switch t {
	case exactly:
		return line
	case lineEnds:
		return strings.TrimRightFunc(line, unicode.IsSpace)
	case indentation:
		return strings.TrimSpace(line)
	default:
		return strings.Join(strings.Fields(line), " ")
	}
}

// keys is key for many lines.
func (t tolerance) keys(lines []string) []string {
	keys := make([]string, len(lines))
	for i, line := range lines {
		keys[i] = t.key(line)
	}
	return keys
}

// seekSteps is how many places seek looks at between two looks at its ctx.
const seekSteps = 256

// seek returns where the lines of part follow one another in lines, from a line on; at most limit
// places. Both are keys. That may take long: it stops when ctx ends, and tells so.
func seek(ctx context.Context, lines, part []string, from, limit int) ([]int, error) {
	var places []int
	for at := from; at+len(part) <= len(lines) && len(places) < limit; at++ {
		if (at-from)%seekSteps == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if equal(lines[at:at+len(part)], part) {
			places = append(places, at)
		}
	}
	return places, nil
}

func equal(a, b []string) bool {
	for i, line := range b {
		if a[i] != line {
			return false
		}
	}
	return true
}

// splitLines returns the lines of a text, each with its end.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// cutEnd splits a line from its end.
func cutEnd(line string) (text, end string) {
	text = strings.TrimSuffix(line, "\n")
	if text != line {
		text = strings.TrimSuffix(text, "\r")
	}
	return text, line[len(text):]
}

// cutIndent splits a line from the white space that it begins with.
func cutIndent(line string) (indent, rest string) {
	rest = strings.TrimLeftFunc(line, unicode.IsSpace)
	return line[:len(line)-len(rest)], rest
}

// fit brings lines into the form of those of a file: with its line ends, and indented as it is where
// before was found. Before are the lines that were looked for, found is how they stand in the file, and
// after are those to put there.
type fit struct {
	end     string
	indents []indented
	unit    string // of spaces, which are a tab in the file; "": none
}

// indented is an indentation of before and what it is in the file.
type indented struct{ want, have string }

// newFit compares lines. It is false where the indentation of one line would have to become two: then
// nobody knows what is meant.
func newFit(before, found []string) (*fit, bool) {
	f := &fit{end: "\n"}
	seen := map[indented]bool{} // many lines have few indentations, all of which are compared below
	for i, line := range before {
		text, end := cutEnd(found[i])
		if end != "" {
			f.end = end
		}
		want, rest := cutIndent(line)
		have, _ := cutIndent(text)
		if rest == "" {
			continue
		}
		if known := (indented{want, have}); !seen[known] {
			seen[known] = true
			f.indents = append(f.indents, known)
		}
		if n := strings.Count(have, "\t"); n > 0 && n == len(have) && len(want)%n == 0 && strings.Trim(want, " ") == "" {
			f.unit = want[:len(want)/n]
		}
	}
	return f, f.ordered()
}

// ordered tells whether what is indented more stays so: in Python that is the meaning.
func (f *fit) ordered() bool {
	for _, a := range f.indents {
		for _, b := range f.indents {
			deeper := len(a.want) < len(b.want) && strings.HasPrefix(b.want, a.want)
			if a.want == b.want && a.have != b.have || deeper && (a.have == b.have || !strings.HasPrefix(b.have, a.have)) {
				return false
			}
		}
	}
	return true
}

// line is a line of after as the file has it, without its end.
func (f *fit) line(text string) string {
	indent, rest := cutIndent(text)
	if rest == "" {
		return text
	}
	var best *indented
	for i, known := range f.indents {
		if strings.HasPrefix(indent, known.want) && (best == nil || len(known.want) > len(best.want)) {
			best = &f.indents[i]
		}
	}
	if best == nil { // it is indented less than anything that is known
		return f.less(indent) + rest
	}
	return best.have + f.tabs(indent[len(best.want):]) + rest
}

// less is an indentation that no known one begins: the least of the file's, with so much of it gone as
// is gone here.
func (f *fit) less(indent string) string {
	for _, known := range f.indents {
		if gone, ok := strings.CutPrefix(known.want, indent); ok {
			if shorter, ok := strings.CutSuffix(known.have, f.tabs(gone)); ok {
				return shorter
			}
		}
	}
	return indent
}

// tabs is an indentation with the file's tabs.
func (f *fit) tabs(indent string) string {
	if f.unit == "" {
		return indent
	}
	return strings.ReplaceAll(indent, f.unit, "\t")
}
