package web

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// site is a server of the test's own.
func site(t *testing.T, routes map[string]http.HandlerFunc) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	for path, h := range routes {
		mux.HandleFunc(path, h)
	}
	return siteOf(t, mux)
}

func siteOf(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func local(cache *Cache) *Client { return NewClient(true, cache) }

// fetch fetches one page.
func fetch(ctx context.Context, c *Client, address string) (page Page, err error) {
	c.Each(ctx, []string{address}, func(_ int, p Page, e error) { page, err = p, e })
	return page, err
}

// wants fetches what must fail with a text.
func wants(t *testing.T, c *Client, address, text string) {
	t.Helper()
	switch p, err := fetch(t.Context(), c, address); {
	case err == nil:
		t.Errorf("%s: %+v, want an error", address, p)
	case !strings.Contains(err.Error(), text):
		t.Errorf("%s: %q does not say %q", address, err, text)
	}
}

func write(media, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		_, _ = io.WriteString(w, body)
	}
}

func TestTypes(t *testing.T) {
	s := site(t, map[string]http.HandlerFunc{
		"/html":    write("text/html; charset=utf-8", "<title>T</title><p>text of the page</p>"),
		"/json":    write("application/json", `{"a": [1, "ü"]}`),
		"/problem": write("application/problem+json; charset=utf-8", `{}`),
		"/plain":   write("text/plain", "a\nb\n"),
		"/latin":   write("text/plain; charset=iso-8859-1", "caf\xe9"),
		"/utf16":   write("text/plain", "\xff\xfeh\x00i\x00"),
		"/none": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, "words")
		},
		"/octets": write("application/octet-stream", "just words"),
		"/empty":  write("text/html", ""),
		"/blank":  write("text/plain", " \n"),
		"/mark":   write("text/plain", "\xef\xbb\xbf"),
		"/app":    write("text/html", "<title>App</title><body><div id=root></div><script>run()</script>"),
		"/same":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"/odd":    write("text/html; charset", "<p>odd</p>"),
		"/feed":   write("application/rss+xml", "<rss/>"),
		"/image":  write("image/png", "\x89PNG\r\n\x1a\n"),
		"/svg":    write("image/svg+xml", "<svg/>"),
		"/zip":    write("application/zip", "PK"),
		"/binary": write("text/plain", "a\x00b"),
		"/hidden": write("application/octet-stream", "\x89PNG\r\n\x1a\n"),
		"/nopdf":  write("application/pdf", "not one"),
		"/gone":   http.NotFound,
		"/busy": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
		},
	})
	for path, want := range map[string]Page{
		"/html": {"T", "text of the page"}, "/json": {"", `{"a": [1, "ü"]}`}, "/problem": {"", "{}"}, "/plain": {"", "a\nb\n"},
		"/latin": {"", "café"}, "/utf16": {"", "hi"}, "/none": {"", "words"}, "/octets": {"", "just words"}, "/blank": {"", " \n"},
		"/odd": {"", "odd"}, "/feed": {"", "<rss/>"}, "/svg": {"", "<svg/>"},
	} {
		if p, err := fetch(t.Context(), local(nil), s.URL+path); err != nil || p != want {
			t.Errorf("%s: %+v, %v; want %+v", path, p, err, want)
		}
	}
	for path, want := range map[string]string{
		"/image": "image/png is no text", "/zip": "application/zip is no text", "/binary": "binary data",
		"/hidden": "image/png is no text", "/nopdf": "this is no PDF", "/gone": "the server answered 404 Not Found",
		"/empty": "/empty: the page is empty: the server answered 200 OK and no bytes",
		"/same":  "/same: the page is empty: the server answered 204 No Content and no bytes",
		"/mark":  "/mark: the page has no text: the server answered 200 OK and 3 bytes of text/plain",
		"/busy":  "429 Too Many Requests; it wants to be asked again after 30 s",
	} {
		wants(t, local(nil), s.URL+path, want)
	}
	p, err := fetch(t.Context(), local(nil), s.URL+"/app")
	want := s.URL + "/app: the page has no text: the server answered 200 OK and 65 bytes of text/html; scripts that may make some are not run"
	if p != (Page{Title: "App"}) || err == nil || err.Error() != want {
		t.Errorf("%+v, %v; want %s", p, err, want)
	}
	for address, want := range map[string]string{
		"ftp://example.org/": "only http and https", "file:///etc/passwd": "only http and https", "example.org": "example.org: an address begins with http:// or https://",
		"http://": "http:// has no host", "https:///x?y": "https:///x?y has no host", "http://[::1": "http://[::1 is no URL", "": "the address is empty: one begins with http:// or https://",
		" \n": "the address is empty", "//example.org/x": "begins with http:// or https://", "localhost:80": "localhost:80: an address begins with http:// or https://",
		"localhost:8080/x": "localhost:8080/x: an address begins with http:// or https://", "127.0.0.1:80": "127.0.0.1:80: an address begins",
		"not a url": "not a url: an address begins with http:// or https://", "mailto:a": "mailto:a: only http and https",
		"http://u:secret@[::1": "http://xxxxx@[::1 is no URL", "u:secret@host": "xxxxx@host: only http and https", "a%zz": "a%zz is no URL",
		"gopher://user:secret@host/": "gopher://user:xxxxx@host/",
	} {
		wants(t, local(nil), address, want)
	}
}

