package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// Formats of the output.
type format string

const (
	formatText   format = "text"
	formatJSON   format = "json"
	formatNDJSON format = "ndjson"
)

// parseFormat reads a format; "" is text.
func parseFormat(text string) (format, error) {
	switch f := format(text); f {
	case "":
		return formatText, nil
	case formatText, formatJSON, formatNDJSON:
		return f, nil
	default:
		return "", usagef("--output: unknown format %q: text, json or ndjson", text)
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
		return false, usagef("--output: unknown format %q: text or json", text)
	}
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
