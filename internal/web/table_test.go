package web

import (
	"strings"
	"testing"
)

func TestTables(t *testing.T) {
	options := func(cell string) string {
		return `<h1>Options</h1><table><thead><tr><th>Option</th><th>Default</th></tr></thead><tbody><tr><td>retries</td><td>` + cell +
			`</td></tr><tr><td>timeout</td><td>30</td></tr></tbody></table>`
	}
	const head, foot = "# Options\n\n| Option | Default |\n|---|---|\n| retries | ", " |\n| timeout | 30 |"
	for name, tt := range map[string]struct{ cell, want string }{
		"list":        {"One of:<ul><li>0</li><li>n</li></ul>", "One of:<br />- 0<br />- n"},
		"lists":       {"<ul>\n<li>a <ol><li>b</li></ol></li>\n<li><p>c</p></li></ul> d", "- a<br />  1. b<br />- c<br />d"},
		"items":       {"<ol start=3><li><p>a</p><p>b</p></li><li> </li><li value=9><ul><li>c</li></ul></li></ol>", "3. a<br />  b<br />9. - c"},
		"heading":     {"<h3>Three</h3>tries", "Three<br />tries"},
		"quote":       {"<blockquote><p>a</p><p>b</p></blockquote>", "a<br />b"},
		"rule":        {"a<hr>b", "a<br />b"},
		"table":       {"x<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td></td><td>d</td></tr></table>y", "x<br />a, b<br />c, d<br />y"},
		"breaks":      {"<br>a <br><br>\n<br> b<br>", "a<br />b"},
		"in line":     {"a <b>b<p>c</p></b> <a href=/x><div>d</div></a><i> </i> e", "a<br />**b<br />c**<br />[d](https://site.example/x)<br />e"},
		"words":       {"a <b>b</b> <code>c</code> d<x-y>e</x-y>", "a **b** `c` de"},
		"pre":         {"see <pre>if a:\n    b | `c`\n\n</pre> end", "see<br />`if a:`<br />``     b \\| `c` ``<br />end"},
		"pre code":    {"<pre><code class=language-go>a\nb</code></pre>", "`a`<br />`b`"},
		"definitions": {"<dl><dt>a</dt><dd>b</dd></dl>", "a<br />b"},
		"bars":        {`<a href="/x?a|b" title="t|u">c|d</a> <img src=/i alt="e|f">`, `[c\|d](https://site.example/x?a%7Cb "t\|u") ![e\|f](https://site.example/i)`},
	} {
		t.Run(name, func(t *testing.T) {
			if got, want := pageOf(t, options(tt.cell)).Text, head+tt.want+foot; got != want {
				t.Errorf("%s\nwant\n%s", got, want)
			}
		})
	}
	for name, tt := range map[string]struct{ body, want string }{
		"no headings":  {"<table><tr><td>a</td><td><ul><li>b</li><li>c</li></ul></td></tr></table>", "|  |  |\n|---|---|\n| a | - b<br />- c |"},
		"emphasis":     {"<b><table><tr><th>a</th><th>b</th></tr></table></b>", "| a | b |\n|---|---|"},
		"caption":      {"<table><caption><h2>The <i>one</i></h2>two</caption><tr><th>a</th></tr></table>", "| a |\n|---|\n\nThe *one* two"},
		"presentation": {"<table role=presentation><tr><td>menu</td><td>content</td></tr></table>", "menu\n\ncontent"},
		"layout":       {"<table><tr><td>menu</td><td><h2>Head</h2>text<table><tr><th>a</th><th>b</th></tr></table></td></tr></table>", "menu\n\n## Head\n\ntext\n\n| a | b |\n|---|---|"},
		"a frame":      {"<table><tr><td><p>a</p><pre>b\nc</pre></td></tr></table>", "a\n\n```\nb\nc\n```"},
		"headings below": {
			"<table><tr><td>a</td><td>b</td></tr><tr><th>c</th><td>d</td></tr><tr><th>e</th><td>f</td></tr></table>",
			"|  |  |\n|---|---|\n| a | b |\n| c | d |\n| e | f |",
		},
		"a corner":      {"<table><tr><td></td><th>a</th></tr><tr><th>b</th><td>c</td></tr></table>", "|  | a |\n|---|---|\n| b | c |"},
		"in a heading":  {"<h3>A<table><tr><th>a</th><th>b</th></tr></table></h3>", "### A a, b"},
		"a link around": {"<a href=/x><table><tr><td>a</td><td>b</td></tr></table></a>", "[a, b](https://site.example/x)"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pageOf(t, tt.body).Text; got != tt.want {
				t.Errorf("%q\nwant\n%q", got, tt.want)
			}
		})
	}
}

// What is in each other in a cell is looked at again and again, but not for ever.
func TestHostileCells(t *testing.T) {
	for name, cell := range map[string]string{
		"spans":  strings.Repeat("<span>", 300) + strings.Repeat("x<br>", 20_000),
		"blocks": strings.Repeat("<b><div>", 150) + strings.Repeat("x<p>", 20_000),
		"tables": strings.Repeat("<table><tr><th>", 100) + strings.Repeat("x|<br>", 5_000),
		"ticks":  "<pre>" + strings.Repeat("`", 1<<20) + "</pre>",
		"empty":  strings.Repeat("<span>", 300) + strings.Repeat("<i></i>", 50_000),
	} {
		t.Run(name, func(t *testing.T) {
			p := pageOf(t, "<table><tr><th>a</th></tr><tr><td>"+cell+"bottom")
			if len(p.Text) > 8*len(cell) || !strings.Contains(p.Text, "bottom") {
				t.Errorf("%d bytes became %d", len(cell), len(p.Text))
			}
		})
	}
}
