package web

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// An address that a call names several times is asked once, and its page is in all their places.
func TestEqualAddresses(t *testing.T) {
	var asked atomic.Int32
	s := site(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "answer %d", asked.Add(1)) }})
	urls := append(slices.Repeat([]string{s.URL + "/a"}, 4), s.URL+"/b", s.URL+"/a", "ftp://x", "ftp://x")
	var mu sync.Mutex
	texts, errs := make([]string, len(urls)), make([]error, len(urls))
	local(nil).Each(t.Context(), urls, func(i int, p Page, err error) {
		mu.Lock()
		defer mu.Unlock()
		texts[i], errs[i] = p.Text, err
	})
	for i := range urls {
		if j := slices.Index(urls, urls[i]); texts[i] != texts[j] || (errs[i] != nil) != (i > 5) {
			t.Errorf("%d: %q, %v", i, texts[i], errs[i])
		}
	}
	if asked.Load() != 2 {
		t.Errorf("the server was asked %d times", asked.Load())
	}
}

// What is good for a while is not asked for again in a run.
func TestFreshPages(t *testing.T) {
	for name, c := range map[string]struct {
		headers, user string
		times         int
	}{
		"good":             {"Cache-Control: max-age=3600", "", 1},
		"with more":        {"Cache-Control: Public, Max-Age=3600", "", 1},
		"in quotes":        {`Cache-Control: max-age="3600"`, "", 1},
		"of a browser":     {"Cache-Control: private, max-age=3600", "", 1},
		"beyond all":       {"Cache-Control: max-age=99999999999999999999999", "", 1},
		"nothing":          {"", "", 3},
		"at an end":        {"Cache-Control: max-age=0", "", 3},
		"old already":      {"Cache-Control: max-age=60|Age: 61", "", 3},
		"no number":        {"Cache-Control: max-age=soon", "", 3},
		"no-store":         {"Cache-Control: max-age=60|Cache-Control: no-store", "", 3},
		"no-cache":         {"Cache-Control: no-cache, max-age=60", "", 3},
		"of a user":        {"Cache-Control: max-age=3600", "me:secret@", 3},
		"of all":           {"Cache-Control: max-age=3600|Vary: *", "", 3},
		"unchanged":        {"ETag: 1", "", 3},
		"good, then again": {"Cache-Control: max-age=60|ETag: 1", "", 1},
	} {
		asked := 0
		s := site(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) {
			asked++
			for line := range strings.SplitSeq(c.headers, "|") {
				if name, value, found := strings.Cut(line, ": "); found {
					w.Header().Add(name, value)
				}
			}
			_, _ = io.WriteString(w, "text")
		}})
		client := local(&Cache{})
		for range 3 {
			if p, err := fetch(t.Context(), client, strings.Replace(s.URL, "//", "//"+c.user, 1)); err != nil || p.Text != "text" {
				t.Errorf("%s: %+v, %v", name, p, err)
			}
		}
		if asked != c.times {
			t.Errorf("%s: asked %d times, want %d", name, asked, c.times)
		}
	}
}

// A page that has not changed is good again for as long as its server says then.
func TestFreshAgain(t *testing.T) {
	c, u := &Cache{}, &url.URL{Scheme: "https", Host: "site.example"}
	c.put(u, http.Header{"Etag": {"1"}}, Page{Text: "text"})
	if e, ok := c.get(u); !ok || e.isFresh() {
		t.Errorf("%+v, %v", e, ok)
	}
	c.renew(u, http.Header{"Cache-Control": {"max-age=60"}})
	if e, _ := c.get(u); !e.isFresh() || e.until.After(time.Now().Add(time.Minute)) || e.page.Text != "text" {
		t.Errorf("%+v", e)
	}
	c.renew(&url.URL{Host: "other"}, http.Header{"Cache-Control": {"max-age=60"}})
	if len(c.pages) != 1 || c.bytes != len("text") {
		t.Errorf("%d pages, %d bytes", len(c.pages), c.bytes)
	}

	asked := 0
	s := site(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", "1")
		if asked++; r.Header.Get("If-None-Match") == "1" {
			w.Header().Set("Cache-Control", "max-age=60")
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, "text")
	}})
	client := local(&Cache{})
	for range 4 {
		if p, err := fetch(t.Context(), client, s.URL); err != nil || p.Text != "text" {
			t.Errorf("%+v, %v", p, err)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times, want 2", asked)
	}
}
