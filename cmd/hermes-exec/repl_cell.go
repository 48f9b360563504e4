package main

import (
	"slices"
	"strings"
)

// cellReader puts lines together to cells, as far as that can be told without Python: a cell is a
// statement, or a block with all that belongs to it. The zero value is ready for use.
type cellReader struct {
	lines []string
	block bool // a compound statement or a decorator has begun
	open  bool // a header or a decorator waits for what it is about

	// What the lines so far have left open.
	quote string // the quotes of a string that goes on
	depth int    // brackets
	cont  bool   // the last line ends with a backslash
}

// add takes in a line. Done is a cell that ends before it, if the line shows that.
func (r *cellReader) add(line string) (done string) {
	if !r.inside() && r.block && !r.open && startsStatement(line) {
		done = r.take()
	}
	first := !r.inside()
	r.lines = append(r.lines, line)
	last := r.scan(line)
	if first {
		r.header(line)
	}
	if !r.inside() && !isEmpty(line) {
		r.open = last == ':' || strings.HasPrefix(line, "@")
	}
	return done
}

// complete tells whether the lines so far are a cell. A block is over at an empty line, if that may
// end it, else when a line shows it.
func (r *cellReader) complete(emptyEnds bool) bool {
	if len(r.lines) == 0 || r.inside() {
		return false
	}
	return !r.block || emptyEnds && !r.open && strings.TrimSpace(r.lines[len(r.lines)-1]) == ""
}

// begun tells whether there is a line that waits for others.
func (r *cellReader) begun() bool { return len(r.lines) > 0 }

// take returns the lines so far and forgets them.
func (r *cellReader) take() string {
	text := strings.Join(r.lines, "\n")
	*r = cellReader{}
	return text
}

// inside tells whether the next line belongs to the one before.
func (r *cellReader) inside() bool { return r.quote != "" || r.depth > 0 || r.cont }

// header looks at the first line of a statement.
func (r *cellReader) header(line string) {
	if startsWith(line, "if", "for", "while", "try", "with", "def", "class", "async") || strings.HasPrefix(line, "@") ||
		startsWith(line, "match") && strings.HasSuffix(strings.TrimRight(line, " \t"), ":") {
		r.block = true
	}
}

// startsStatement tells whether a line ends the block before it.
func startsStatement(line string) bool {
	return !isEmpty(line) && line[0] != ' ' && line[0] != '\t' && !startsWith(line, "else", "elif", "except", "finally")
}

// isEmpty tells whether there is nothing but a comment in a line.
func isEmpty(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// startsWith tells whether a line starts with one of the words.
func startsWith(line string, words ...string) bool {
	end := strings.IndexFunc(line, func(c rune) bool { return c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') })
	if end < 0 {
		end = len(line)
	}
	return slices.Contains(words, line[:end])
}

// scan follows strings and brackets through a line. It returns the last character that is neither
// space nor comment.
func (r *cellReader) scan(line string) (last byte) {
	r.cont = false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\':
			r.cont = i+1 == len(line)
			i++
		case r.quote != "":
			if strings.HasPrefix(line[i:], r.quote) {
				i += len(r.quote) - 1
				r.quote = ""
			}
		case c == '#':
			return last
		case c == '"' || c == '\'':
			r.quote = quoteAt(line[i:])
			i += len(r.quote) - 1
		default:
			r.bracket(c)
		}
		if c != ' ' && c != '\t' {
			last = c
		}
	}
	if len(r.quote) == 1 && !r.cont {
		r.quote = "" // a mistake that Python will tell
	}
	return last
}

func quoteAt(text string) string {
	if triple := strings.Repeat(text[:1], 3); strings.HasPrefix(text, triple) {
		return triple
	}
	return text[:1]
}

func (r *cellReader) bracket(c byte) {
	switch c {
	case '(', '[', '{':
		r.depth++
	case ')', ']', '}':
		r.depth = max(0, r.depth-1)
	}
}
