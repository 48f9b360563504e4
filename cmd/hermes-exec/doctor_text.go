package main

import (
	"context"
	"encoding/json"
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

// print writes the report as a table: what was looked at, how it is, and what to do where that is not well.
func (r *report) print(out io.Writer, l look) error {
	rows := r.rows()
	marks, names := 0, 0
	for _, row := range rows {
		text, _ := row.mark.shown(l)
		marks, names = max(marks, len([]rune(text))), max(names, len([]rune(row.name)))
	}
	indent := marks + 2 + names + 2
	const least = 30 // characters of text beside the names; where there are less it stands below them
	narrow := l.width > 0 && l.width-1-indent < least
	if narrow {
		indent = marks + 2
	}
	width := 0
	if l.width > 0 {
		width = max(l.width-1-indent, 1)
	}
	for _, row := range rows {
		text, c := row.mark.shown(l)
		head := l.paint(c, text) + strings.Repeat(" ", marks+2-len([]rune(text)))
		switch {
		case !narrow:
			head += fmt.Sprintf("%-*s", names+2, row.name)
		case row.name != "":
			if _, err := fmt.Fprintln(out, head+row.name); err != nil {
				return err
			}
			head = strings.Repeat(" ", indent)
		}
		for _, line := range wrap(row.text, width) {
			if _, err := fmt.Fprintln(out, head+line); err != nil {
				return err
			}
			head = strings.Repeat(" ", indent)
		}
		if err := printNext(out, l, row.next, indent, width); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "\n%s\n", strings.Join(wrap(r.verdict(), max(l.width-1, 0)), "\n"))
	return err
}

// printNext writes what to do about the row above.
func printNext(out io.Writer, l look, next string, indent, width int) error {
	const label = "next: "
	if width > 0 {
		width = max(width-len(label), 1)
	}
	head := strings.Repeat(" ", indent) + l.paint(bold, strings.TrimSpace(label)) + " "
	for _, line := range wrap(next, width) {
		if _, err := fmt.Fprintln(out, head+line); err != nil {
			return err
		}
		head = strings.Repeat(" ", indent+len(label))
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
