package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/peterh/liner"
)

// editor reads lines from a terminal. While a cell runs that is busy: Ctrl-C is a signal then.
type editor struct {
	state         *liner.State
	keys          *keys
	terminal      *os.File
	busy, raw     liner.ModeApplier
	history, kept string
	isKept        bool
}

func newEditor(terminal *os.File, history string) (*editor, error) {
	giveSize(terminal)
	e := &editor{terminal: terminal, history: history}
	var err error
	if e.busy, err = busyMode(); err != nil {
		return nil, err
	}
	if e.state, e.keys, err = newLiner(); err != nil {
		return nil, err
	}
	if e.raw, err = liner.TerminalMode(); err != nil {
		return nil, errors.Join(err, e.state.Close())
	}
	e.state.SetCtrlCAborts(true)
	e.state.SetCompleter(func(line string) []string { return []string{line + "\t"} }) // a tab is one
	if f, err := os.Open(history); err == nil {
		defer f.Close()
		_, _ = e.state.ReadHistory(f) // what cannot be read is no history
	}
	return e, e.busy.ApplyMode()
}

// next leaves the prompt behind when ctx ends: it cannot be ended, but the program can.
func (e *editor) next(ctx context.Context, more bool) (string, error) {
	if e.isKept {
		e.isKept = false
		return e.kept, nil
	}
	if err := e.raw.ApplyMode(); err != nil {
		return "", err
	}
	askForMarks(e.terminal, true)
	e.keys.want()
	asked := make(chan read, 1)
	go func() {
		line, err := e.state.Prompt(prompt(more))
		asked <- read{line, err}
	}()
	var got read
	select {
	case got = <-asked:
	case <-ctx.Done():
		got.err = context.Cause(ctx)
	}
	askForMarks(e.terminal, false)
	err := errors.Join(got.err, e.busy.ApplyMode())
	switch {
	case errors.Is(err, liner.ErrPromptAborted): // which has shown ^C and ended the line
		return "", errAborted
	case err != nil:
		write(e.terminal, []byte("\n"))
	case strings.TrimSpace(got.line) != "":
		e.state.AppendHistory(got.line)
	}
	return got.line, err
}

func (e *editor) back(line string)  { e.kept, e.isKept = line, true }
func (e *editor) interactive() bool { return true }

// typed is not the case in the middle of a paste, whose empty lines are its own.
func (e *editor) typed() bool { return !e.keys.wasPasted() }

// close gives the terminal back and keeps the history.
func (e *editor) close() {
	_ = e.state.Close() // back to what NewLiner saw
	if e.history == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(e.history), 0o700); err != nil {
		return
	}
	f, err := os.OpenFile(e.history, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = e.state.WriteHistory(f) // the next prompt does without
	_ = f.Close()
}
