package tool

import (
	"context"
	"encoding/json"
	"errors"
)

// errNotConfigured is what the web tools answer as long as no provider is set.
var errNotConfigured = errors.New("not configured")

// webSearchTool searches the web.
type webSearchTool struct{}

// webExtractTool fetches pages as Markdown.
type webExtractTool struct{}

var (
	_ Tool = webSearchTool{}
	_ Tool = webExtractTool{}
)

// Spec describes web_search.
func (webSearchTool) Spec() Spec {
	return Spec{
		Name:    "web_search",
		Summary: "Search the web.",
		Params: []Param{
			{Name: "query", Type: String, Required: true, Doc: "What to search for."},
			{Name: "limit", Type: Integer, Default: 5, Nullable: true, Min: atLeast(1), Doc: "The most results to return."},
		},
		Returns: `{"data": {"web": [{"title": str, "url": str, "description": str}]}}`,
	}
}

// Call says that no provider is set.
func (webSearchTool) Call(context.Context, *Env, json.RawMessage) (json.RawMessage, error) {
	return nil, errNotConfigured
}

// Spec describes web_extract.
func (webExtractTool) Spec() Spec {
	return Spec{
		Name:    "web_extract",
		Summary: "Fetch web pages (http and https) as text; HTML becomes Markdown.",
		Params: []Param{
			{Name: "urls", Type: StringList, Required: true, Doc: "The addresses to fetch."},
			{Name: "char_limit", Type: Integer, Nullable: true, Min: atLeast(1), Doc: "The most characters to return of each page; None is no limit."},
		},
		Returns: `{"results": [{"url": str, "title": str, "content": str, "error": str or None}]}`,
	}
}

// Call says that fetching is not set up.
func (webExtractTool) Call(context.Context, *Env, json.RawMessage) (json.RawMessage, error) {
	return nil, errNotConfigured
}
