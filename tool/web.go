package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/web"
)

const (
	pageChars   = 50_000  // characters of a page, unless the script says otherwise
	titleChars  = 500     // of a title
	repliedText = 8 << 20 // characters of all pages of a reply, so that it fits its line whatever they are
	noticeFrom  = 1000    // the least char_limit that has room for a notice
	maxURLs     = 1000    // pages of a call
)

// webSearchTool searches the web.
type webSearchTool struct{ settings config.Web }

// webExtractTool fetches pages as Markdown.
type webExtractTool struct{ settings config.Web }

var (
	_ Tool = webSearchTool{}
	_ Tool = webExtractTool{}

	_ ArgsChecker = webExtractTool{}
)

// Spec describes web_search.
func (t webSearchTool) Spec() Spec {
	return Spec{
		Name:    "web_search",
		Summary: "Search the web.",
		Params: []Param{
			{Name: "query", Type: String, Required: true, NonEmpty: true, Doc: "What to search for."},
			{Name: "limit", Type: Integer, Default: 5, Nullable: true, Min: atLeast(1), Doc: "The most results to return."},
		},
		Returns:      `{"data": {"web": [{"title": str, "url": str, "description": str}]}}; "note": str if a further page of them did not come`,
		Keys:         []string{"data", "note"},
		Rows:         &Rows{In: []string{"data", "web"}, Keys: []string{"title", "url", "description"}},
		Holds:        `its hits are in ["data"]["web"]`,
		Unconfigured: t.engines().Unconfigured(),
		Asks:         t.engines().Chosen(),
	}
}

func (t webSearchTool) engines() web.Engines {
	s := t.settings
	return web.Engines{
		Provider: s.Provider, SearxngURL: s.SearxngURL, BraveAPIKey: s.BraveAPIKey, TavilyAPIKey: s.TavilyAPIKey,
		AllowPrivate: s.AllowPrivate,
	}
}

// Call asks the provider.
func (t webSearchTool) Call(ctx context.Context, env *Env, args json.RawMessage) (json.RawMessage, error) {
	a := struct {
		Query string
		Limit int
	}{Limit: 5}
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, fmt.Errorf("web_search: %w", err)
	}
	searcher, err := t.engines().Searcher()
	if err != nil {
		return nil, fmt.Errorf("web_search is not configured: %w", err)
	}
	found, note, err := searcher.Search(ctx, a.Query, a.Limit)
	if err != nil {
		return nil, fmt.Errorf("web_search: %w", err)
	}
	size := int64(len(note))
	for _, r := range found {
		size += int64(len(r.Title) + len(r.URL) + len(r.Description))
	}
	if err := env.admit(ctx, size); err != nil {
		return nil, fmt.Errorf("web_search: %w", err)
	}
	type data struct {
		Web []web.Result `json:"web"`
	}
	return encode(struct {
		Data data   `json:"data"`
		Note string `json:"note,omitempty"`
	}{data{found}, note})
}

// Spec describes web_extract.
func (webExtractTool) Spec() Spec {
	return Spec{
		Name:    "web_extract",
		Summary: "Fetch web pages (http and https) as text; HTML becomes Markdown, PDF its text.",
		Params: []Param{
			{Name: "urls", Type: StringList, Required: true, Doc: "The addresses to fetch."},
			{
				Name: "char_limit", Type: Integer, Nullable: true, Min: atLeast(1),
				Doc: "The most characters to return of each page; None is 50000. Of a longer page come head and tail, and the path of a file for read_file.",
			},
		},
		Returns: `{"results": [{"url": str, "title": str, "content": str, "error": str or None}]}`,
		Keys:    []string{"results"},
		Rows:    &Rows{In: []string{"results"}, Keys: []string{"url", "title", "content", "error"}},
		Holds:   `its pages are in ["results"]`,
	}
}

