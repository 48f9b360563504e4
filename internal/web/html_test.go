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
		<a href="javascript:alert(1)">four</a>, <a href="mailto:a@b.example">five</a>, <a href="data:text/html,x">six</a>, <a>seven</a>, <a href="/a
	b">eight</a>.</p>`)
	want := "Some words and [one](https://site.example/other/x%20y?q=%C3%A4), [two](https://host.example/z), [three](https://site.example/other/#part), " +
		"four, [five](mailto:a@b.example), six, seven, [eight](https://site.example/ab)."
	if p.Text != want {
		t.Errorf("%s\nwant\n%s", p.Text, want)
	}
}

// Text comes as it reads, wherever it stands.
func TestTextIsNotEscaped(t *testing.T) {
	p := pageOf(t, `<p>Vec&lt;T&gt; of R&amp;D, &amp;lt; and &amp;amp;amp; 1 &lt; 2</p><h3>Map&lt;K&gt;</h3><ul><li>a &gt; b &amp;&amp; c</li></ul>
		<p><a href="/x">Opt&lt;T&gt;</a></p><table><tr><th>&lt;b&gt;</th></tr><tr><td><code>&lt;i&gt;</code> &lt;|&gt;</td></tr></table>
		<h3>Learn C#</h3><h3>#</h3><h3>C#</h3><pre>a &lt; b &amp;lt;</pre>`)
	want := "Vec<T> of R&D, &lt; and &amp;amp; 1 < 2\n\n### Map<K>\n\n- a > b && c\n\n[Opt<T>](https://site.example/x)\n\n| <b> |\n|---|\n| `<i>` <\\|> |\n\n" +
		"### Learn C#\n\n### #\n\n### C#\n\n```\na < b &lt;\n```"
	if p.Text != want {
		t.Errorf("%s\nwant\n%s", p.Text, want)
	}
}

