package tool

import (
	"context"
	"encoding/json"
	"errors"
)

// readTool reads text files, a window of lines at a time.
type readTool struct{}

var _ Tool = readTool{}

// Spec describes read_file.
func (readTool) Spec() Spec {
	return Spec{
		Name:    "read_file",
		Summary: "Read lines of a text file; content is the raw text, without line numbers.",
		Params: []Param{
			{Name: "path", Type: String, Required: true, Doc: "The file, relative to the current directory or absolute."},
			{Name: "offset", Type: Integer, Default: 1, Nullable: true, Min: atLeast(1), Doc: "The first line to read; lines are counted from 1."},
			{Name: "limit", Type: Integer, Default: 2000, Nullable: true, Min: atLeast(1), Doc: "The most lines to read."},
		},
		Returns: `{"content": str, "total_lines": int or None, "truncated": bool, "next_offset": int or None, "encoding": str}`,
	}
}

// Call reads the lines.
func (readTool) Call(context.Context, *Env, json.RawMessage) (json.RawMessage, error) {
	return nil, errors.ErrUnsupported
}
