package web

import (
	"net/url"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/web/webtest"
)

// BenchmarkPage measures what a page of 200 KB costs once it is here. What many cost together, and
// from slow servers, is a row of `make bench`.
func BenchmarkPage(b *testing.B) {
	const size = 200 << 10
	d := document{url: &url.URL{Scheme: "https", Host: "site.example"}, media: "text/html", body: []byte(webtest.Page(size))}
	b.ReportAllocs()
	for b.Loop() {
		if p, err := d.page(defaultLimits()); err != nil || len(p.Text) < size/4 {
			b.Fatal(len(p.Text), err)
		}
	}
}
