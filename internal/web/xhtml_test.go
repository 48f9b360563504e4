package web

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

func pageAs(t *testing.T, media, body string) Page {
	t.Helper()
	d := document{url: &url.URL{Scheme: "https", Host: "site.example"}, body: []byte(body)}
	d.media, d.params = mediaType(media)
	p, err := d.page(defaultLimits())
	if err != nil {
		t.Errorf("%s: %.60q: %v", media, body, err)
	}
	return p
}

// What XML closes in its tag does not swallow what follows.
func TestXHTML(t *testing.T) {
	const xhtml = "application/xhtml+xml"
	const doctype = `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">`
	for _, name := range []string{"script", "title", "style", "iframe", "textarea", "noscript", "xmp", "noembed", "select", "div", "template"} {
		body := "<html><head/><body><" + name + ` class="x"/><p>text of the <b>page</b></p><br/><p>end</p></body></html>`
		if p := pageAs(t, xhtml+"; charset=utf-8", body); p.Text != "text of the **page**\n\nend" {
			t.Errorf("%s: %q", name, p.Text)
		}
	}
	for body, want := range map[string]string{
		doctype + `<html><head><title>T</title><script src="a.js"/><script src="b.js" /></head><body><p>text</p></body>`: "text",
		`<?xml version="1.0"?><html><title/><style/><body><p>text</p><script>x()</script></body>`:                        "text",
		doctype + `<title>T</title><script src="a.js"/>x()</script><p>text</p>`:                                          "text",
		doctype + `<title>T</title><SCRIPT src="a.js"/>x()</SCRIPT><p>text</p>`:                                          "text",
		doctype + `<title>T</title><p>a</p><div/><p>text</p>`:                                                            "a\n\ntext",
		`<!DOCTYPE html><title>T</title><p>text</p><script/><p>of a script</p>`:                                          "text",
	} {
		if p := pageAs(t, "text/html", body); p.Text != want {
			t.Errorf("%s: %q, want %q", body, p.Text, want)
		}
	}
	const sections = `<title><![CDATA[T & T]]></title><script><![CDATA[ if (a < b) x() ]]></script><style>/*<![CDATA[*/ p {} /*]]>*/</style>`
	if p := pageAs(t, xhtml, sections+`<p><![CDATA[1 < 2 > <b>&amp;]]> and more</p>`); p != (Page{"T & T", "1 < 2 > <b>&amp; and more"}) {
		t.Errorf("sections of CDATA: %+v", p)
	}
	if p := pageAs(t, xhtml, `<title>T</title><p>a<a id="x"/> <a href="/y">b</a></p>`); p != (Page{"T", "a [b](https://site.example/y)"}) {
		t.Errorf("an anchor: %+v", p)
	}
}

// Many of them take a time that does not grow with the square.
func TestXHTMLIsLinear(t *testing.T) {
	began := time.Now()
	for _, media := range []string{"application/xhtml+xml", "text/html"} {
		for _, tag := range []string{"<script/>", "<title/>", "<SCRIPT/>", "<p/>", "script<script/>"} {
			d := document{media: media}
			d.closed("<?xml?>" + strings.Repeat(tag, (4<<20)/len(tag)))
		}
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
}

// A document is read in the encoding that it names, wherever it does.
func TestDeclaredEncodings(t *testing.T) {
	const cyrillic, word = "\xcf\xf0\xe8\xe2\xe5\xf2", "Привет" // in windows-1251
	xml := `<?xml version="1.0" encoding="windows-1251"?>` + "\n"
	wide := func(text string) string { return strings.Join(strings.Split(text, ""), "\x00") + "\x00" }
	long := "<!-- " + strings.Repeat("licence ", 400) + "-->"
	for name, c := range map[string]struct{ media, body string }{
		"XML":                {"application/xml", xml + "<a>" + cyrillic + "</a>"},
		"XML as text":        {"text/xml", strings.ReplaceAll(xml, `"`, "'") + "<a>" + cyrillic + "</a>"},
		"a feed":             {"application/rss+xml", xml + "<a>" + cyrillic + "</a>"},
		"XHTML":              {"application/xhtml+xml", xml + "<p>" + cyrillic + "</p>"},
		"XHTML as HTML":      {"text/html", xml + "<p>" + cyrillic + "</p>"},
		"the server's":       {"text/xml; charset=utf-8", xml + "<a>" + word + "</a>"},
		"UTF-16":             {"text/xml", wide(`<?xml version="1.0"?><a>w</a>`) + "\x1f\x04"},
		"a lie":              {"text/xml", `<?xml version="1.0" encoding="UTF-16"?><a>` + word + "</a>"},
		"spaces":             {"text/xml", "<?xml version='1.0' encoding = 'windows-1251' ?><a>" + cyrillic + "</a>"},
		"a late meta":        {"text/html", long + `<meta charset=windows-1251><p>` + cyrillic + "</p>"},
		"an older late meta": {"text/html", long + `<meta name=viewport content=x><meta http-equiv=Content-Type content="text/html; charset=windows-1251"><p>` + cyrillic},
		"not that in a comment": {
			"text/html", long + `<!-- <meta charset=koi8-r> --><meta name=description content="charset ` + cyrillic + `"><meta charset=windows-1251><p>` + cyrillic,
		},
		"a header": {"text/html; charset=windows-1251", long + `<meta charset=koi8-r><p>` + cyrillic},
	} {
		want := word
		if name == "UTF-16" {
			want = "П"
		}
		if p := pageAs(t, c.media, c.body); !strings.Contains(p.Text, want) {
			t.Errorf("%s: %q", name, p.Text)
		}
	}
	if p := pageAs(t, "text/html", long+`<title>T</title><body><p>`+cyrillic+`<meta charset=windows-1251>`); strings.Contains(p.Text, word) {
		t.Errorf("an encoding below the head: %q", p.Text)
	}
}
