//go:build unix

package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hermes-exec/hermes-exec/config"
	spills "github.com/hermes-exec/hermes-exec/internal/output"
	"github.com/hermes-exec/hermes-exec/internal/web"
)

// webWorld is a host without an environment, with a server whose pages are given.
func webWorld(t *testing.T, pages map[string]string) (w *world, base string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, page)
	}))
	t.Cleanup(s.Close)
	return &world{t: t, env: &Env{}, web: config.Web{AllowPrivate: true}}, s.URL
}

func rows(t *testing.T, o object) []object {
	t.Helper()
	list, ok := o["results"].([]any)
	if !ok {
		t.Fatalf("%v has no results", o)
	}
	all := make([]object, 0, len(list))
	for _, r := range list {
		o, _ := r.(object)
		if got := keys(o); !reflect.DeepEqual(got, []string{"content", "error", "title", "url"}) {
			t.Errorf("a row has %v", got)
		}
		if _, ok := o["content"].(string); !ok {
			t.Errorf("%v is no content", o["content"])
		}
		all = append(all, o)
	}
	return all
}

func TestWebExtract(t *testing.T) {
	w, base := webWorld(t, map[string]string{
		"/bare": "<title>Bare</title>", "/page": "<title>A page</title><p>with a <a href='next'>link</a></p>", "/long": "<title>" + strings.Repeat("long ", 300) + "</title>",
	})
	got := rows(t, w.ok("web_extract", object{"urls": []string{base + "/page", base + "/none", "ftp://x", base + "/page", "", base + "/bare"}}))
	page := object{"url": base + "/page", "title": "A page", "content": "with a [link](" + base + "/next)", "error": nil}
	want := []object{
		page,
		{"url": base + "/none", "title": "", "content": "", "error": base + "/none: the server answered 404 Not Found; it says: 404 page not found"},
		{"url": "ftp://x", "title": "", "content": "", "error": "ftp://x: only http and https addresses can be fetched"},
		page,
		{"url": "", "title": "", "content": "", "error": "the address is empty: one begins with http:// or https://"},
		{
			"url": base + "/bare", "title": "Bare", "content": "",
			"error": base + "/bare: the page has no text: the server answered 200 OK and 19 bytes of text/html; scripts that may make some are not run",
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	if got := rows(t, w.ok("web_extract", object{"urls": base + "/page", "char_limit": nil})); !reflect.DeepEqual(got, want[:1]) {
		t.Errorf("one address: %v", got)
	}
	if got := rows(t, w.ok("web_extract", object{"urls": []string{}})); len(got) != 0 {
		t.Errorf("no address: %v", got)
	}
	if got := rows(t, w.ok("web_extract", object{"urls": base + "/long"})); len(got[0]["title"].(string)) != titleChars { //nolint:errcheck // rows has looked
		t.Errorf("title: %v", got)
	}
	w.web.AllowPrivate = false
	for _, r := range rows(t, w.ok("web_extract", object{"urls": []string{base, "http://169.254.169.254/latest"}})) {
		if text, _ := r["error"].(string); !strings.Contains(text, "is not public") {
			t.Errorf("%v", r)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the run is over"))
	o, err := w.try(ctx, "web_extract", object{"urls": base})
	if err != nil || rows(t, o)[0]["error"] != "the run is over" {
		t.Errorf("%v, %v", o, err)
	}
}

// A call has so many addresses at most, and its reply is admitted with all that is in it.
func TestWebExtractIsBounded(t *testing.T) {
	w, _ := webWorld(t, nil)
	address := "ftp://" + strings.Repeat("x", 2000)
	urls := slices.Repeat([]string{address}, maxURLs)
	var admitted int64
	w.env.Admit = func(_ context.Context, size int64) error {
		admitted = size
		return nil
	}
	got := rows(t, w.ok("web_extract", object{"urls": urls}))
	text, _ := got[0]["error"].(string)
	if least := int64(maxURLs * (len(address) + len(text))); len(got) != maxURLs || text == "" || admitted < least {
		t.Errorf("%d rows, %d bytes admitted; want %d and %d", len(got), admitted, maxURLs, least)
	}
	w.fails("web_extract", object{"urls": append(urls, address)}, `web_extract: argument "urls" must have at most 1000 addresses, not 1001: make several calls`)
}

// What is cut from a long page is in a file that read_file can read.
func TestWebExtractLongPages(t *testing.T) {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "line %d ü\n", i)
	}
	w, base := webWorld(t, map[string]string{"/long": text.String(), "/line": strings.Repeat("é", 200_000)})
	cache, limit := spills.NewCache(t.TempDir()), int64(5_000_000)
	var path string
	w.env.Keep = func(text string) (string, bool, error) {
		name, cut, err := cache.Store(text, limit, spills.NewSecrets())
		path = name
		return name, cut, err
	}
	w.env.Spills = func(name string) bool { return name == path }
	content := func(address string, limit any) string {
		t.Helper()
		args := object{"urls": base + address}
		if limit != nil {
			args["char_limit"] = limit
		}
		s, _ := rows(t, w.ok("web_extract", args))[0]["content"].(string)
		return s
	}
	for _, limit := range []any{nil, 1000, 12345} {
		got, most := content("/long", limit), pageChars
		if n, ok := limit.(int); ok {
			most = n
		}
		if n := utf8.RuneCountInString(got); n > most || n < most-3 || !strings.HasPrefix(got, "line 0 ü\nline 1 ü\n") ||
			!strings.HasSuffix(got, "line 19999 ü\n") || !strings.Contains(got, "characters omitted; the full text, 20000 lines: read_file(\""+path+"\")") {
			t.Errorf("limit %v: %d characters: %.200q", limit, n, got)
		}
	}
	o := w.ok("read_file", object{"path": path, "offset": 10_001, "limit": 2})
	if o["content"] != "line 10000 ü\nline 10001 ü\n" || o["total_lines"] != 20_000.0 || filepath.Dir(path) != cache.Dir() {
		t.Errorf("%s: %v", path, o)
	}
	path = ""
	if got := content("/long", 9); got != "line 0 ü\n" || path != "" {
		t.Errorf("a small limit: %q, %q", got, path)
	}
	if got := content("/long", 1_000_000); got != text.String() || path != "" {
		t.Errorf("a large limit: %d bytes, %q", len(got), path)
	}
	limit = 1000
	if got := content("/line", nil); utf8.RuneCountInString(got) != pageChars || !strings.Contains(got, "the beginning of the text, as much as may be kept: read_file(") {
		t.Errorf("one line: %d characters", utf8.RuneCountInString(got))
	}
	w.env.Keep = func(string) (string, bool, error) { return "", false, errors.New("no room") }
	if got := content("/long", nil); !strings.Contains(got, "characters omitted; the full text could not be kept: no room ...]") {
		t.Error("nothing is said of a text that could not be kept")
	}
	w.env.Keep = nil
	if got := content("/long", nil); !strings.Contains(got, "characters omitted ...]") || utf8.RuneCountInString(got) > pageChars {
		t.Error("nothing is said where there is no place for a file")
	}
}

// The word about a file counts its lines as read_file does, whatever the text ends with and whatever is masked in it.
func TestKeptLines(t *testing.T) {
	w, _ := webWorld(t, nil)
	cache := spills.NewCache(t.TempDir())
	var path string
	w.env.Spills = func(name string) bool { return name == path }
	w.env.Keep = func(text string) (string, bool, error) {
		name, cut, err := cache.Store(text, 5_000_000, spills.NewSecrets("hidden\nvalue"))
		path = name
		return name, cut, err
	}
	for text, lines := range map[string]string{
		"": "0 lines", "a": "1 line", "a\n": "1 line", "a\nb": "2 lines", "a\nb\n": "2 lines", "\n": "1 line", "\n\n\n": "3 lines",
		"a\r\nb\rc\u2028d\n": "2 lines", "a hidden\nvalue\nb": "2 lines", strings.Repeat("\n", 70_000): "70000 lines",
	} {
		got := w.env.kept(text)
		if want := "; the full text, " + lines + ": read_file(\"" + path + "\")"; got != want {
			t.Errorf("%.20q: %s, want %s", text, got, want)
		}
		total, _ := w.ok("read_file", object{"path": path})["total_lines"].(float64)
		if told, _, _ := strings.Cut(lines, " "); told != fmt.Sprint(int(total)) {
			t.Errorf("%.20q: %s are told of, read_file says %v", text, lines, total)
		}
	}
}

// The cuts of texts, at every limit.
func TestExcerpt(t *testing.T) {
	text := strings.Repeat("a1é🙂\n", 700)
	e := &Env{Keep: func(string) (string, bool, error) { return "/cache/exec/x.txt", false, nil }}
	for limit := 1; limit < 3600; limit += 7 {
		got := e.excerpt(text, limit)
		if n := utf8.RuneCountInString(got); n > limit || !utf8.ValidString(got) {
			t.Fatalf("limit %d: %d characters", limit, n)
		}
	}
}

func TestWebSearch(t *testing.T) {
	w, base := webWorld(t, map[string]string{
		"/search": `{"results": [{"title": "T", "url": "https://r.example/", "content": "d"}, {"title": "U", "url": "https://s.example/", "content": ""}]}`,
	})
	w.web = config.Web{}
	w.fails("web_search", object{"query": "x"}, "web_search is not configured: set web.searxng_url")
	w.web = config.Web{Provider: "brave", SearxngURL: base}
	w.fails("web_search", object{"query": "x"}, "web_search is not configured: web.provider is brave, and web.brave_api_key is not set")
	w.web = config.Web{SearxngURL: base} // of the operator's own choice, so it may be on a private address
	want := object{"data": object{"web": []any{
		object{"title": "T", "url": "https://r.example/", "description": "d"}, object{"title": "U", "url": "https://s.example/", "description": ""},
	}}}
	if got := w.ok("web_search", object{"query": "x"}); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	w.web.SearxngURL += "/elsewhere"
	w.fails("web_search", object{"query": "x"}, "web_search: SearXNG: the server answered 404 Not Found")
	for _, s := range []config.Web{{}, {BraveAPIKey: "k"}, {Provider: "tavily", BraveAPIKey: "k"}} {
		spec, unconfigured := webSearchTool{s}.Spec(), s.BraveAPIKey == "" || s.Provider != ""
		if (spec.Unconfigured != "") != unconfigured || (webExtractTool{s}).Spec().Unconfigured != "" {
			t.Errorf("%+v: %q", s, spec.Unconfigured)
		}
	}
}

// A further page that does not come is told beside what was found.
func TestWebSearchNote(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("pageno") != "1" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"results": [{"title": "T", "url": "https://r.example/", "content": "d"}]}`)
	}))
	t.Cleanup(s.Close)
	w := &world{t: t, env: &Env{}, web: config.Web{SearxngURL: s.URL}}
	want := object{
		"data": object{"web": []any{object{"title": "T", "url": "https://r.example/", "description": "d"}}},
		"note": "page 2 of the results did not come from SearXNG, so there may be more: the server answered 404 Not Found: is web.searxng_url the address below which /search lies?",
	}
	if got := w.ok("web_search", object{"query": "x"}); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	delete(want, "note")
	if got := w.ok("web_search", object{"query": "x", "limit": 1}); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

// A page that has not changed does not come again.
func TestWebExtractAsksAgain(t *testing.T) {
	full := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		full++
		_, _ = io.WriteString(w, "text")
	}))
	t.Cleanup(s.Close)
	w := &world{t: t, env: &Env{Pages: &web.Cache{}}, web: config.Web{AllowPrivate: true}}
	for range 3 {
		if got := rows(t, w.ok("web_extract", object{"urls": s.URL})); got[0]["content"] != "text" {
			t.Errorf("%v", got)
		}
	}
	if full != 1 {
		t.Errorf("the page came %d times", full)
	}
}