func TestRedirects(t *testing.T) {
	to := func(where string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", where)
			w.WriteHeader(http.StatusFound)
		}
	}
	routes := map[string]http.HandlerFunc{
		"/end": write("text/plain", "there"), "/relative": to("end"), "/path": to("/relative#part"), "/loop": to("/loop"),
		"/file": to("file:///etc/passwd"), "/bad": to("http://[::1"), "/nohost": to("http:///x"),
		"/whoami": func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "from %q", r.Header.Get("Authorization")) }, "/own": to("/whoami"),
		"/none": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) },
	}
	for i := range 12 {
		routes[fmt.Sprintf("/hop%d", i)] = to(fmt.Sprintf("/hop%d", i-1))
	}
	routes["/hop0"] = write("text/plain", "there")
	s := site(t, routes)
	other := site(t, map[string]http.HandlerFunc{
		"/away": to(s.URL + "/whoami"), "/gift": to(strings.Replace(s.URL, "http://", "http://eve:x@", 1) + "/whoami"),
	})
	with := func(base string) string { return strings.Replace(base, "http://", "http://user:pass@", 1) }
	for address, want := range map[string]string{
		s.URL + "/relative": "there", s.URL + "/path": "there", s.URL + "/hop10": "there",
		with(s.URL) + "/whoami": `from "Basic dXNlcjpwYXNz"`, with(s.URL) + "/own": `from "Basic dXNlcjpwYXNz"`,
		with(other.URL) + "/away": `from ""`, other.URL + "/gift": `from ""`,
	} {
		if p, err := fetch(t.Context(), local(nil), address); err != nil || p.Text != want {
			t.Errorf("%s: %q, %v; want %q", address, p.Text, err, want)
		}
	}
	for path, want := range map[string]string{
		"/hop11": "more than 10 redirects", "/loop": "more than 10 redirects", "/file": "redirected: file:///etc/passwd: only http",
		"/bad": "is no URL", "/nohost": "has no host", "/none": "answered 302 Found",
	} {
		wants(t, local(nil), s.URL+path, want)
	}
	wants(t, local(nil), with(s.URL)+"/loop", "user:xxxxx@")
}

