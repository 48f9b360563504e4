package main

import (
	"strings"

	hermes "github.com/hermes-exec/hermes-exec"
)

// manual is where the documentation is.
const manual = "https://github.com/hermes-exec/hermes-exec/tree/main/docs"

// described is what help and the manual page say of a command: what is to be known, and examples, a line
// each, that work as they are copied.
func described(about string, examples ...string) string {
	if about != "" {
		about += "\n\n"
	}
	return about + "Examples:\n  " + strings.Join(examples, "\n  ")
}

// welcome is what somebody is told who has called the program and nothing else. The examples need no file.
func welcome() string {
	return `hermes-exec runs Python scripts, here, in a container or on another host, and gives them tools.

` + hermes.NoCode + ` These lines can be copied as they are:

  echo 'print(6 * 7)' | hermes-exec
  echo 'from hermes_tools import terminal; print(terminal("date")["output"])' | hermes-exec
  echo 'print(6 * 7)' | hermes-exec --output json

A script of your own, and Python as you type it:

  hermes-exec FILE
  hermes-exec repl

What can be used here, and all that can be done:

  hermes-exec doctor
  hermes-exec --help

The documentation: ` + manual + "\n"
}

// greet welcomes who has named nothing to run, and reports whether it did: a program that has asked for
// results gets one, and who has given flags knows the program.
func (a *app) greet() bool {
	if len(a.args) > 0 || a.wantedFormat() != formatText {
		return false
	}
	write(a.err, []byte(welcome()))
	return true
}
