package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// BenchmarkEach measures what 20 pages of 200 KB cost together, and the slowest alone: a server
// answers after 50 to 500 ms.
func BenchmarkEach(b *testing.B) {
	const n, size = 20, 200 << 10
	var page strings.Builder
	page.WriteString("<html><head><title>Bench</title></head><body><nav><a href=/>Home</a></nav><article><h1>Bench</h1>")
	for i := 0; page.Len() < size; i++ {
		fmt.Fprintf(&page, "<h2>Part %d</h2><p>Some text, with <a href='/l/%d'>a link</a> and <code>code_%d</code>, goes on for a while here.</p>"+
			"<table><tr><th>a</th><th>b</th></tr><tr><td>%d</td><td>x</td></tr></table><pre>line %d\n\tindented</pre>\n", i, i, i, i, i)
	}
	page.WriteString("</article></body></html>")
	mux := http.NewServeMux()
	mux.HandleFunc("/{ms}", func(w http.ResponseWriter, r *http.Request) {
		d, err := time.ParseDuration(r.PathValue("ms") + "ms")
		if err != nil || pause(r.Context(), d) != nil {
			return
		}
		write("text/html", page.String())(w, r)
	})
	s := siteOf(b, mux)
	urls := make([]string, n)
	for i := range urls {
		urls[i] = fmt.Sprintf("%s/%d", s.URL, 50+450*i/(n-1))
	}
	for name, which := range map[string][]string{"slowest": urls[n-1:], "all": urls} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				local(nil).Each(b.Context(), which, func(_ int, p Page, err error) {
					if err != nil || len(p.Text) < size/4 {
						b.Error(len(p.Text), err)
					}
				})
			}
		})
	}
}
