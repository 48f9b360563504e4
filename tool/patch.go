package tool

import (
	"context"
	"encoding/json"
	"errors"
)

// patchTool replaces text in a file.
type patchTool struct{}

var _ Tool = patchTool{}

// Spec describes patch. No parameter is required by the Spec, for the two modes need different
// ones; Call says what is missing.
func (patchTool) Spec() Spec {
	return Spec{
		Name:    "patch",
		Summary: "Replace one exact text in a file by another; the old text must occur once unless replace_all is set.",
		Params: []Param{
			{Name: "path", Type: String, Nullable: true, Doc: "The file, relative to the current directory or absolute."},
			{Name: "old_string", Type: String, Nullable: true, Doc: "The text to replace, literally."},
			{Name: "new_string", Type: String, Nullable: true, Doc: "The text to put in its place, literally."},
			{Name: "replace_all", Type: Boolean, Default: false, Nullable: true, Doc: "Replace every occurrence."},
			{Name: "diff", Type: Boolean, Default: false, Nullable: true, Doc: "Return the unified diff too."},
			{Name: "patch", Type: String, Nullable: true, Doc: "A patch in V4A format, for mode=\"patch\"."},
			{Name: "mode", Type: String, Default: "replace", Nullable: true, Enum: []string{"replace", "patch"}, Doc: "Replace old_string, or apply patch."},
		},
		Returns: `{"status": "success", "success": True, "replacements": int}; ` +
			`with diff=True also "diff": str and "files_modified": [str]`,
	}
}

// Call replaces the text.
func (patchTool) Call(context.Context, *Env, json.RawMessage) (json.RawMessage, error) {
	return nil, errors.ErrUnsupported
}
