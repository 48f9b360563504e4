package tool

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// The format in which models are trained to write changes of several files: sections of "*** Update File",
// "*** Add File" and "*** Delete File" between "*** Begin Patch" and "*** End Patch". A section that
// updates has hunks: lines that begin with a space stand in the file, those with "-" go, those with "+"
// come. A line "@@ text" says behind which line a hunk is, "*** End of File" that it is the last.
const (
	v4aBegin  = "*** Begin Patch"
	v4aEnd    = "*** End Patch"
	v4aUpdate = "*** Update File:"
	v4aAdd    = "*** Add File:"
	v4aDelete = "*** Delete File:"
	v4aMove   = "*** Move to:"
	v4aLast   = "*** End of File"
	v4aAnchor = "@@"
)

// section is what a patch does to one file.
type section struct {
	kind    string // v4aUpdate, v4aAdd or v4aDelete
	path    string
	to      string // where it is moved; "": nowhere
	content string // of a file that is added
	hunks   []hunk
	line    int // of the patch
}

// hunk is a part of a file that is replaced.
type hunk struct {
	anchors []string // lines that stand before it, in order
	lines   []hunkLine
	last    bool // it is the end of the file
	line    int  // of the patch
}

type hunkLine struct {
	op   byte // ' ', '-' or '+'
	text string
}

// before is what has to be in the file.
func (h *hunk) before() []string { return h.with(" -") }

// added is what comes to the file.
func (h *hunk) added() []string { return h.with("+") }

// with are the lines that have one of some marks.
func (h *hunk) with(ops string) []string {
	var lines []string
	for _, l := range h.lines {
		if strings.IndexByte(ops, l.op) >= 0 {
			lines = append(lines, l.text)
		}
	}
	return lines
}

// v4aParser reads a patch line by line.
type v4aParser struct {
	lines []string
	at    int
}

// parseV4A reads a patch. An error says which line of it is wrong.
func parseV4A(text string) ([]section, error) {
	if err := byLine("the patch", text); err != nil {
		return nil, err
	}
	text = strings.TrimPrefix(text, "\ufeff") // which nobody sees
	p := &v4aParser{lines: strings.Split(strings.Trim(text, "\n"), "\n")}
	for i, line := range p.lines {
		p.lines[i] = strings.TrimSuffix(line, "\r")
	}
	if strings.TrimSpace(p.lines[0]) != v4aBegin {
		return nil, p.errorf("a patch begins with %q%s", v4aBegin, p.unlike())
	}
	p.at++
	var sections []section
	for {
		line, ok := p.peek()
		switch {
		case !ok:
			return nil, errors.New("the line " + v4aEnd + " is missing: is the patch cut off?")
		case strings.TrimSpace(line) == v4aEnd:
			return sections, p.ended(sections)
		case strings.TrimSpace(line) == "":
			p.at++
			continue
		}
		s, err := p.section()
		if err != nil {
			return nil, err
		}
		sections = append(sections, s)
	}
}

// ended checks that nothing comes after the end, and something before.
func (p *v4aParser) ended(sections []section) error {
	for p.at++; p.at < len(p.lines); p.at++ {
		if strings.TrimSpace(p.lines[p.at]) != "" {
			return p.errorf("nothing may come after %q", v4aEnd)
		}
	}
	if len(sections) == 0 {
		return errors.New("it changes no file")
	}
	return unique(sections)
}

// unique checks that no two sections name the same file, as far as names tell.
func unique(sections []section) error {
	kinds := map[string]string{}
	for _, s := range sections {
		if s.to != "" && path.Clean(s.to) == path.Clean(s.path) {
			return fmt.Errorf("line %d: %s is moved to its own name: leave out %q", s.line, clipPath(s.path), v4aMove)
		}
		for _, name := range []string{s.path, s.to} {
			if name == "" {
				continue
			}
			kind, twice := kinds[path.Clean(name)]
			kinds[path.Clean(name)] = s.kind
			switch {
			case twice && kind == v4aUpdate && s.kind == v4aUpdate:
				return namedTwice(name)
			case twice:
				return fmt.Errorf("line %d: the patch names %s twice, and does one thing to a file: write_file replaces a whole one", s.line, clipPath(name))
			}
		}
	}
	return nil
}

func namedTwice(name string) error {
	return fmt.Errorf("the patch names %s twice: put all of its hunks into one section", clipPath(name))
}

func (p *v4aParser) peek() (string, bool) {
	if p.at >= len(p.lines) {
		return "", false
	}
	return p.lines[p.at], true
}

func (p *v4aParser) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %s", p.at+1, fmt.Sprintf(format, args...))
}

// section reads one file's part.
func (p *v4aParser) section() (section, error) {
	s := section{line: p.at + 1}
	line := p.lines[p.at]
	for _, kind := range []string{v4aUpdate, v4aAdd, v4aDelete} {
		if path, ok := strings.CutPrefix(line, kind); ok {
			s.kind, s.path = kind, strings.TrimSpace(path)
		}
	}
	switch {
	case s.kind == "":
		return s, p.errorf("%q is no beginning of a section: %s, %s or %s and a path", clipPath(line), v4aUpdate, v4aAdd, v4aDelete)
	case s.path == "" || strings.ContainsRune(s.path, 0):
		return s, p.errorf("%s needs a path", s.kind)
	}
	p.at++
	var err error
	switch s.kind {
	case v4aAdd:
		s.content, err = p.added()
	case v4aUpdate:
		err = p.updated(&s)
	}
	return s, err
}