// CheckArgs implements ArgsChecker.
func (webExtractTool) CheckArgs(args json.RawMessage) error {
	var a struct{ URLs []string }
	if err := json.Unmarshal(args, &a); err != nil {
		return fmt.Errorf("web_extract: %w", err)
	}
	if n := len(a.URLs); n > maxURLs {
		return fmt.Errorf(`web_extract: argument "urls" must have at most %d addresses, not %d: make several calls`, maxURLs, n)
	}
	return nil
}

// row is what became of an address.
type row struct {
	URL     string  `json:"url"`
	Title   string  `json:"title"`
	Content string  `json:"content"`
	Error   *string `json:"error"`
}

// size is what the row takes of a reply, about.
func (r row) size() int64 {
	n := len(r.URL) + len(r.Title) + len(r.Content)
	if r.Error != nil {
		n += len(*r.Error)
	}
	return int64(n)
}

// Call fetches the pages side by side; each has an error of its own.
func (t webExtractTool) Call(ctx context.Context, env *Env, args json.RawMessage) (json.RawMessage, error) {
	a := struct {
		URLs  []string
		Limit int `json:"char_limit"`
	}{Limit: pageChars}
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, fmt.Errorf("web_extract: %w", err)
	}
	limit := min(a.Limit, repliedText/max(1, len(a.URLs)))
	rows := make([]row, len(a.URLs))
	web.NewClient(t.settings.AllowPrivate, env.Pages).Each(ctx, a.URLs, func(i int, p web.Page, err error) {
		// Copies: a part of a text would keep all of it, while other pages come.
		rows[i] = row{URL: a.URLs[i], Title: strings.Clone(firstChars(p.Title, titleChars)), Content: strings.Clone(env.excerpt(p.Text, limit))}
		if err != nil {
			text := err.Error()
			rows[i].Error = &text
		}
	})
	var size int64
	for _, r := range rows {
		size += r.size()
	}
	if err := env.admit(ctx, size+size/16); err != nil {
		return nil, fmt.Errorf("web_extract: %w", err)
	}
	return encode(map[string][]row{"results": rows})
}

// excerpt is what a result shows of a text: all of it, or head and tail with a word about the rest
// between, limit characters in all. So small a limit that this would not fit asks for the head alone.
func (e *Env) excerpt(text string, limit int) string {
	count := utf8.RuneCountInString(text)
	switch {
	case count <= limit:
		return text
	case limit < noticeFrom:
		return firstChars(text, limit)
	}
	where := e.kept(text)
	// The number that it tells has no more digits than that of all characters.
	room := limit - utf8.RuneCountInString(omitted(count, where))
	if room < limit/2 {
		return firstChars(text, limit)
	}
	head := room / 4 * 3
	tail := room - head
	start := firstChars(text, head)
	return start + omitted(count-head-tail, where) + text[lastChars(text, tail):]
}

func omitted(n int, where string) string {
	return fmt.Sprintf("\n\n[... %d characters omitted%s ...]\n\n", n, where)
}

// kept puts a text where read_file finds it, and says where that is.
func (e *Env) kept(text string) string {
	if e.Keep == nil {
		return ""
	}
	name, cut, err := e.Keep(text)
	switch {
	case err != nil:
		return "; the full text could not be kept: " + clipPath(err.Error())
	case cut:
		return "; the beginning of the text, as much as may be kept: read_file(" + strconv.Quote(name) + ")"
	default:
		return "; the full text" + linesOf(name) + ": read_file(" + strconv.Quote(name) + ")"
	}
}

// linesOf says how many lines read_file counts in a spill. Masked secrets may have had some that the text has
// and the file has not.
func linesOf(name string) string {
	r, err := readSpill(name, 1, 0)
	switch {
	case err != nil || r.TotalLines == nil:
		return ""
	case *r.TotalLines == 1:
		return ", 1 line"
	}
	return fmt.Sprintf(", %d lines", *r.TotalLines)
}

// firstChars is the beginning of a text.
func firstChars(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// lastChars is where the last n characters of a text begin.
func lastChars(text string, n int) int {
	at := len(text)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return at
}
