package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

func anywhere(netip.Addr) error { return nil }

// search asks a provider of the test's own; no time passes while it waits.
func search(ctx context.Context, p provider, limit int) (found []Result, waits []time.Duration, err error) {
	s := &Searcher{provider: p, check: anywhere, pause: func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }}
	found, _, err = s.Search(ctx, "what & where", limit)
	return found, waits, err
}

func three(from int) []Result {
	var all []Result
	for i := from; i < from+3; i++ {
		all = append(all, Result{fmt.Sprintf("Title & %d", i), fmt.Sprintf("https://r.example/%d", i), fmt.Sprintf("about %d", i)})
	}
	return all
}

func TestProviders(t *testing.T) {
	s := site(t, map[string]http.HandlerFunc{
		"GET /sub/search": func(w http.ResponseWriter, r *http.Request) {
			if q := r.URL.Query(); q.Get("q") != "what & where" || q.Get("format") != "json" || r.Header.Get("Authorization") != "Basic dTpw" {
				t.Errorf("SearXNG got %s, %v", r.URL, r.Header)
			}
			if r.URL.Query().Get("pageno") != "1" {
				fmt.Fprint(w, `{"query": "x", "results": [], "unresponsive_engines": []}`)
				return
			}
			fmt.Fprint(w, `{"query": "x", "number_of_results": 0, "answers": [], "unresponsive_engines": [["google", "CAPTCHA"]], "results": [
				{"title": "Title &amp; 0", "url": "https://r.example/0", "content": "about\n 0", "engine": "x", "score": 1.0},
				{"title": "again", "url": "https://r.example/0"}, {"title": "no address"}, {"title": "no page", "url": "javascript:1"}, {"title": "no host", "url": "https:x"},
				{"title": "Title & 1", "url": "https://r.example/1", "content": "about 1"}, {"title": "Title & 2", "url": "https://r.example/2", "content": "about 2"}]}`)
		},
		"GET /res/v1/web/search": func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			if q.Get("q") != "what & where" || r.Header.Get("X-Subscription-Token") != "a-key" {
				t.Errorf("Brave got %s, %v", r.URL, r.Header)
			}
			var page int
			_, _ = fmt.Sscan(q.Get("offset"), &page)
			var rows []string
			for _, f := range three(3 * page) {
				rows = append(rows, fmt.Sprintf(`{"type": "search_result", "title": %q, "url": %q, "description": "<strong>about</strong> %s"}`,
					f.Title, f.URL, strings.TrimPrefix(f.Description, "about ")))
			}
			fmt.Fprintf(w, `{"type": "search", "query": {"original": "x", "more_results_available": %v}, "web": {"type": "search", "results": [%s]}}`,
				page < 1, strings.Join(rows, ","))
		},
		"POST /search": func(w http.ResponseWriter, r *http.Request) {
			var got map[string]any
			body, _ := io.ReadAll(r.Body)
			if err := json.Unmarshal(body, &got); err != nil || got["query"] != "what & where" || r.Header.Get("Authorization") != "Bearer a-key" {
				t.Errorf("Tavily got %s, %v", body, r.Header)
			}
			fmt.Fprint(w, `{"query": "x", "answer": null, "images": [], "response_time": 1.67, "results": [
				{"title": "Title & 0", "url": "https://r.example/0", "content": "about 0", "score": 0.9, "raw_content": null},
				{"title": "Title & 1", "url": "https://r.example/1", "content": "about 1"}, {"title": "Title & 2", "url": "https://r.example/2", "content": "about 2"}]}`)
		},
	})
	own := searxng{strings.Replace(s.URL, "http://", "http://u:p@", 1) + "/sub/"}
	for _, tt := range []struct {
		provider provider
		limit    int
		want     []Result
	}{
		{own, 50, three(0)},
		{own, 2, three(0)[:2]},
		{brave{s.URL, "a-key"}, 3, three(0)},
		{brave{s.URL, "a-key"}, 50, append(three(0), three(3)...)},
		{tavily{s.URL, "a-key"}, 5, three(0)},
		{tavily{s.URL, "a-key"}, 1, three(0)[:1]},
	} {
		if got, _, err := search(t.Context(), tt.provider, tt.limit); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s, %d: %v, %v; want %v", tt.provider.name(), tt.limit, got, err, tt.want)
		}
	}
}

