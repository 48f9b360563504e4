package tool

import (
	"context"
	"encoding/json"
	"errors"
)

// writeTool writes whole files.
type writeTool struct{}

var _ Tool = writeTool{}

// Spec describes write_file.
func (writeTool) Spec() Spec {
	return Spec{
		Name:    "write_file",
		Summary: "Write a whole text file; parent directories are made, an existing file is replaced.",
		Params: []Param{
			{Name: "path", Type: String, Required: true, Doc: "The file, relative to the current directory or absolute."},
			{Name: "content", Type: String, Required: true, Doc: "The whole text, written as UTF-8."},
		},
		Returns: `{"status": "success", "path": str, "bytes_written": int}`,
	}
}

// Call writes the file.
func (writeTool) Call(context.Context, *Env, json.RawMessage) (json.RawMessage, error) {
	return nil, errors.ErrUnsupported
}
