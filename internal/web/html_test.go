package web

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func pageOf(t *testing.T, body string) Page {
	t.Helper()
	at := &url.URL{Scheme: "https", Host: "site.example", Path: "/dir/page"}
	p, err := document{url: at, media: "text/html", body: []byte(body)}.page(defaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLinks(t *testing.T) {
	p := pageOf(t, `<base href="/other/"><p>Some words and <a href="x y?q=ä">one</a>, <a href="//host.example/z">two</a>, <a href="#part">three</a>,
		<a href="javascript:alert(1)">four</a>, <a href="mailto:a@b.example">five</a>, <a href="data:text/html,x">six</a>, <a>seven</a>.</p>`)
	want := "Some words and [one](https://site.example/other/x%20y?q=%C3%A4), [two](https://host.example/z), [three](#part), " +
		"four, [five](mailto:a@b.example), six, seven."
	if p.Text != want {
		t.Errorf("%s\nwant\n%s", p.Text, want)
	}
}

// Pages that would take for ever, or all memory, in the hands of the libraries.
func TestHostilePages(t *testing.T) {
	for name, body := range map[string]string{
		"deep":       strings.Repeat("<div>", 50_000) + "bottom",
		"deep lists": strings.Repeat("<ul><li>", 400) + "bottom",
		"wide":       strings.Repeat("<p>x", 20_000) + "bottom",
		"many":       strings.Repeat("<i>x</i>", 101_000) + "bottom",
		"spans":      "<table><tr><th>a</th></tr>" + strings.Repeat("<tr><td colspan=1000 rowspan=1000>b</td></tr>", 2000) + "</table>bottom",
		"formatting": strings.Repeat("<b><i><u><a>", 5_000) + "bottom",
		"deep text":  strings.Repeat("<div>", 400) + strings.Repeat("word ", 400_000) + "bottom",
		"quotes":     strings.Repeat("<blockquote>", 400) + strings.Repeat("x<br>", 90_000) + "bottom",
		"frames":     "<frameset><noframes>" + strings.Repeat("<blockquote>", 400) + strings.Repeat("x<br>", 90_000) + "bottom</noframes></frameset>",
		"deep cells": strings.Repeat("<table><tr><td>"+strings.Repeat("x ", 2000), 100) + "bottom",
		"class":      "<div class='" + strings.Repeat("comment-", 100_000) + "'>bottom</div>",
		"tables":     strings.Repeat("<table><tr><td>", 150) + "bottom",
		"attributes": "<p " + strings.Repeat("a=b ", 200_000) + ">bottom",
		"entities":   strings.Repeat("&lt;", 100_000) + "bottom",
		"brackets":   "<p>" + strings.Repeat("[*_`", 100_000) + "bottom",
		"comment":    "bottom<!--" + strings.Repeat("-", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			p := pageOf(t, body)
			if len(p.Text) > 8*len(body)+1000 || !strings.Contains(p.Text, "bottom") {
				t.Errorf("%d bytes became %d", len(body), len(p.Text))
			}
		})
	}
}

func TestPlainText(t *testing.T) {
	p := plainText("<html><head><title>The &amp;\n title</title><style>no</style></head><body><p>One <b>bold</b> word<p>Two<script>no</script><br>three &lt;x&gt;")
	if want := (Page{"The & title", "One bold word\nTwo\nthree <x>"}); p != want {
		t.Errorf("%+q, want %+q", p, want)
	}
}

func FuzzHTML(f *testing.F) {
	pages, err := filepath.Glob("testdata/pages/*.html")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range pages {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body[:min(len(body), 4096)], "utf-8")
	}
	f.Add([]byte("<meta charset=utf-16><p>x"), "iso-2022-jp")
	f.Fuzz(func(t *testing.T, body []byte, charset string) {
		at := &url.URL{Scheme: "https", Host: "site.example", Path: "/"}
		d := document{url: at, media: "text/html", params: map[string]string{"charset": charset}, body: body}
		p, err := d.page(defaultLimits())
		if err == nil && (!utf8.ValidString(p.Text) || !utf8.ValidString(p.Title)) {
			t.Errorf("%+q is no UTF-8", p)
		}
	})
}
