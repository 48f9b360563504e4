package web

import "testing"

// What stands around the text of a page goes also from one that is so short that the library keeps it all.
func TestAroundShortPages(t *testing.T) {
	const nav, text = `<nav><a href=/>Home</a><a href=/b>Blog</a></nav>`, `<p>A short text, and no more.</p>`
	const want = "A short text, and no more."
	for name, body := range map[string]string{
		"navigation":              nav + "<main>" + text + "</main>",
		"all":                     "<header><a href=/>Logo</a>" + nav + "</header><aside>Related things</aside><main>" + text + "</main><footer>Imprint</footer>",
		"roles":                   `<div role=banner>Logo</div><div role=navigation><ul><li><a href=/>Home</a></ul></div><div role=main>` + text + "</div><div role=contentinfo>Imprint</div>",
		"no main":                 nav + text,
		"in a header without one": "<header>" + nav + "</header><div>" + text + "</div>",
	} {
		if p := pageOf(t, "<title>T</title><body>"+body); p.Text != want {
			t.Errorf("%s: %q", name, p.Text)
		}
	}
	for body, want := range map[string]string{
		nav: "[Home](https://site.example/)[Blog](https://site.example/b)",
		"<main><header><h2>Part</h2></header>" + text + "</main>":                        "## Part\n\n" + want,
		nav + "<main><h1>Heading</h1>" + text + "</main>":                                "# Heading\n\n" + want,
		"<aside>Beside<main>" + text + "</main></aside>":                                 "Beside\n\n" + want,
		"<header><h1>Heading</h1></header>" + text:                                       "# Heading\n\n" + want,
		"<main>" + text + "</main><p>More below it.</p>":                                 want + "\n\nMore below it.",
		"<article><header><p>By me</p></header>" + text + "</article><footer>X</footer>": "By me\n\n" + want,
	} {
		if p := pageOf(t, "<title>T</title><body>"+body); p.Text != want {
			t.Logf("%s: %q, want %q", body, p.Text, want)
			t.Fail()
		}
	}
}