func TestProviderErrors(t *testing.T) {
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); _, _ = io.WriteString(w, body) }
	}
	s := site(t, map[string]http.HandlerFunc{
		"/forbidden/search": status(403, "<html>"), "/page/search": status(200, "<html>"), "/odd/search": status(200, `{"results": 7}`),
		"/silent/search": status(200, `{"results": [], "unresponsive_engines": [["google", "CAPTCHA"], ["bing", "timeout"]]}`),
		"/none/search":   status(200, `{"results": []}`),
		"/moved/search": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://eve:S3cret@elsewhere.example/sub/search?q=x&token=S3cret#S3cret", http.StatusFound)
		},
		"/relative/search": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) },
		"/strange/search": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "gopher://eve:S3cret@old.example/")
			w.WriteHeader(http.StatusMovedPermanently)
		},
		"/gone/search": status(404, ""), "/sub/res/v1/web/search": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://eve:S3cret@other.example/search", http.StatusFound)
		},
		"/res/v1/web/search": status(422, `{"type": "ErrorResponse", "error": {"id": "x", "status": 422, "code": "SUBSCRIPTION_TOKEN_INVALID", `+
			`"detail": "The provided subscription token is invalid."}}`),
		"/search": status(401, `{"detail": {"error": "Unauthorized: missing or invalid API key."}}`),
	})
	for _, tt := range []struct {
		provider provider
		want     string
	}{
		{searxng{s.URL + "/forbidden"}, "SearXNG: the server answered 403 Forbidden: does its settings.yml list json under search.formats?"},
		{searxng{s.URL + "/page"}, "SearXNG: the answer is a page and no JSON"},
		{searxng{s.URL + "/odd"}, "SearXNG: the answer is not as expected"},
		{searxng{s.URL + "/silent"}, "did not answer: bing: timeout, google: CAPTCHA"},
		{searxng{s.URL + "/moved"}, "302 Found and sends to https://elsewhere.example/sub/search, which is not followed: if the instance is there, web.searxng_url can be changed to https://elsewhere.example/sub"},
		{searxng{s.URL + "/relative"}, "302 Found and sends to " + s.URL + "/login, which is not followed: if the instance is there, web.searxng_url can be changed to " + s.URL + "/login"},
		{searxng{s.URL + "/strange"}, "301 Moved Permanently and sends to gopher://eve:xxxxx@old.example/, which is not followed"},
		{searxng{s.URL + "/gone"}, "SearXNG: the server answered 404 Not Found: is web.searxng_url the address below which /search lies?"},
		{searxng{"http://127.0.0.1:1"}, "SearXNG: cannot connect to 127.0.0.1:1: connection refused; is web.searxng_url right, and does the instance run?"},
		{brave{s.URL + "/sub", "a-key"}, "Brave: the server answered 302 Found and sends to https://other.example/search, which is not followed"},
		{brave{"http://127.0.0.1:1", "a-key"}, "Brave: cannot connect to 127.0.0.1:1: connection refused"},
		{brave{s.URL, "a-key"}, "Brave: the server answered 422 Unprocessable Entity: The provided subscription token is invalid."},
		{tavily{s.URL, "a-key"}, "Tavily: the server answered 401 Unauthorized: Unauthorized: missing or invalid API key.; is web.tavily_api_key right?"},
	} {
		if got, _, err := search(t.Context(), tt.provider, 5); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, %v; want %q", got, err, tt.want)
		} else if strings.Contains(err.Error(), "a-key") || strings.Contains(err.Error(), "S3cret") || tt.provider.setting() == "" && strings.Contains(err.Error(), "web.searxng_url") {
			t.Errorf("%v shows the key, or what is of no use", err)
		}
	}
	if got, _, err := search(t.Context(), searxng{s.URL + "/none"}, 5); err != nil || got == nil || len(got) != 0 {
		t.Errorf("nothing found: %v, %v", got, err)
	}
}

