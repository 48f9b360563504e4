package tool

import (
	"context"
	"encoding/json"
	"fmt"
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
			{Name: "pattern", Type: String, Required: true, Doc: "A Python regular expression; for target=\"files\" a glob, or a part of the name."},
			{Name: "target", Type: String, Default: "content", Nullable: true, Enum: []string{"content", "files"}, Doc: "Search in files, or for files."},
			{Name: "path", Type: String, Default: ".", Nullable: true, NonEmpty: true, NoNUL: true, Doc: "The directory, or the one file, to search."},
			{Name: "file_glob", Type: String, Nullable: true, Doc: "Search only files that match this glob, such as *.py, src/**/*.{ts,tsx} or *.py,!*_test.py."},
			{Name: "limit", Type: Integer, Default: 50, Nullable: true, Min: atLeast(0), Doc: "The most matches to return."},
			{Name: "offset", Type: Integer, Default: 0, Nullable: true, Min: atLeast(0), Doc: "The number of matches to skip: next_offset of a truncated result goes on behind it."},
			{Name: "output_mode", Type: String, Default: "content", Nullable: true, Enum: []string{"content", "files_only", "count"}, Doc: "content: the matching lines; files_only: the files that have some; count: how many each has."},
			{Name: "context", Type: Integer, Default: 0, Nullable: true, Min: atLeast(0), Doc: "The lines before and after a match to return with it, up to 1 Mi characters on either side."},
		},
		Returns: `{"matches": [{"path": str, "line": int, "content": str}], "total_count": int, "truncated": bool, "next_offset": int or None}; ` +
			`with context, matches also have "before" and "after", lists of lines; "note": str says if that is cut or not heeded, or if something could not be read; ` +
			`for target="files" and output_mode="files_only" they have "path" alone, for "count" "path" and "count"`,
		Keys:  []string{"matches", "total_count", "truncated", "next_offset", "note"},
		Rows:  &Rows{In: []string{"matches"}, Keys: []string{"path", "line", "content", "before", "after", "count"}},
		Holds: `its matches are in ["matches"]`,
	}
}

// Call searches. Files that .gitignore names, .git, binary files, and what is no regular file are
// passed over. TotalCount counts all matches, also those that limit and offset leave out.
func (searchTool) Call(ctx context.Context, env *Env, args json.RawMessage) (json.RawMessage, error) {
	a := struct {
		Pattern    string
		Target     string
		Path       string
		FileGlob   *string `json:"file_glob"`
		Limit      int64
		Offset     int64
		OutputMode string `json:"output_mode"`
		Context    int64
	}{Target: "content", Path: ".", Limit: 50, OutputMode: "content"}
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, fmt.Errorf("search_files: %w", err)
	}
	r, err := env.locate(a.Path)
	if err != nil {
		return nil, fmt.Errorf("search_files: %w", err)
	}
	if a.Target == "content" && env.isSpill(a.Path) {
		text, err := spillText(a.Path)
		if err != nil {
			return nil, fmt.Errorf("search_files: %w", err)
		}
		r.Text = &text // the environment has the one regular expression dialect
	}
	r.Op, r.Offset, r.Limit = "search_files", a.Offset, a.Limit
	r.Pattern, r.Target, r.FileGlob = a.Pattern, a.Target, a.FileGlob
	r.OutputMode, r.Context = a.OutputMode, a.Context
	return env.Files.call(ctx, r)
}
