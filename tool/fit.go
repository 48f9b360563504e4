package tool

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// fit brings lines into the form of those of a file: with its line ends, and indented as it is where
// before was found. Before are the lines that were looked for, found is how they stand in the file, and
// after are those to put there.
type fit struct {
	file    []string // all its lines
	ends    []string // of those that were found; "" is that of a last line without one
	end     string   // where none of them is to be followed
	indents []indented
	same    bool // before is indented as the file is: after is taken as it is
}

// indented is an indentation of before and what it is in the file, or what one has more than another.
type indented struct{ want, have string }

// maxIndents is how many indentations are compared with one another. Code has fewer.
const maxIndents = 64

// newFit compares the lines of before with those that stand in a file from one on. It is false where the
// indentation of one line would have to become two, or where there are too many: then nobody knows what is
// meant.
func newFit(before, file []string, at int) (*fit, bool) {
	f := &fit{file: file, end: "\n", same: true}
	if len(file) > 0 && strings.HasSuffix(file[0], "\r\n") { // no other may have an end
		f.end = "\r\n"
	}
	seen := map[indented]bool{} // many lines have few indentations
	for i, line := range before {
		text, end := cutEnd(file[at+i])
		f.ends = append(f.ends, end)
		f.end = cmp.Or(end, f.end)
		want, rest := cutIndent(line)
		have, _ := cutIndent(text)
		if rest == "" {
			continue
		}
		f.same = f.same && want == have
		if known := (indented{want, have}); !seen[known] {
			seen[known] = true
			f.indents = append(f.indents, known)
		}
	}
	return f, f.same || len(f.indents) <= maxIndents && f.ordered()
}