// An answer of another shape is said in words of JSON, not of Go.
func TestAnswersOfAnotherShape(t *testing.T) {
	for body, want := range map[string]string{
		`{"results": 7}`: `the answer is not as expected: "results" in it is a number`, `[]`: "the answer is not as expected: it is an array",
		`{"results": true}`: `the answer is not as expected: "results" in it is a boolean`,
		`{"results": {}}`:   `the answer is not as expected: "results" in it is an object`, `{"results"`: "the answer is no JSON",
	} {
		for _, p := range []provider{searxng{}, tavily{}} {
			if _, _, err := p.results([]byte(body)); err == nil || err.Error() != want {
				t.Errorf("%s: %s: %v, want %s", p.name(), body, err, want)
			}
		}
	}
	if _, _, err := (brave{}).results([]byte(`{"web": "x"}`)); err == nil || err.Error() != `the answer is not as expected: "web" in it is a string` {
		t.Error(err)
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"a <strong>b</strong>\n c &amp; d": "a b c & d", "<p>a</p><p>b</p>": "a b", "x<SPAN class='y'>z</SPAN>": "xz", "a<br>b": "a b", "cut <em>here": "cut here",
		"Vec<T> and the <a> element": "Vec<T> and the <a> element", "1 < 2 & 3 > 2": "1 < 2 & 3 > 2", "&lt;b&gt; is bold": "<b> is bold", "": "",
	} {
		if got := words(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if open := strings.Repeat("<p>", 1<<20); words(open) != open { // in a time that does not grow with the square
		t.Error("tags that nothing closes are gone")
	}
}

func TestRateLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		header, value string
		status, times int // turned away
		waits         []time.Duration
		want          string
	}{
		"seconds":     {"Retry-After", "2", 429, 1, []time.Duration{2 * time.Second}, ""},
		"twice":       {"Retry-After", "1", 503, 2, []time.Duration{time.Second, time.Second}, ""},
		"too often":   {"Retry-After", "1", 429, 9, []time.Duration{time.Second, time.Second}, "Brave: the server answered 429 Too Many Requests; it was asked 3 times"},
		"too long":    {"Retry-After", "3600", 429, 9, nil, "it wants to be asked again in 1h0m0s, which is too long to wait"},
		"Brave's own": {"X-RateLimit-Reset", "1, 1419704", 429, 1, []time.Duration{time.Second}, ""},
		"a date past": {"Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT", 429, 1, []time.Duration{0}, ""},
		"no retry":    {"Retry-After", "1", 500, 1, nil, "Brave: the server answered 500"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			s := site(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) {
				if asked++; asked <= tt.times {
					w.Header().Set(tt.header, tt.value)
					w.WriteHeader(tt.status)
					return
				}
				fmt.Fprint(w, `{"web": {"results": [{"title": "t", "url": "http://u"}]}}`)
			}})
			got, waits, err := search(t.Context(), brave{s.URL, "k"}, 1)
			if !reflect.DeepEqual(waits, tt.waits) {
				t.Errorf("waited %v, want %v", waits, tt.waits)
			}
			if tt.want == "" && (err != nil || len(got) != 1) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, %v; want %q", got, err, tt.want)
			}
		})
	}
	t.Run("longer than the call has", func(t *testing.T) {
		s := site(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "14")
			w.WriteHeader(http.StatusTooManyRequests)
		}})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, waits, err := search(ctx, tavily{s.URL, "k"}, 1); err == nil || !strings.Contains(err.Error(), "too long to wait") || len(waits) > 0 {
			t.Errorf("%v, waited %v", err, waits)
		}
	})
	t.Run("backoff", func(t *testing.T) {
		for try := 1; try < searchTries; try++ {
			least := time.Second << (try - 1)
			if wait, again := (answer{status: 429, header: http.Header{}}).again(try); !again || wait < least || wait > least*3/2 {
				t.Errorf("try %d: %v, %v", try, wait, again)
			}
		}
	})
	t.Run("a run that ends", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("the run is over"))
		if err := pause(ctx, time.Hour); err == nil || err.Error() != "the run is over" {
			t.Error(err)
		}
	})
}

