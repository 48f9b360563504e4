package tool

import (
	"context"
	"encoding/json"
	"errors"
)

// terminalTool runs shell commands.
type terminalTool struct{}

var _ Tool = terminalTool{}

// Spec describes terminal.
func (terminalTool) Spec() Spec {
	return Spec{
		Name:    "terminal",
		Summary: "Run a shell command in the foreground; stdout and stderr come back merged, stdin is empty.",
		Params: []Param{
			{Name: "command", Type: String, Required: true, Doc: "The command, for bash or else sh."},
			{Name: "timeout", Type: Number, Nullable: true, Doc: "The most seconds it may take; None is the run's remaining time."},
			{Name: "workdir", Type: String, Nullable: true, Doc: "The directory to run it in; None is the current one."},
		},
		Returns: `{"output": str, "exit_code": int}; exit_code 124 is a timeout, "truncated": True is there when output was cut`,
	}
}

// Call runs the command.
func (terminalTool) Call(context.Context, *Env, json.RawMessage) (json.RawMessage, error) {
	return nil, errors.ErrUnsupported
}
