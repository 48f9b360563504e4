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