func TestCompression(t *testing.T) {
	text := strings.Repeat("compressed ", 100)
	pack := func(encoding string, body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Encoding", encoding)
			_, _ = w.Write(body)
		}
	}
	raw := func(data string) []byte {
		var b bytes.Buffer
		w, _ := flate.NewWriter(&b, 9)
		_, _ = io.WriteString(w, data)
		_ = w.Close()
		return b.Bytes()
	}
	s := site(t, map[string]http.HandlerFunc{
		"/gzip": pack("gzip", zip(t, text)), "/twice": pack("gzip, x-gzip", zip(t, string(zip(t, text)))), "/deflate": pack("deflate", raw(text)),
		"/zlib": pack("deflate", func() []byte {
			var b bytes.Buffer
			w := zlib.NewWriter(&b)
			_, _ = io.WriteString(w, text)
			_ = w.Close()
			return b.Bytes()
		}()),
		"/identity": pack("identity", []byte(text)), "/empty": pack("gzip", nil),
		"/bomb": pack("gzip", zip(t, strings.Repeat("\x00", 4<<20))), "/cut": pack("gzip", zip(t, text)[:20]), "/lie": pack("gzip", []byte(text)),
		// Much that, unpacked once more, is nothing.
		"/inner": pack("gzip, gzip", zip(t, strings.Repeat(string(zip(t, "")), 200_000))),
		"/br":    pack("br", []byte("x")), "/many": pack("gzip,gzip,gzip,gzip", []byte("x")),
	})
	for _, path := range []string{"/gzip", "/twice", "/deflate", "/zlib", "/identity"} {
		if p, err := fetch(t.Context(), local(nil), s.URL+path); err != nil || p.Text != text {
			t.Errorf("%s: %d characters, %v", path, len(p.Text), err)
		}
	}
	wants(t, local(nil), s.URL+"/empty", "the page is empty: the server answered 200 OK and no bytes")
	small := local(nil)
	small.limits.body = 2 << 20
	wants(t, small, s.URL+"/bomb", "larger than 2 MiB, unpacked")
	wants(t, small, s.URL+"/inner", "larger than 2 MiB, unpacked")
	for path, want := range map[string]string{
		"/cut": "only a part of the page came: it is compressed, and ends in the middle", "/lie": "the page is not compressed as its server says: gzip: invalid header", "/br": "compressed the page with br",
		"/many": "more than three times",
	} {
		wants(t, local(nil), s.URL+path, want)
	}
}

func zip(t *testing.T, data string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, data)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What is too large, or never ends, costs no more than its limit.
func TestLimits(t *testing.T) {
	block := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	over := make(chan struct{})
	sent := 0
	s := site(t, map[string]http.HandlerFunc{
		"/announced": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "52428800") },
		"/stream": func(w http.ResponseWriter, _ *http.Request) {
			defer close(over)
			w.Header().Set("Content-Type", "text/plain")
			for range 50 {
				if _, err := w.Write(block); err != nil {
					return
				}
				sent += len(block)
			}
		},
		"/html": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			for range 9 { // a block is 1 MiB
				_, _ = w.Write(block)
			}
		},
		"/headers": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<20)) },
		"/slow": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "a beginning")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"/silent": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"/short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "less")
		},
	})
	wants(t, local(nil), s.URL+"/announced", "larger than 16 MiB")
	wants(t, local(nil), s.URL+"/stream", "larger than 16 MiB")
	if <-over; sent >= 50<<20 {
		t.Errorf("%d bytes were sent", sent)
	}
	wants(t, local(nil), s.URL+"/html", "larger than 8 MiB, which is too much HTML")
	wants(t, local(nil), s.URL+"/headers", "the server's answer is not as HTTP has it: server response headers exceeded")
	wants(t, local(nil), s.URL+"/short", "only a part of the page came: the server closed the connection before its end")
	hasty := local(nil)
	hasty.limits.time = 50 * time.Millisecond
	wants(t, hasty, s.URL+"/slow", "took longer than 50ms")
	wants(t, hasty, s.URL+"/silent", "took longer than 50ms")

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the run is over"))
	if _, err := fetch(ctx, local(nil), s.URL+"/slow"); err == nil || err.Error() != "the run is over" {
		t.Errorf("of a run that is over: %v", err)
	}
}

func TestBrokenTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(write("text/plain", "secret"))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	wants(t, local(nil), s.URL, s.URL+": the certificate of the server is not to be trusted: certificate signed by unknown authority")
	plain := site(t, map[string]http.HandlerFunc{"/": write("text/plain", "x")})
	wants(t, local(nil), strings.Replace(plain.URL, "http:", "https:", 1), ": the server does not encrypt at this port: is its address http:// and not https://?")
	old := httptest.NewUnstartedServer(write("text/plain", "secret"))
	old.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11} //nolint:gosec // that it is refused is what is tested
	old.StartTLS()
	t.Cleanup(old.Close)
	wants(t, local(nil), old.URL, old.URL+": the server did not agree to encrypt the connection: protocol version not supported")
	strange := raw(t, "SSH-2.0-x\r\n")
	wants(t, local(nil), strings.Replace(strange, "http:", "https:", 1), ": the server does not encrypt at this port")
}

// Pages of one call are fetched side by side, each with its own error.
func TestEach(t *testing.T) {
	const n = 20
	var urls []string
	arrived, all := make(chan struct{}, n), make(chan struct{})
	s := site(t, map[string]http.HandlerFunc{
		"/{n}": func(w http.ResponseWriter, r *http.Request) {
			arrived <- struct{}{}
			if len(arrived) == n {
				close(all)
			}
			select {
			case <-all:
			case <-r.Context().Done():
			}
			if r.PathValue("n") == "3" {
				http.NotFound(w, r)
				return
			}
			_, _ = io.WriteString(w, r.PathValue("n"))
		},
	})
	for i := range n {
		urls = append(urls, fmt.Sprintf("%s/%d", s.URL, i))
	}
	pages, errs := make([]Page, n), make([]error, n)
	local(nil).Each(t.Context(), urls, func(i int, p Page, err error) { pages[i], errs[i] = p, err })
	for i := range n {
		if (errs[i] != nil) != (i == 3) || i != 3 && pages[i].Text != fmt.Sprint(i) {
			t.Errorf("%d: %+v, %v", i, pages[i], errs[i])
		}
	}
	local(nil).Each(t.Context(), nil, func(int, Page, error) { t.Error("told of nothing") })
}

// Calls of one run wait for each other's room, not only the pages of one call.
func TestCallsShareRoom(t *testing.T) {
	s := site(t, map[string]http.HandlerFunc{"/small": write("text/plain", "x"), "/large": write("text/plain", strings.Repeat("x", modest+1))})
	cache := &Cache{}
	for path, taken := range map[string]chan struct{}{"/small": cache.shared().extracting, "/large": cache.shared().large} {
		for range cap(taken) {
			taken <- struct{}{}
		}
		hasty := local(cache)
		hasty.limits.time = 200 * time.Millisecond
		wants(t, hasty, s.URL+path, "took longer than 200ms")
		if _, err := fetch(t.Context(), local(nil), s.URL+path); err != nil {
			t.Errorf("%s, of another run: %v", path, err)
		}
		for range cap(taken) {
			<-taken
		}
		if _, err := fetch(t.Context(), local(cache), s.URL+path); err != nil {
			t.Errorf("%s, with room: %v", path, err)
		}
	}
}

// The same page is asked for again, and comes again only if it has changed.
func TestCache(t *testing.T) {
	version, whole := "one", 0
	handler := func(stamp string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", r.URL.RawQuery)
			if stamp != "" {
				w.Header().Set(stamp, version)
			}
			if r.Header.Get("If-None-Match") == version || r.Header.Get("If-Modified-Since") == version {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			whole++
			_, _ = io.WriteString(w, version)
		}
	}
	s := site(t, map[string]http.HandlerFunc{"/etag": handler("Etag"), "/date": handler("Last-Modified"), "/none": handler("")})
	for path, want := range map[string]int{"/etag": 2, "/date": 2, "/none": 4, "/etag?no-store": 4} {
		version, whole = "one", 0
		c := local(&Cache{})
		for _, v := range []string{"one", "one", "two", "two"} {
			version = v
			if p, err := fetch(t.Context(), c, s.URL+path); err != nil || p.Text != v {
				t.Errorf("%s: %+v, %v; want %s", path, p, err, v)
			}
		}
		if whole != want {
			t.Errorf("%s came %d times, want %d", path, whole, want)
		}
	}
}
