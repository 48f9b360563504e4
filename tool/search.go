package tool

import (
	"context"
	"encoding/json"
	"errors"
)

// searchTool looks for lines in files, or for files by name.
type searchTool struct{}

var _ Tool = searchTool{}

// Spec describes search_files.
func (searchTool) Spec() Spec {
	return Spec{
		Name:    "search_files",
		Summary: "Search file contents by regular expression (Python re), or find files by a glob of their names.",
		Params: []Param{
			{Name: "pattern", Type: String, Required: true, Doc: "A Python regular expression; a glob for target=\"files\"."},
			{Name: "target", Type: String, Default: "content", Nullable: true, Enum: []string{"content", "files"}, Doc: "Search in files, or for files."},
			{Name: "path", Type: String, Default: ".", Nullable: true, Doc: "The directory, or the one file, to search."},
			{Name: "file_glob", Type: String, Nullable: true, Doc: "Search only files that match this glob, such as *.py or src/**/*.go."},
			{Name: "limit", Type: Integer, Default: 50, Nullable: true, Min: atLeast(0), Doc: "The most matches to return."},
			{Name: "offset", Type: Integer, Default: 0, Nullable: true, Min: atLeast(0), Doc: "The number of matches to skip."},
			{Name: "output_mode", Type: String, Default: "content", Nullable: true, Enum: []string{"content", "files_only", "count"}, Doc: "Return matching lines, the files that have some, or how many each has."},
			{Name: "context", Type: Integer, Default: 0, Nullable: true, Min: atLeast(0), Doc: "The lines of context to show before and after a match."},
		},
		Returns: `{"matches": [{"path": str, "line": int, "content": str}], "total_count": int, "truncated": bool}; ` +
			`matches have only "path" for target="files" and output_mode="files_only", "path" and "count" for "count"`,
	}
}

// Call searches.
func (searchTool) Call(context.Context, *Env, json.RawMessage) (json.RawMessage, error) {
	return nil, errors.ErrUnsupported
}
