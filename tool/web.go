package tool

import (
	"context"
	"encoding/json"
	"fmt"
)

// webSearchTool searches the web.
type webSearchTool struct{}

// webExtractTool fetches pages as Markdown.
type webExtractTool struct{}

var (
	_ Tool = webSearchTool{}
	_ Tool = webExtractTool{}
)

// unconfigured is the answer of a tool that cannot work yet.
func unconfigured(s Spec) error {
	return fmt.Errorf("%s is not configured: %s", s.Name, s.Unconfigured)
}

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
		Unconfigured: "set web.searxng_url, web.brave_api_key or web.tavily_api_key in config.yaml, " +
			"and web.provider where there are several",
	}
}

// Call says that no provider is set.
func (t webSearchTool) Call(context.Context, *Env, json.RawMessage) (json.RawMessage, error) {
	return nil, unconfigured(t.Spec())
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
		Returns:      `{"results": [{"url": str, "title": str, "content": str, "error": str or None}]}`,
		Unconfigured: "this version cannot fetch pages yet, whatever the section web of config.yaml says",
	}
}

// Call says that pages cannot be fetched.
func (t webExtractTool) Call(context.Context, *Env, json.RawMessage) (json.RawMessage, error) {
	return nil, unconfigured(t.Spec())
}
