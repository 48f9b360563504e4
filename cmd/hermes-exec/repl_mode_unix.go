//go:build unix

package main

import (
	"os"

	"github.com/peterh/liner"
	"golang.org/x/sys/unix"
)

// mode is a state of the terminal on stdin.
type mode unix.Termios

// ApplyMode puts the terminal into that state.
func (m *mode) ApplyMode() error {
	return unix.IoctlSetTermios(int(os.Stdin.Fd()), setTermios, (*unix.Termios)(m))
}

// busyMode is the state for the time in which a cell runs: as the terminal is, so that Ctrl-C is a
// signal, but for the lines that it makes of what is typed. Of them a Ctrl-D would become the end of an
// input that nobody reads, and nothing when the editor does.
func busyMode() (liner.ModeApplier, error) {
	is, err := unix.IoctlGetTermios(int(os.Stdin.Fd()), getTermios)
	if err != nil {
		return nil, err
	}
	is.Lflag &^= unix.ICANON
	is.Cc[unix.VMIN], is.Cc[unix.VTIME] = 1, 0
	return (*mode)(is), nil
}

// newLiner returns an editor and what lets keys through to it, which sees what is pasted.
func newLiner() (*liner.State, *keys, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	terminal := os.Stdin
	os.Stdin = from // the editor knows no other way to be given an input; the terminal's modes it has by number
	defer func() { os.Stdin = terminal }()
	k := newKeys(to)
	go k.pass(terminal) // it ends with the program, for its read cannot be ended
	return liner.NewLiner(), k, nil
}

// askForMarks has a terminal mark what is pasted, or not any more.
func askForMarks(terminal *os.File, on bool) {
	text := "\x1b[?2004l"
	if on {
		text = "\x1b[?2004h"
	}
	write(terminal, []byte(text))
}
