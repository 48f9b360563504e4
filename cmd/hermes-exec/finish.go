package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/near"
)

// Exit statuses of hermes-exec that no result has.
const (
	exitError       = 1 // of a tool that was called from the shell
	exitUsage       = 2 // a mistake of the caller
	exitTimeout     = 124
	exitFailed      = 125 // hermes-exec itself
	exitInterrupted = 130
)

// statusError is an exit status whose reason has been told already.
type statusError int

// Error is not shown to anybody.
func (s statusError) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// exitWith is the exit status of a result that was shown.
func exitWith(r *hermes.Result) error {
	if status := r.ExitStatus(); status != 0 {
		return statusError(status)
	}
	return nil
}

// usageError is a mistake of the caller.
type usageError struct{ text string }

// Error says what is wrong.
func (e usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// onUsageError turns what the flag parser says into our words.
func (a *app) onUsageError(c *cli.Context, err error, _ bool) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		if file := "-" + name; slices.Contains(a.args, file) && isFile(file) {
			return usagef("unknown flag %s: to run the file of that name, say ./%[1]s", file)
		}
		typed := a.typed(name)
		switch meant := near.One(name, flagNames(c.Command)); {
		case meant != "":
			return usagef("unknown flag %s: did you mean --%s?", typed, meant)
		case name == "c": // as Python has it
			return usagef("unknown flag -c: give code on stdin, as in: echo 'print(1)' | hermes-exec")
		case slices.Contains(outputs(c.Command), name):
			return usagef("unknown flag %s: did you mean --output %s?", typed, name)
		}
		text = "unknown flag " + typed
	}
	text = strings.Replace(text, "flag needs an argument: -", "a value is missing after --", 1)
	text = strings.Replace(text, " for -", " for --", 1)
	return usagef("%s: see %s --help", text, c.Command.HelpName)
}

// typed is a flag as it was given, with one dash or with two.
func (a *app) typed(name string) string {
	for _, arg := range a.args {
		if flag, _, _ := strings.Cut(arg, "="); flag == "-"+name {
			return flag
		}
	}
	return "--" + name
}

// flagNames are the names of a command's flags, without their dashes.
func flagNames(c *cli.Command) (names []string) {
	for _, f := range c.Flags {
		names = append(names, f.Names()[0])
	}
	return names
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

// finish reports how the call ended and returns its exit status.
func (a *app) finish(err error) int {
	status := a.report(err)
	broken := a.out.failure()
	switch {
	case broken == nil:
		return status
	case readerGone(broken) && status == exitTimeout:
		return status // the time was over before the reader left
	case readerGone(broken):
		return exitInterrupted // quietly: the reader has seen enough
	default:
		a.complain("write the output: " + broken.Error())
		return exitFailed
	}
}

// report tells an error that has not been told, as a result where a result was asked for.
func (a *app) report(err error) int {
	var told statusError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &told):
		return int(told)
	}
	r := failure(err)
	a.newSink(a.wantedFormat(), false).finish(r)
	return r.ExitStatus()
}

// failure is the result of a call that failed before a script could run.
func failure(err error) *hermes.Result {
	if errors.As(err, new(usageError)) || errors.As(err, new(cli.ExitCoder)) { // the parser has some of its own
		return &hermes.Result{Status: hermes.Failure, ErrorKind: hermes.KindUsage, Error: err.Error()}
	}
	return hermes.Failed(err)
}

// complain prints a message, each of its lines prefixed.
func (a *app) complain(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(a.err, "hermes-exec: %s\n", strings.TrimRight(line, "\n"))
	}
}
