// Package schema describes execute_code, the tool by which a model runs scripts, in the formats that
// models are given tools in.
//
// The text is made from the tools that are enabled and the limits that are in force: a model is told
// nothing that is not so.
package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/tool"
)

// Name is what the tool is called.
const Name = "execute_code"

// Format is a way in which models are given tools.
type Format string

// The formats.
const (
	OpenAI    Format = "openai"
	Anthropic Format = "anthropic"
	MCP       Format = "mcp"
)

// Formats lists the formats.
func Formats() []Format { return []Format{OpenAI, Anthropic, MCP} }

// Options say what the tool can do.
type Options struct {
	Specs        []tool.Spec // the enabled tools, in alphabetical order
	Mode         config.Mode
	Timeout      time.Duration
	MaxToolCalls int
	MaxStdout    int64 // bytes
}

// Build returns the description of execute_code in that format.
func Build(f Format, o Options) (json.RawMessage, error) {
	text, err := Description(o)
	if err != nil {
		return nil, err
	}
	function := object{{"name", Name}, {"description", text}}
	switch f {
	case OpenAI:
		return marshal(object{
			{"type", "function"},
			{"function", append(function, member{"parameters", parameters()})},
		})
	case Anthropic:
		return marshal(append(function, member{"input_schema", parameters()}))
	case MCP:
		return marshal(append(function, member{"inputSchema", parameters()}))
	default:
		return nil, fmt.Errorf("unknown format %q", f)
	}
}

// parameters is the JSON Schema of the arguments.
func parameters() object {
	return object{
		{"type", "object"},
		{"properties", object{
			{"code", object{
				{"type", "string"},
				{"description", "Python source. Import the tools with `from hermes_tools import ...` and print the final result."},
			}},
			{"reset", object{
				{"type", "boolean"},
				{"description", "Forget the state of earlier calls first. Outside a session every call starts fresh anyway."},
			}},
		}},
		{"required", []string{"code"}},
	}
}

// Description is the text for the model.
func Description(o Options) (string, error) {
	tools, err := toolLines(o.Specs)
	if err != nil {
		return "", err
	}
	return strings.Join(slices.DeleteFunc([]string{
		"Run a Python script that can call tools as functions. Only what the script prints comes back: the results of its tool calls stay in the script.",
		"Use it when three or more tool calls have logic between them: loops over many files or pages, filtering or summing up " +
			"large results before you see them, branching on what was found. Do not use it for a single tool call (call the tool " +
			"itself), when you need to read a whole result and think about it, or when the user has to answer something: stdin is empty.",
		importLine(o.Specs) + tools,
		helpers,
		limits(o),
		place(o.Mode),
		"Print the final result to stdout: that is the answer. A script that prints nothing returns nothing.",
	}, func(s string) bool { return s == "" }), "\n\n"), nil
}

// helpers is about the functions that are always there.
const helpers = "Helpers, from the same module (`from hermes_tools import json_parse, shell_quote, retry`):\n" +
	"  json_parse(text)  json.loads that accepts a BOM and raw control characters; other text comes back unchanged, broken JSON is a ValueError\n" +
	"  shell_quote(s)  one safe word for a shell command\n" +
	"  retry(fn, max_attempts=3, delay=2)  call fn() until it raises nothing"

// importLine shows how tools are imported, with two of those that are enabled.
func importLine(specs []tool.Spec) string {
	names := exampleNames(specs)
	if len(names) == 0 {
		return "No tools are enabled; the script has the helpers alone."
	}
	return "Import what you call: `from hermes_tools import " + strings.Join(names, ", ") + "`. The tools:\n"
}

// exampleNames prefers the two tools that models know best.
func exampleNames(specs []tool.Spec) []string {
	var names, preferred []string
	for _, s := range specs {
		names = append(names, s.Name)
		if s.Name == "web_search" || s.Name == "terminal" {
			preferred = append(preferred, s.Name)
		}
	}
	if len(preferred) > 0 {
		slices.SortFunc(preferred, func(a, b string) int { return strings.Compare(b, a) }) // web_search first
		return preferred
	}
	slices.Sort(names)
	return names[:min(2, len(names))]
}

// toolLines are a signature and what is returned, for each tool.
func toolLines(specs []tool.Spec) (string, error) {
	var b strings.Builder
	for _, s := range specs {
		signature, err := tool.Signature(s)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "  %s  %s", signature, s.Summary)
		if s.Unconfigured != "" {
			fmt.Fprintf(&b, " Not configured: %s.", s.Unconfigured)
		}
		fmt.Fprintf(&b, "\n    returns %s\n", s.Returns)
	}
	if len(specs) > 0 {
		b.WriteString(`A tool that fails returns {"error": str} instead. Paths in results can be handed to other tools and to open().`)
	}
	return b.String(), nil
}

// limits are those in force.
func limits(o Options) string {
	calls := "calls"
	if o.MaxToolCalls == 1 {
		calls = "call"
	}
	text := fmt.Sprintf("Limits: %s timeout, %s of stdout (of more, head and tail, and the name of a file with all of it), %d tool %s per script.",
		span(o.Timeout), size(o.MaxStdout), o.MaxToolCalls, calls)
	if slices.ContainsFunc(o.Specs, func(s tool.Spec) bool { return s.Name == "terminal" }) {
		text += " terminal() runs in the foreground only."
	}
	return text
}

// place says where the script runs.
func place(mode config.Mode) string {
	if mode == config.Strict {
		return "The script runs in a temp dir of its own, which is removed afterwards, with a plain Python outside any venv: use absolute paths for files that are to stay. Tools and script share that directory."
	}
	return "The script runs in the session's working directory with its active venv, if there is one: relative paths and the project's imports work as in a terminal. Tools and script share that directory."
}

// span writes a time as people say it: 5-minute, 90-second.
func span(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%d-hour", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%d-minute", d/time.Minute)
	default:
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "-second"
	}
}

// size writes a number of bytes: 50 KB, 1.5 MB, 123 bytes.
func size(n int64) string {
	switch {
	case n >= 1e6 && n%1e5 == 0:
		return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64) + " MB"
	case n >= 1e3 && n%1e2 == 0:
		return strconv.FormatFloat(float64(n)/1e3, 'f', -1, 64) + " KB"
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}