func TestRefresh(t *testing.T) {
	const onward = "The page sends its reader on to <https://site.example/next?a=1,2;3>."
	for body, want := range map[string]string{
		`<meta http-equiv=refresh content="0; url=/next?a=1,2;3">`:                          onward,
		`<meta http-equiv=Refresh content="3,URL='/next?a=1,2;3'"><p>Moved.</p>`:            "Moved.\n\n" + onward,
		`<meta http-equiv=refresh content="0;/next?a=1,2;3">`:                               onward,
		`<meta http-equiv=refresh content="300; url=/next"><p>News</p>`:                     "News",
		`<meta http-equiv=refresh content="5"><p>News</p>`:                                  "News",
		`<meta http-equiv=refresh content="0; url=javascript:1"><p>News</p>`:                "News",
		`<noscript><meta http-equiv=refresh content="0; url=/plain"></noscript><p>News</p>`: "News",
	} {
		if got := pageOf(t, body).Text; got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestEmphasis(t *testing.T) {
	for body, want := range map[string]string{
		"a <em>e</em><strong>s</strong><i>i</i> b": "a *e***s***i* b", "<b>a</b><strong>b</strong>": "**ab**", "<b><i>a</i></b>": "***a***",
		"<del>gone</del> <s>old</s> <strike>out</strike> <ins>new</ins>": "~~gone~~ ~~old~~ ~~out~~ new",
	} {
		if got := pageOf(t, "<p>"+body+"</p>").Text; got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestImages(t *testing.T) {
	for body, want := range map[string]string{
		`<img src=/a alt=A data-src=/b>`:                             "![A](https://site.example/a)",
		`<img data-src=b alt=B>`:                                     "![B](https://site.example/dir/b)",
		`<img src="data:image/gif;base64,R0" data-original=/c>`:      "![](https://site.example/c)",
		`<img srcset="/d 1x, /e 2x" alt=D>`:                          "![D](https://site.example/d)",
		`<img data-lazy-src="javascript:1" data-srcset="/f, /g 2x">`: "![](https://site.example/f)",
		`<img alt=none> <img src="data:x" alt=none>`:                 "",
	} {
		if got := pageOf(t, "<p>words "+body+"</p>").Text; got != strings.TrimSpace("words "+want) {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestHeadings(t *testing.T) {
	for body, want := range map[string]string{
		`<a href="/x"><h3>Title</h3></a>`:                                "### [Title](https://site.example/x)",
		`<a href="/x"><div><h3>Title</h3><p>words</p></div></a><p>z</p>`: "[**Title** words](https://site.example/x)\n\nz",
		"<h1>one</h1><p>x</p><h2>two</h2><p>y</p>":                       "# one\n\nx\n\n## two\n\ny",
		"<h4>a <code>b</code>\n<br>c</h4>":                               "#### a `b` c",
	} {
		if got := pageOf(t, body).Text; got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// A link has one line, whatever the page has put into it.
func TestLinksOfBlocks(t *testing.T) {
	for body, want := range map[string]string{
		"<a href=/x><h2>One <b>two</b></h2><p>three</p><p>four</p></a>":                 "[**One two** three four](https://site.example/x)",
		"<a href=/x><img src=/i alt=I><h3>T</h3><ul><li>a<li>b</ul><pre>c\nd</pre></a>": "[![I](https://site.example/i) **T** a b `c d`](https://site.example/x)",
		"a <a href=/x>b<br>c</a> d":                            "a [b c](https://site.example/x) d",
		"<a href=/x>\n<h2>a</h2>\n</a><p>b":                    "## [a](https://site.example/x)\n\nb",
		"<a href=/x><h2></h2><p>a</p></a>":                     "[a](https://site.example/x)",
		"<a name=x><h2>a</h2><p>b</p></a>":                     "## a\n\nb",
		"<ul><li><a href=/x><div>a</div><div>b</div></a></ul>": "- [a b](https://site.example/x)",
	} {
		if got := pageOf(t, body).Text; got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
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
		"a span":     "<table><tr><th>a<th>b</tr><tr><td colspan=100000000>c</table>bottom",
		"no span":    "<table><tr><th>a<th>b</tr><tr><td rowspan=99999999999999999999 colspan=-5>c</table>bottom",
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
		"panels":     strings.Repeat("<div role=tabpanel hidden aria-labelledby=x>a</div>", 10_000) + "<p id=x>" + strings.Repeat("x<i>y</i>", 10_000) + "</p>bottom",
		"powers":     strings.Repeat("x<sup>", 150) + strings.Repeat("x<sup>2</sup>", 10_000) + "bottom",
		"formulas":   strings.Repeat("<math><msup><mi>x</mi><mn>2</mn></msup></math>", 10_000) + "bottom",
		"a formula":  "<math>" + strings.Repeat("<msqrt>", 300) + strings.Repeat("<mi>x</mi>", 10_000) + strings.Repeat("</msqrt>", 300) + "</math>bottom",
		"code":       "<pre>" + strings.Repeat("x<table><tr><td>a<td>b</table>", 10_000) + "bottom",
		"index":      "<pre>" + strings.Repeat("<a href=x>a</a> b\n", 30_000) + "bottom",
		"lines":      strings.Repeat("<ol><li>", 200) + strings.Repeat("x<li>", 20_000) + "bottom",
		"items":      "<table><tr><th>a<td>" + strings.Repeat("<ol><li>", 200) + strings.Repeat("x<li>", 20_000) + "bottom",
		"cards":      strings.Repeat("<a href=x><h2>a</h2><p>b</p></a>", 10_000) + "bottom",
		"buttons":    "<p>" + strings.Repeat("<i>", 300) + strings.Repeat("x<i></i>", 20_000) + strings.Repeat("</i><button>a</button>", 300) + strings.Repeat("<i></i><button>b</button>", 20_000) + "bottom",
		"choices":    strings.Repeat("<select>"+strings.Repeat("<option>x", 100)+"</select>", 900) + "bottom",
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
