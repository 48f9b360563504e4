package tool

import (
	"context"
	"encoding/json"
	"fmt"
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
			{Name: "path", Type: String, Required: true, NonEmpty: true, NoNUL: true, Doc: "The file, relative to the current directory or absolute."},
			{Name: "offset", Type: Integer, Default: 1, Nullable: true, Min: atLeast(1), Doc: "The first line to read; lines are counted from 1."},
			{Name: "limit", Type: Integer, Default: 2000, Nullable: true, Min: atLeast(1), Doc: "The most lines to read."},
		},
		Returns: `{"content": str, "total_lines": int or None, "truncated": bool, "next_offset": int or None, "encoding": str}`,
		Keys:    []string{"content", "total_lines", "truncated", "next_offset", "encoding"},
		Holds:   `its text is in ["content"]`,
	}
}

// readResult has its keys in every case, and in this order.
type readResult struct {
	Content    string `json:"content"`
	TotalLines *int64 `json:"total_lines"` // null: the file is too large to count
	Truncated  bool   `json:"truncated"`
	NextOffset *int64 `json:"next_offset"` // where to go on, null at the end
	Encoding   string `json:"encoding"`    // as Python names it
}

// Call reads the lines. At most 10 MiB come back, whole lines unless the first alone is longer.
func (readTool) Call(ctx context.Context, env *Env, args json.RawMessage) (json.RawMessage, error) {
	a := struct {
		Path          string
		Offset, Limit int64
	}{Offset: 1, Limit: 2000}
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, fmt.Errorf("read_file: %w", err)
	}
	if env.isSpill(a.Path) {
		r, err := readSpill(a.Path, a.Offset, a.Limit)
		if err != nil {
			return nil, fmt.Errorf("read_file: %w", err)
		}
		return encode(r)
	}
	r, err := env.locate(a.Path)
	if err != nil {
		return nil, fmt.Errorf("read_file: %w", err)
	}
	r.Op, r.Offset, r.Limit = "read_file", a.Offset, a.Limit
	return env.Files.call(ctx, r)
}
