package main

import (
	"cmp"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// look is what may be shown to whoever reads an output. The zero value is for a program, a file and a
// pipe: plain ASCII, a row a line.
type look struct {
	colour bool // escapes for colours
	glyphs bool // characters beyond ASCII of our own
	width  int  // in characters, at which lines are wrapped; 0: nowhere
}

// lookOf tells what suits w. A dumb terminal gets lines that fit and nothing else; NO_COLOR (set to
// anything) takes the colours away alone, as no-color.org has it.
func (a *app) lookOf(w io.Writer) look {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return look{}
	}
	l := look{width: usualWidth}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		l.width = width
	}
	if a.dumb() {
		return l
	}
	l.colour = a.environ["NO_COLOR"] == ""
	locale := cmp.Or(a.environ["LC_ALL"], a.environ["LC_CTYPE"], a.environ["LANG"])
	locale = strings.ReplaceAll(strings.ToLower(locale), "-", "")
	l.glyphs = strings.Contains(locale, "utf8")
	return l
}

// dumb reports whether a terminal of the caller's understands no escapes.
func (a *app) dumb() bool { return a.environ["TERM"] == "dumb" || a.environ["TERM"] == "" }

// colour is the parameter of an escape that changes how text looks.
type colour string

const (
	bold   colour = "1"
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
)

// paint colours a text where that is wanted.
func (l look) paint(c colour, text string) string {
	if !l.colour || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// wrap breaks a text into lines of so many characters, at spaces: a longer word stays whole, so that a
// path can be copied. 0 breaks at its own ends of lines alone. What a terminal would obey is not let through.
func wrap(text string, width int) []string {
	lines := []string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.Map(visible, line))
		if width > 0 {
			lines = append(lines, fill(strings.Fields(line), width)...)
		} else if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// fill puts words into lines.
func fill(words []string, width int) (lines []string) {
	line, length := "", 0
	for _, word := range words {
		n := len([]rune(word))
		switch {
		case line == "":
			line, length = word, n
		case length+1+n > width:
			lines = append(lines, line)
			line, length = word, n
		default:
			line, length = line+" "+word, length+1+n
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// visible turns what a terminal would obey into spaces.
func visible(r rune) rune {
	if unicode.IsGraphic(r) {
		return r
	}
	return ' '
}