func TestChoice(t *testing.T) {
	all := Engines{SearxngURL: "http://s", BraveAPIKey: "b", TavilyAPIKey: "t"}
	with := func(provider string, e Engines) Engines { e.Provider = provider; return e }
	for _, tt := range []struct {
		engines Engines
		name    string
		why     string
	}{
		{all, "SearXNG", ""},
		{with("brave", all), "Brave", ""},
		{with("tavily", all), "Tavily", ""},
		{with("searxng", all), "SearXNG", ""},
		{Engines{BraveAPIKey: "b", TavilyAPIKey: "t"}, "Brave", ""},
		{Engines{TavilyAPIKey: "t"}, "Tavily", ""},
		{Engines{Provider: "brave", SearxngURL: "http://s"}, "", "web.provider is brave, and web.brave_api_key is not set"},
		{Engines{}, "", "set web.searxng_url, web.brave_api_key or web.tavily_api_key"},
	} {
		p, why := tt.engines.choose()
		if tt.name == "" && (p != nil || !strings.HasPrefix(why, tt.why)) || tt.name != "" && (p == nil || p.name() != tt.name) {
			t.Errorf("%+v: %v, %q", tt.engines, p, why)
		}
		if s, err := tt.engines.Searcher(); (err != nil) != (tt.name == "") || (s == nil) != (err != nil) {
			t.Errorf("%+v: %v, %v", tt.engines, s, err)
		}
	}
	loopback := netip.MustParseAddr("127.0.0.1")
	for engines, private := range map[Engines]bool{
		{SearxngURL: "http://s"}: true, {BraveAPIKey: "b"}: false, {TavilyAPIKey: "t"}: false, {BraveAPIKey: "b", AllowPrivate: true}: true,
	} {
		s, err := engines.Searcher()
		if err != nil {
			t.Fatal(err)
		}
		if got := s.check(loopback) == nil; got != private {
			t.Errorf("%+v dials private addresses: %v", engines, got)
		}
	}
}

// What was found is given also where a further page does not come, with a word about that.
func TestFurtherPages(t *testing.T) {
	const short = "page 2 of the results did not come from SearXNG, so there may be more"
	for name, c := range map[string]struct {
		second http.HandlerFunc
		want   string
	}{
		"gone":        {refuse(404, "text/plain", ""), short + ": the server answered 404 Not Found: is web.searxng_url the address below which /search lies?"},
		"turned away": {refuse(429, "text/plain", "", "Retry-After", "9999"), short + ": the server answered 429 Too Many Requests; it wants to be asked again in 2h46m39s, which is too long to wait"},
		"broken":      {write("text/html", "<p>"), short + ": the answer is a page and no JSON: web.searxng_url is to be the address below which /search lies"},
		"that word":   {refuse(500, "text/plain", ""), short + ": the server answered 500 Internal Server failure"},
		"no more":     {write("application/json", `{"results": []}`), ""},
	} {
		s := site(t, map[string]http.HandlerFunc{"/search": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("pageno") != "1" {
				c.second(w, r)
				return
			}
			fmt.Fprint(w, `{"results": [{"title": "Title & 0", "url": "https://r.example/0", "content": "about 0"}]}`)
		}})
		engine := &Searcher{provider: searxng{s.URL}, check: anywhere, pause: func(context.Context, time.Duration) error { return nil }}
		if found, note, err := engine.Search(t.Context(), "x", 5); err != nil || note != c.want || !reflect.DeepEqual(found, three(0)[:1]) {
			t.Errorf("%s: %v, %q, %v; want %q", name, found, note, err, c.want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	s := site(t, map[string]http.HandlerFunc{"/search": func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("pageno") != "1" {
			cancel(errors.New("the run is over"))
			<-r.Context().Done()
		}
		fmt.Fprint(w, `{"results": [{"title": "t", "url": "https://r.example/0"}]}`)
	}})
	if found, _, err := search(ctx, searxng{s.URL}, 5); err == nil || err.Error() != "SearXNG: the run is over" {
		t.Errorf("of a run that is over: %v, %v", found, err)
	}
}
