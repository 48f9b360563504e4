package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/peterh/liner"
	"golang.org/x/term"
)

// lineReader is where lines come from.
type lineReader interface {
	// next returns a line without its end. More says that it goes on with a cell. It returns
	// errAborted when the user wants to drop the cell, and io.EOF at the end.
	next(ctx context.Context, more bool) (string, error)
	// back takes a line that belongs to the next cell.
	back(line string)
	interactive() bool
	// typed tells whether somebody has typed the last line, for whom an empty one ends a block.
	typed() bool
	close()
}

// errAborted means that the cell that is being typed is to be dropped.
var errAborted = errors.New("aborted")

// readCell reads the next cell that is not empty. A cell and io.EOF may come together.
func readCell(ctx context.Context, lines lineReader) (string, error) {
	var r cellReader
	for {
		line, err := lines.next(ctx, r.begun())
		switch {
		case errors.Is(err, errAborted):
			r = cellReader{}
			continue
		case errors.Is(err, io.EOF):
			return r.take(), err
		case err != nil:
			return "", err
		case !r.begun() && isEmpty(line):
			continue
		}
		if done := r.add(line); done != "" {
			lines.back(line)
			return done, nil
		}
		if r.complete(lines.typed()) {
			return r.take(), nil
		}
	}
}

// lineReader returns what suits stdin: an editor with history where the terminal can do that, prompts
// where it cannot (TERM=dumb) or somebody else reads stdout, and else just the lines.
func (a *app) lineReader(home string) lineReader {
	lines := plainLines{in: bufio.NewReader(io.LimitReader(a.in, maxInput))}
	if !a.onTerminal() {
		return &lines
	}
	f, isFile := a.out.w.(*os.File)
	if isFile && term.IsTerminal(int(f.Fd())) && liner.TerminalSupported() {
		history := ""
		if home != "" { // else there is no place for one
			history = filepath.Join(home, "repl_history")
		}
		if e, err := newEditor(f, history); err == nil {
			return e
		}
	}
	return newTypedLines(lines, a.err)
}

// prompt asks for a line of a cell.
func prompt(more bool) string {
	if more {
		return "... "
	}
	return ">>> "
}

// plainLines reads lines from a pipe or a file.
type plainLines struct {
	in      *bufio.Reader
	kept    []string
	reading chan read // what goes on, nil: nothing
}

// read is what a read of a line came to.
type read struct {
	line string
	err  error
}

func (p *plainLines) next(ctx context.Context, _ bool) (string, error) { return p.await(ctx, nil) }

// await leaves its reader behind when ctx ends: a read of stdin cannot be ended, but the program can.
// One that a signal ends goes on, for the line after.
func (p *plainLines) await(ctx context.Context, abort <-chan os.Signal) (string, error) {
	if len(p.kept) > 0 {
		line := p.kept[0]
		p.kept = nil
		return line, nil
	}
	if p.reading == nil {
		p.reading = make(chan read, 1)
		go p.read(p.reading)
	}
	select {
	case r := <-p.reading:
		p.reading = nil
		return r.line, r.err
	case <-abort:
		return "", errAborted
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// read reads a line without its end.
func (p *plainLines) read(into chan<- read) {
	line, err := p.in.ReadString('\n')
	if line != "" && errors.Is(err, io.EOF) {
		err = nil
	}
	into <- read{strings.TrimRight(line, "\r\n"), err}
}

func (p *plainLines) back(line string)  { p.kept = []string{line} }
func (p *plainLines) interactive() bool { return false }
func (p *plainLines) typed() bool       { return false }
func (p *plainLines) close()            {}

// typedLines reads lines that somebody types where there is no editor for them but the terminal's
// own. Its prompts are no part of what the cells print.
type typedLines struct {
	plainLines

	prompts    io.Writer
	interrupts chan os.Signal
}

func newTypedLines(lines plainLines, prompts io.Writer) *typedLines {
	t := &typedLines{plainLines: lines, prompts: prompts, interrupts: make(chan os.Signal, 1)}
	signal.Notify(t.interrupts, os.Interrupt)
	return t
}

func (t *typedLines) next(ctx context.Context, more bool) (string, error) {
	select {
	case <-t.interrupts: // it was for the cell that has ended
	default:
	}
	write(t.prompts, []byte(prompt(more)))
	line, err := t.await(ctx, t.interrupts)
	if err != nil {
		write(t.prompts, []byte("\n"))
	}
	return line, err
}

func (t *typedLines) interactive() bool { return true }
func (t *typedLines) typed() bool       { return true }
func (t *typedLines) close()            { signal.Stop(t.interrupts) }
