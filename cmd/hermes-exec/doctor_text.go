package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/hermes-exec/hermes-exec/tool"
)

// print writes the report as a table.
func (r *report) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	line("backend", "%s", r.Backend)
	if r.Config != nil {
		line("config", "%s", *r.Config)
	}
	if r.Python != nil {
		line("python", "%s, %s, by %s", r.Python.Path, r.Python.Version, r.Python.Found)
		line("directory", "%s", r.Directory)
		line("temporary", "%s, can be written to", r.Temp)
	}
	for _, note := range r.Notes {
		line("note", "%s", note)
	}
	for _, t := range r.Transports {
		line("transport "+t.Name, "%s", t)
	}
	if len(r.Transports) == 0 && r.Error != "" {
		line("transport", "none was tried, for the environment cannot be used: see error")
	}
	l := r.Limits
	line("limits", "%gs, %d tool calls (%d at once)", l.Timeout, l.MaxToolCalls, l.MaxParallel)
	line("", "stdout %d bytes, stderr %d, spill file %d, one call %d", l.MaxStdout, l.MaxStderr, l.MaxSpill, l.MaxLine)
	r.printTools(line)
	for _, warning := range r.Warnings {
		line("warning", "%s", warning)
	}
	if r.Error != "" {
		line("error", "%s", r.Error)
	}
	return w.Flush()
}

func (r *report) printTools(line func(name, format string, args ...any)) {
	ready := []string{}
	for _, t := range r.Tools {
		if t.Unconfigured == "" {
			ready = append(ready, t.Name)
		}
	}
	line("tools", "%s", strings.Join(ready, ", "))
	for _, t := range r.Tools {
		if t.Unconfigured != "" {
			line("", "%s is not configured: %s", t.Name, t.Unconfigured)
		}
	}
}

// String is one transport as a table shows it.
func (t transportReport) String() string {
	if !t.Works {
		return "does not work: " + t.Reason
	}
	text := fmt.Sprintf("works, %.2f ms a call", t.CallMS)
	if t.Chosen {
		text += ", chosen: " + t.Reason
	}
	return text
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