// added reads the lines of a new file.
func (p *v4aParser) added() (string, error) {
	var b strings.Builder
	for line, ok := p.peek(); ok && !strings.HasPrefix(line, "*** "); line, ok = p.peek() {
		text, ok := strings.CutPrefix(line, "+")
		if !ok {
			return "", p.errorf("every line of a new file begins with +")
		}
		b.WriteString(text + "\n")
		p.at++
	}
	return b.String(), nil
}

// updated reads the hunks of a file.
func (p *v4aParser) updated(s *section) error {
	if line, ok := p.peek(); ok && strings.HasPrefix(line, v4aMove) {
		if s.to = strings.TrimSpace(strings.TrimPrefix(line, v4aMove)); s.to == "" || strings.ContainsRune(s.to, 0) {
			return p.errorf("%s needs a path", v4aMove)
		}
		p.at++
	}
	for line, ok := p.peek(); ok && !p.atSection(line); line, ok = p.peek() {
		if n := len(s.hunks); line == "" && n > 0 && s.hunks[n-1].last {
			p.at++
			continue
		}
		h, err := p.hunk()
		if err != nil {
			return err
		}
		s.hunks = append(s.hunks, h)
	}
	if len(s.hunks) == 0 && s.to == "" {
		return p.errorf("%s %s changes nothing: lines with - and + are missing", v4aUpdate, s.path)
	}
	return nil
}

// atSection tells whether a line ends the hunks of a file.
func (p *v4aParser) atSection(line string) bool {
	return strings.HasPrefix(line, "*** ") && strings.TrimSpace(line) != v4aLast
}

// anchors reads the lines that say where a hunk is.
func (p *v4aParser) anchors() ([]string, error) {
	var anchors []string
	for line, ok := p.peek(); ok && strings.HasPrefix(line, v4aAnchor); line, ok = p.peek() {
		anchor := strings.TrimSpace(strings.TrimPrefix(line, v4aAnchor))
		if numbered(anchor) {
			return nil, p.errorf("@@ takes a line of the file that stands before the hunk, or nothing, and not the line numbers of a unified diff")
		}
		if anchor != "" {
			anchors = append(anchors, anchor)
		}
		p.at++
	}
	if p.named() {
		return nil, p.errorf("%s names the file, and not --- and +++ as in a unified diff", v4aUpdate)
	}
	return anchors, nil
}

// hunk reads anchors and the lines behind them.
func (p *v4aParser) hunk() (hunk, error) {
	h := hunk{line: p.at + 1}
	var err error
	if h.anchors, err = p.anchors(); err != nil {
		return h, err
	}
	changes := false
	for line, ok := p.peek(); ok && !strings.HasPrefix(line, v4aAnchor) && !p.atSection(line); line, ok = p.peek() {
		p.at++
		if strings.TrimSpace(line) == v4aLast && strings.HasPrefix(line, "***") {
			h.last = true
			break
		}
		l, err := p.hunkLine(line)
		if err != nil {
			return h, err
		}
		changes = changes || l.op == '-' || l.op == '+'
		h.lines = append(h.lines, l)
	}
	// An empty line before the next marker is mostly there for the eye.
	for n := len(h.lines); n > 0 && h.lines[n-1] == (hunkLine{}); n-- {
		h.lines = h.lines[:n-1]
	}
	for i := range h.lines {
		if h.lines[i].op == 0 {
			h.lines[i].op = ' '
		}
	}
	switch {
	case !changes:
		return h, fmt.Errorf("line %d: nothing changes here: lines with - and + are missing", h.line)
	case slices.Equal(h.before(), h.with(" +")):
		return h, fmt.Errorf("line %d: nothing changes here: the lines that go and those that come are the same", h.line)
	}
	return h, nil
}

// unlike says of a patch that is a unified diff what it is.
func (p *v4aParser) unlike() string {
	if p.named() || strings.HasPrefix(p.lines[0], "diff ") {
		return fmt.Sprintf(", and this is a unified diff: in V4A %s names a file, and a line @@ has no numbers", v4aUpdate)
	}
	return ""
}

// named tells whether files are named here as in a unified diff. The lines of a hunk may look like one of
// the two, which would remove "-- a" or bring "++ b", and hardly like both with a line @@ behind them.
func (p *v4aParser) named() bool {
	rest := p.lines[p.at:]
	return len(rest) > 2 && strings.HasPrefix(rest[0], "--- ") && strings.HasPrefix(rest[1], "+++ ") && strings.HasPrefix(rest[2], v4aAnchor)
}

// numbered tells whether an anchor is that of a hunk in a unified diff, as in "-1,3 +1,4 @@ f".
func numbered(anchor string) bool {
	words := strings.Fields(anchor)
	return len(words) > 1 && lineRange(words[0], "-") && lineRange(strings.TrimSuffix(words[1], v4aAnchor), "+")
}

func lineRange(word, sign string) bool {
	numbers, signed := strings.CutPrefix(word, sign)
	first, _, _ := strings.Cut(numbers, ",")
	return signed && first != "" && strings.Trim(numbers, "0123456789,") == ""
}

func (p *v4aParser) hunkLine(line string) (hunkLine, error) {
	switch {
	case line == "": // an empty line that has lost its space, or none
		return hunkLine{}, nil
	case strings.IndexByte(" -+", line[0]) >= 0:
		return hunkLine{line[0], line[1:]}, nil
	}
	p.at--
	return hunkLine{}, p.errorf("%q begins with none of space, - and +", clipPath(line))
}
