package web

import (
	"reflect"
	"strings"
	"testing"
)

// An answer without results is not one that has found nothing.
func TestAnswersWithoutList(t *testing.T) {
	long := strings.Repeat("x", 300)
	for body, says := range map[string]string{
		`{}`: "", `{"foo": 1}`: "", `{"results": null}`: "", `{"error": {"code": 1}}`: "", `{"error": "", "message": 7}`: "",
		`{"error": "API key\n revoked"}`: "; it says: API key revoked", `{"message": "gone"}`: "; it says: gone", `{"detail": "no"}`: "; it says: no",
		`{"error": "` + long + `"}`: "; it says: " + long[:200] + "...",
	} {
		s := siteOf(t, write("application/json", body))
		for p, list := range map[provider]string{searxng{s.URL}: "results", brave{s.URL, "k"}: "web.results", tavily{s.URL, "k"}: "results"} {
			want := p.name() + `: the answer lacks its list "` + list + `"` + says
			if found, _, err := search(t.Context(), p, 5); err == nil || err.Error() != want {
				t.Errorf("%s: %v, %v; want %s", body, found, err, want)
			}
		}
	}
	for _, body := range []string{`{"web": {}}`, `{"type": "search", "web": {"results": null}}`, `{"type": "ErrorResponse"}`} {
		if _, _, err := (brave{}).results([]byte(body)); err == nil || !strings.Contains(err.Error(), `lacks its list "web.results"`) {
			t.Errorf("%s: %v", body, err)
		}
	}
	for body, p := range map[string]provider{`{"type": "search", "query": {}}`: brave{}, `{"results": []}`: searxng{}, `{"results": [ ]}`: tavily{}} {
		if found, more, err := p.results([]byte(body)); err != nil || len(found) != 0 || more {
			t.Errorf("%s: %v, %v, %v", body, found, more, err)
		}
	}
}

// A field that is no text takes no results with it.
func TestOddFields(t *testing.T) {
	rows := `[{"title": 1984, "url": "http://a.example/", "content": null, "description": null}, {"title": true, "url": "http://b.example/", "content": ["x"], "description": {}},
		{"title": "x", "url": 7}, {"title": "c", "url": "http://c.example/", "content": 1e3, "description": 1e3}]`
	want := []Result{{"1984", "http://a.example/", ""}, {"true", "http://b.example/", ""}, {"c", "http://c.example/", "1e3"}}
	for body, p := range map[string]provider{`{"results": ` + rows + `}`: searxng{}, `{"results":` + rows + `}`: tavily{}, `{"web": {"results": ` + rows + `}}`: brave{}} {
		if found, _, err := p.results([]byte(body)); err != nil || !reflect.DeepEqual(found, want) {
			t.Errorf("%s: %v, %v", p.name(), found, err)
		}
	}
	_, _, err := searxng{}.results([]byte(`{"results": [], "unresponsive_engines": [["bing", 429], ["google", null]]}`))
	if err == nil || !strings.HasSuffix(err.Error(), "did not answer: bing: 429, google: ") {
		t.Error(err)
	}
}
