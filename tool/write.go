package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
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
			{Name: "path", Type: String, Required: true, NonEmpty: true, NoNUL: true, Doc: "The file, relative to the current directory or absolute."},
			{Name: "content", Type: String, Required: true, Doc: "The whole text, written as UTF-8."},
		},
		Returns: `{"status": "success", "path": str, "bytes_written": int}`,
		Keys:    []string{"status", "path", "bytes_written"},
	}
}

// writeResult says what was written.
type writeResult struct {
	Status       string `json:"status"`
	Path         string `json:"path"`
	BytesWritten int    `json:"bytes_written"`
}

// Call writes the file: whole or not at all, and exactly the text. A new file gets the mode that
// the environment's umask gives; one that is there keeps its mode, and a symlink stays one.
func (writeTool) Call(ctx context.Context, env *Env, args json.RawMessage) (json.RawMessage, error) {
	var a struct{ Path, Content string }
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, fmt.Errorf("write_file: %w", err)
	}
	r, err := env.locate(a.Path)
	if err != nil {
		return nil, fmt.Errorf("write_file: %w", err)
	}
	r.New = true
	success := writeResult{Status: "success", Path: r.Name, BytesWritten: len(a.Content)}
	if done, err := env.Files.write(ctx, r, a.Content); err != nil {
		return nil, fmt.Errorf("write_file: %w", err)
	} else if done {
		return encode(success)
	}
	file, unlock, err := env.Files.prepare(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("write_file: %w", err)
	}
	defer unlock()
	if err := env.put(ctx, r, file, strings.NewReader(a.Content)); err != nil {
		return nil, fmt.Errorf("write_file: %w", err)
	}
	return encode(success)
}