// endOf is the end of the line of a number in what is put there: that of the line in whose place it comes, for
// a file may have both.
func (f *fit) endOf(i int) string {
	if i < len(f.ends) {
		return cmp.Or(f.ends[i], f.end)
	}
	return f.end
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

// lines are those of after as the file has them, without their ends. It is an error if one of them is
// indented more or less than those of before and what that is in the file is not known.
func (f *fit) lines(after []string) ([]string, error) {
	if f.same {
		return after, nil
	}
	s := f.scale(after)
	fitted := make([]string, len(after))
	for i, line := range after {
		indent, rest := cutIndent(line)
		if rest == "" {
			fitted[i] = line
			continue
		}
		have, ok := f.indent(indent, s)
		if !ok {
			return nil, fmt.Errorf("how %q is to be indented there is not clear: copy the indentation of the file", clipPath(rest))
		}
		fitted[i] = have + rest
	}
	return fitted, nil
}

// indent is an indentation of after in the file.
func (f *fit) indent(want string, s scale) (string, bool) {
	known, more, less := f.nearest(want)
	switch {
	case known == nil:
		return "", false
	case less != "":
		gone, ok := s.of(known.have, less)
		shorter, cut := strings.CutSuffix(known.have, gone)
		if ok && cut {
			return shorter, true
		}
		return "", want == "" && known.have == "" // less is not possible
	case more == "":
		return known.have, true
	}
	have, ok := s.of(known.have, more)
	have = known.have + have
	return have, ok && uniform(have) // spaces behind tabs are there for the eye, and no step
}

// nearest is the known indentation that another has the most of, and what that has more; or else the least
// one that begins with it, and what it has less.
func (f *fit) nearest(want string) (known *indented, more, less string) {
	for i, k := range f.indents {
		if strings.HasPrefix(want, k.want) && (known == nil || len(k.want) > len(known.want)) {
			known, more = &f.indents[i], want[len(k.want):]
		}
	}
	if known != nil {
		return known, more, ""
	}
	for i, k := range f.indents {
		if strings.HasPrefix(k.want, want) && (known == nil || len(k.want) < len(known.want)) {
			known, less = &f.indents[i], k.want[len(want):]
		}
	}
	return known, "", less
}

// scale says what more indentation in after is in the file.
type scale struct {
	step  indented // of before and the file; "": there is none
	unit  string   // without a step: that of the file; "": not known
	least int      // and the spaces of the smallest difference in after
	err   error    // the steps of before do not agree
}

var errNoScale = errors.New("the steps are not the same")

// scale compares the indentations that are known with one another. If that tells nothing, for all are the same, it
// takes the unit of the file, and the smallest difference in after for one of it.
func (f *fit) scale(after []string) scale {
	var s scale
	for _, a := range f.indents {
		for _, b := range f.indents {
			want, deeper := strings.CutPrefix(b.want, a.want)
			if want == "" || !deeper {
				continue
			}
			step := indented{want, strings.TrimPrefix(b.have, a.have)}
			if s.step.want != "" && !s.step.agrees(step) {
				s.err = errNoScale
			}
			s.step = step
		}
	}
	if s.step.want != "" {
		return s
	}
	s.unit = unitOf(f.file)
	for _, line := range after {
		indent, rest := cutIndent(line)
		_, more, less := f.nearest(indent)
		if n := len(more + less); rest != "" && n > 0 && (s.least == 0 || n < s.least) {
			s.least = n
		}
	}
	return s
}

// agrees tells whether two steps are in the same proportion.
func (s indented) agrees(o indented) bool {
	if s == o {
		return true
	}
	return uniform(s.want+o.want) && uniform(s.have+o.have) && len(s.want)*len(o.have) == len(o.want)*len(s.have)
}

// of is what comes to, or goes from, an indentation of the file for so much of after.
func (s scale) of(base, more string) (string, bool) {
	switch {
	case s.err != nil:
		return "", false
	case s.step.want != "":
		return s.step.times(more)
	case !uniform(base) || !uniform(more):
		return "", false
	}
	return s.byUnit(base, more)
}

// times is the step so often as it is in more.
func (s indented) times(more string) (string, bool) {
	if !uniform(s.want) || !uniform(s.have) {
		n := len(more) / len(s.want)
		return strings.Repeat(s.have, n), strings.Repeat(s.want, n) == more
	}
	n := len(more) * len(s.have)
	return strings.Repeat(s.have[:1], n/len(s.want)), uniform(s.want+more) && n%len(s.want) == 0
}

// byUnit is of where before has no step. Spaces stay as many, unless they are a multiple of the file's unit or a
// part of it: then it may be that they are one.
func (s scale) byUnit(base, more string) (string, bool) {
	unit, n := s.unit, len(s.unit)
	switch {
	case unit == "":
		return more, uniform(base + more)
	case !uniform(base + unit):
		return "", false
	case unit == "\t" && more[0] == '\t':
		return more, true
	case more[0] == '\t':
		return strings.Repeat(unit, len(more)), true
	case unit == "\t":
		return strings.Repeat(unit, len(more)/max(s.least, 1)), s.least >= 2 && s.least <= 4 && len(more)%s.least == 0
	}
	return more, s.least == n || s.least == 1 || s.least%n != 0 && n%s.least != 0
}

// unitOf is by what most lines of a file are indented more than the one before: "" if that is not clear.
func unitOf(lines []string) string {
	counts := map[string]int{}
	last := ""
	for _, line := range lines {
		indent, rest := cutIndent(line)
		if rest == "" {
			continue
		}
		if more, ok := strings.CutPrefix(indent, last); ok && more != "" && uniform(more) {
			if more[0] == '\t' {
				more = "\t"
			}
			counts[more]++
		}
		last = indent
	}
	unit, most := "", 0
	for more, n := range counts {
		switch {
		case n > most:
			unit, most = more, n
		case n == most:
			unit = ""
		}
	}
	return unit
}

// uniform tells whether an indentation is of spaces alone or of tabs alone.
func uniform(indent string) bool {
	return strings.Trim(indent, " ") == "" || strings.Trim(indent, "\t") == ""
}
