package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hermes-exec/hermes-exec/tool"
)

// mark says at a glance how a thing is.
type mark int

const (
	plain mark = iota // neither good nor bad
	good
	odd
	bad
)

// shown is a mark in words, as a sign, and in its colour.
func (m mark) shown(l look) (text string, c colour) {
	row := [...]struct {
		word, sign string
		c          colour
	}{plain: {}, good: {"ok", "✓", green}, odd: {"warn", "!", yellow}, bad: {"fail", "✗", red}}[m]
	if l.glyphs {
		return row.sign, row.c
	}
	return row.word, row.c
}

// tableRow is a thing that was looked at.
type tableRow struct {
	mark       mark
	name, text string
	next       string // what to do about it, "" if nothing is
}

// columns are how a table is laid out: marks, names, and the text beside them, or below the names where there
// is little room.
type columns struct {
	marks, names  int  // characters
	indent, width int  // where the text begins, and how much of it fits; 0: all
	narrow        bool // the names have lines of their own
}

func columnsOf(rows []tableRow, l look) columns {
	var c columns
	for _, row := range rows {
		text, _ := row.mark.shown(l)
		c.marks, c.names = max(c.marks, len([]rune(text))+2), max(c.names, len([]rune(row.name))+2)
	}
	c.indent = c.marks + c.names
	const least = 30 // characters of text beside the names
	if c.narrow = l.width > 0 && l.width-1-c.indent < least; c.narrow {
		c.indent = c.marks
	}
	if l.width > 0 {
		c.width = max(l.width-1-c.indent, 1)
	}
	return c
}

// print writes the report as a table: what was looked at, how it is, and what to do where that is not well.
func (r *report) print(out io.Writer, l look) error {
	rows := r.rows()
	c := columnsOf(rows, l)
	for _, row := range rows {
		text, colour := row.mark.shown(l)
		head, lines := l.paint(colour, text)+strings.Repeat(" ", c.marks-len([]rune(text))), wrap(row.text, c.width)
		switch {
		case !c.narrow:
			head += fmt.Sprintf("%-*s", c.names, row.name)
		case row.name != "":
			lines = append([]string{row.name}, lines...)
		}
		if err := errors.Join(writeBlock(out, head, lines, c.indent), writeNext(out, l, row.next, c)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "\n%s\n", strings.Join(wrap(r.verdict(), max(l.width-1, 0)), "\n"))
	return err
}

// writeNext writes what to do about the row above.
func writeNext(out io.Writer, l look, next string, c columns) error {
	const label = "next: "
	if c.width > 0 {
		c.width = max(c.width-len(label), 1)
	}
	head := strings.Repeat(" ", c.indent) + l.paint(bold, strings.TrimSpace(label)) + " "
	return writeBlock(out, head, wrap(next, c.width), c.indent+len(label))
}

// writeBlock writes lines, the first behind a head and the others below it.
func writeBlock(out io.Writer, head string, lines []string, indent int) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, head+line); err != nil {
			return err
		}
		head = strings.Repeat(" ", indent)
	}
	return nil
}

// verdict is the last line.
func (r *report) verdict() string {
	if r.Error != "" {
		return "Scripts cannot run here yet."
	}
	return "Scripts can run here. With the same flags: hermes-exec [flags] FILE"
}

// rows are the report, one thing each.
func (r *report) rows() (rows []tableRow) {
	add := func(m mark, name, text string) { rows = append(rows, tableRow{mark: m, name: name, text: text}) }
	if r.Error == "" {
		add(good, "backend", r.Backend)
	} else {
		add(plain, "backend", r.Backend)
		rows = append(rows, tableRow{bad, r.failed, r.reason, r.next})
	}
	if r.Config != nil {
		add(plain, "config", *r.Config)
	}
	if r.Python != nil {
		add(good, "python", fmt.Sprintf("%s, %s, by %s", r.Python.Path, r.Python.Version, r.Python.Found))
		add(good, "directory", r.Directory)
		add(good, "temporary", r.Temp+", can be written to")
	}
	for _, note := range r.Notes {
		add(plain, "note", note)
	}
	for _, t := range r.Transports {
		rows = append(rows, r.transportRow(t))
	}
	if len(r.Transports) == 0 && r.Error != "" {
		add(plain, "transport", "none was tried, for the environment cannot be used")
	}
	l := r.Limits
	add(plain, "limits", fmt.Sprintf("%gs, %d tool calls (%d at once)", l.Timeout, l.MaxToolCalls, l.MaxParallel))
	add(plain, "", fmt.Sprintf("stdout %d bytes, stderr %d, spill file %d, one call %d", l.MaxStdout, l.MaxStderr, l.MaxSpill, l.MaxLine))
	rows = append(rows, r.toolRows()...)
	for _, warning := range r.Warnings {
		add(odd, "warning", warning)
	}
	return rows
}

// transportRow is one transport. One that does not work is a failure only where no other does.
func (r *report) transportRow(t transportReport) tableRow {
	row := tableRow{good, "transport " + t.Name, fmt.Sprintf("works, %.2f ms a call", t.CallMS), ""}
	switch {
	case !t.Works && r.Transport != nil:
		row.mark, row.text, row.next = odd, "does not work: "+t.Reason, "nothing: tool calls travel by "+*r.Transport
	case !t.Works:
		row.mark, row.text, row.next = bad, "does not work: "+t.Reason, r.next
	case t.Chosen:
		row.text += ", chosen: " + t.Reason
	case r.Transport == nil:
		row.next = "use it: --transport " + t.Name
	}
	return row
}

func (r *report) toolRows() []tableRow {
	ready, rows := []string{}, []tableRow{}
	for _, t := range r.Tools {
		if t.Unconfigured == "" {
			ready = append(ready, t.Name)
			if t.Asks != "" {
				rows = append(rows, tableRow{plain, t.Name, "asks " + t.Asks + ", which was not tried", ""})
			}
		} else {
			rows = append(rows, tableRow{odd, t.Name, "is not configured", t.Unconfigured})
		}
	}
	row := tableRow{good, "tools", strings.Join(ready, ", "), ""}
	if len(ready) == 0 {
		row = tableRow{plain, "tools", "none", ""}
	}
	return append([]tableRow{row}, rows...)
}

// pingName is the tool that the probe calls.
const pingName = "ping"

// ping is a tool that answers with what it got.
type ping struct{}

var _ tool.Tool = ping{}

// Spec describes ping.
func (ping) Spec() tool.Spec {
	return tool.Spec{
		Name:    pingName,
		Summary: "Return the text.",
		Params:  []tool.Param{{Name: "text", Type: tool.String, Required: true, Doc: "Any text."}},
		Returns: `{"text": str}`,
	}
}

// Call returns the arguments.
func (ping) Call(_ context.Context, _ *tool.Env, args json.RawMessage) (json.RawMessage, error) {
	return args, nil
}
