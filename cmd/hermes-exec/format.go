package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hermes-exec/hermes-exec/internal/near"
)

// Formats of the output.
type format string

const (
	formatText   format = "text"
	formatJSON   format = "json"
	formatNDJSON format = "ndjson"
)

// formats are those of commands that have events.
func formats() []string { return append(withoutEvents(), string(formatNDJSON)) }

// withoutEvents are those of all others.
func withoutEvents() []string { return []string{string(formatText), string(formatJSON)} }

// outputs are the formats that a command can print; none if it has no flag --output.
func outputs(c *cli.Command) []string {
	switch {
	case !slices.Contains(flagNames(c), "output"):
		return nil
	case c.Name == "run" || c.Name == "repl":
		return formats()
	default:
		return withoutEvents()
	}
}

// parseFormat reads a format; "" is text.
func parseFormat(text string) (format, error) {
	switch {
	case text == "":
		return formatText, nil
	case slices.Contains(formats(), text):
		return format(text), nil
	default:
		return "", unknownFormat(text, formats())
	}
}

// wantsJSON reads the flag --output of commands that have no events.
func (a *app) wantsJSON(c *cli.Context) (bool, error) {
	switch text := a.option(c, "output"); format(text) {
	case "", formatText:
		return false, nil
	case formatJSON:
		return true, nil
	case formatNDJSON:
		return false, usagef("--output: %s has no events: text or json", c.Command.Name)
	default:
		return false, unknownFormat(text, withoutEvents())
	}
}

// unknownFormat says which there are.
func unknownFormat(text string, known []string) error {
	last := len(known) - 1
	all := strings.Join(known[:last], ", ") + " or " + known[last]
	return usagef("--output: unknown format %q: %s", text, near.Or(text, known, all))
}

// wantedFormat is the format of a call whose flags may not have been parsed to the end: mistakes are
// reported in it too.
func (a *app) wantedFormat() format {
	text := a.environ["HERMES_EXEC_OUTPUT"]
	for i, arg := range a.args {
		if arg == "--" {
			break
		}
		name, value, found := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		switch {
		case !strings.HasPrefix(arg, "-") || name != "output":
		case found:
			text = value
		case i+1 < len(a.args):
			text = a.args[i+1]
		}
	}
	f, err := parseFormat(text)
	if err != nil {
		return formatText
	}
	return f
}
