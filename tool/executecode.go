package tool

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CodeOptions are what the description of execute_code depends on.
type CodeOptions struct {
	Tools     []Spec        // those that are enabled
	Strict    bool          // scripts run in a directory of their own, not in the project
	Timeout   time.Duration // of one script
	MaxStdout int64         // bytes of stdout that come back
	MaxCalls  int           // tool calls of one script
}

// ExecuteCode describes the execute_code tool to a model: when to use it and when not, what a script
// can call, under which limits and where it runs.
func ExecuteCode(o CodeOptions) (Schema, error) {
	functions, err := describeTools(o.Tools)
	if err != nil {
		return Schema{}, fmt.Errorf("describe execute_code: %w", err)
	}
	parameters, err := parameterSchema([]Param{
		{Name: "code", Type: String, Required: true, Doc: codeDoc(o.Tools)},
		{
			Name: "reset", Type: Boolean, Default: false,
			Doc: "Start afresh: forget the variables and imports that earlier calls of this session left.",
		},
	})
	if err != nil {
		return Schema{}, err
	}
	description := strings.Join([]string{
		"Run a Python script that calls tools as functions. Only what it prints comes back; what the tools return stays in the script.",
		"Use it for three or more tool calls with logic between them, for loops over many files or pages, to filter or sum up large " +
			"results before you see them, and where a result decides what to do next. Do not use it for a single tool call (call the " +
			"tool itself), when you need to read a whole result yourself, or when the user has to answer something: stdin is empty.",
		functions,
		helperDoc,
		limitDoc(o),
		placeDoc(o.Strict),
		"The final result is what the script prints: print() it. A script that prints nothing returns nothing.",
	}, "\n\n")
	return Schema{Name: "execute_code", Description: description, Parameters: parameters}, nil
}

const helperDoc = `Helpers, always there (from hermes_tools import json_parse, shell_quote, retry):
  json_parse(text) - JSON that may have raw control characters in it, as output of commands does; other text comes back unchanged, broken JSON is a ValueError
  shell_quote(s) - s as one word for a shell command
  retry(fn, max_attempts=3, delay=2) - calls fn() until it raises nothing, with a pause of delay seconds that doubles`

// describeTools lists the signature and the result of every tool.
func describeTools(specs []Spec) (string, error) {
	if len(specs) == 0 {
		return "No tools are enabled: the script has the Python standard library and the helpers.", nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Tools (%s):", importExample(specs))
	for _, s := range specs {
		signature, err := Signature(s)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n  %s\n    %s", signature, s.Summary)
		if s.Unconfigured != "" {
			fmt.Fprintf(&b, "\n    Not configured, every call fails: %s", s.Unconfigured)
		}
		if s.Returns != "" {
			fmt.Fprintf(&b, "\n    Returns %s", s.Returns)
		}
	}
	b.WriteString("\nA call that fails raises nothing: it returns a dict with \"error\" and none of the keys above.")
	return b.String(), nil
}

// importExample shows an import of the tools that scripts most often combine, or of the first ones.
func importExample(specs []Spec) string {
	var all, preferred []string
	for _, s := range specs {
		all = append(all, s.Name)
	}
	for _, name := range []string{"web_search", "terminal"} {
		if slices.Contains(all, name) {
			preferred = append(preferred, name)
		}
	}
	if len(preferred) == 0 {
		slices.Sort(all)
		preferred = all[:min(2, len(all))]
	}
	return "from hermes_tools import " + strings.Join(preferred, ", ")
}

func codeDoc(specs []Spec) string {
	if len(specs) == 0 {
		return "The Python code to run. Print the final result."
	}
	return "The Python code to run. Import tools with `" + importExample(specs) + "` and print the final result."
}

func limitDoc(o CodeOptions) string {
	calls := "tool calls"
	if o.MaxCalls == 1 {
		calls = "tool call"
	}
	text := fmt.Sprintf("Limits: %s timeout, %s of stdout (head and tail of more are kept), %d %s per script.",
		timeoutText(o.Timeout), sizeText(o.MaxStdout), o.MaxCalls, calls)
	if slices.ContainsFunc(o.Tools, func(s Spec) bool { return s.Name == "terminal" }) {
		text += " terminal() runs in the foreground only."
	}
	return text
}

// placeDoc says where a script runs. It names no kind of confinement: what there is depends on the
// backend, and a model that hears of one is wrong about which files are real.
func placeDoc(strict bool) string {
	if strict {
		return "The script runs in a temp dir of its own, with a plain Python; use absolute paths for the files of the user. " +
			"Relative paths of tools start there too."
	}
	return "The script runs in the session's working directory, with the Python of the active venv if there is one, so project files and " +
		"packages are there. Relative paths of tools start there too."
}

// timeoutText is a duration before a noun, such as 5-minute or 1.5-second.
func timeoutText(d time.Duration) string {
	if d >= time.Minute && d%time.Minute == 0 {
		return strconv.FormatInt(int64(d/time.Minute), 10) + "-minute"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "-second"
}

// sizeText is a number of bytes in the largest decimal unit that is exact to a tenth.
func sizeText(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1_000_000_000, "GB"}, {1_000_000, "MB"}, {1000, "KB"}} {
		if n >= unit.size && n%(unit.size/10) == 0 {
			return strconv.FormatFloat(float64(n)/float64(unit.size), 'f', -1, 64) + " " + unit.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
