package tool

import (
	"context"
	"fmt"
	"strings"
)

// change is a part of a text that is replaced.
type change struct {
	from, to int // bytes
	with     string
	place    string // where it is, and what was not counted
	note     string // how it differs from what was asked for; "": not at all
}

// tolerant finds whole lines that are those of before but for white space, and what belongs there. It
// does not guess: the lines must be there once, and the indentation of each must be clear. It is nil if
// they are not there.
func tolerant(ctx context.Context, text, before, after string) (*change, error) {
	wanted := splitLines(before)
	if strings.TrimSpace(before) == "" {
		return nil, nil
	}
	for i, line := range wanted {
		wanted[i], _ = cutEnd(line)
	}
	lines := splitLines(text)
	for t := lineEnds; t <= spacing; t++ {
		places, err := seek(ctx, t.keys(lines), t.keys(wanted), 0, maxListings+1)
		if err != nil {
			return nil, err
		}
		switch len(places) {
		case 0:
			continue
		case 1:
			return fitted(lines, wanted, places[0], t, before, after)
		}
		return nil, fmt.Errorf("old_string is not there literally; %v not counted, it occurs on %s: copy one of them, with what is around it", t, listed(numbers(places)))
	}
	return nil, nil
}

// fitted is the change of the lines from at on, or nil if it is not clear what is meant.
func fitted(lines, wanted []string, at int, t tolerance, before, after string) (*change, error) {
	f, ok := newFit(wanted, lines, at)
	if !ok {
		return nil, nil
	}
	with, err := f.text(after)
	if err != nil {
		return nil, fmt.Errorf("old_string is on line %d, %v not counted, but %w", at+1, t, err)
	}
	c := &change{with: with}
	found := lines[at : at+len(wanted)]
	for _, line := range lines[:at] {
		c.from += len(line)
	}
	c.to = c.from + len(strings.Join(found, ""))
	if !strings.HasSuffix(before, "\n") { // the end of the last line is not replaced
		_, end := cutEnd(found[len(found)-1])
		c.to -= len(end)
	}
	if c.with == strings.Join(found, "")[:c.to-c.from] {
		return nil, fmt.Errorf("nothing changes: old_string is on line %d, %v not counted, and new_string is the same in the form of the file", at+1, t)
	}
	c.place = fmt.Sprintf("on line %d, %v not counted", at+1, t)
	c.note = "old_string was found " + c.place
	if c.with != after {
		c.note += "; new_string was given the line ends and the indentation of the file"
	}
	return c, nil
}

// text is a text as the file has it.
func (f *fit) text(after string) (string, error) {
	lines := splitLines(after)
	ended := make([]bool, len(lines))
	for i, line := range lines {
		text, end := cutEnd(line)
		lines[i], ended[i] = text, end != ""
	}
	lines, err := f.lines(lines)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, line := range lines {
		b.WriteString(line)
		if ended[i] {
			b.WriteString(f.endOf(i))
		}
	}
	return b.String(), nil
}
