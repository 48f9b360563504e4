package web

import (
	"strings"
	"testing"
)

const dir = "https://site.example/dir/"

// What a browser shows of a page otherwise than its tree has it.
func TestShown(t *testing.T) {
	const panels = `<ul role=tablist><li role=tab id=t1>npm<li role=tab id=t2>yarn</ul><div role=tabpanel aria-labelledby=t1><p>one</div>` +
		`<div role=tabpanel aria-labelledby=t2 hidden><p>two</div>`
	for name, tt := range map[string]struct{ body, want string }{
		"tabs":             {panels, "- npm\n- yarn\n\n**npm**\n\none\n\n**yarn**\n\ntwo"},
		"panes":            {"<div class='tab-pane active'>one</div><div class=tab-pane style='display: none'>two</div><div hidden>three</div>", "one\n\ntwo"},
		"powers":           {"<p>2<sup>10</sup> 10<sup>-3</sup> x<sup><i>n</i></sup> $19<sup>99</sup> a.<sup>1</sup>", "2<sup>10</sup> 10<sup>-3</sup> x<sup>*n*</sup> $19<sup>99</sup> a.<sup>1</sup>"},
		"no powers":        {"<p>1<sup>st</sup> 2<sup>nd</sup> X<sup>TM</sup> Y<sup>®</sup> <sup>3</sup> a<sup><a href=/n>[1]</a></sup> b<sup>[2]</sup>", "1st 2nd XTM Y® 3 a[[1]](https://site.example/n) b[2]"},
		"below the line":   {"<p>H<sub>2</sub>O CO<sub>2</sub> log<sub>2</sub>8 10<sub>2</sub> x<sub>i</sub>", "H2O CO2 log<sub>2</sub>8 10<sub>2</sub> x<sub>i</sub>"},
		"powers in a cell": {"<table><tr><th>a<td>2<sup>8</sup></table>", "| a | 2<sup>8</sup> |\n|---|---|"},
		"powers in code":   {"<p><code>2<sup>8</sup></code>", "`2<sup>8</sup>`"},
		"TeX":              {"<p>a <math><semantics><mi>E</mi><annotation encoding=application/x-tex>E=mc^2</annotation></semantics></math> b", "a $E=mc^2$ b"},
		"KaTeX":            {"<p><span><span><math alttext='x^2'><mi>x</mi></math></span><span aria-hidden=true>x2</span></span> b", "$x^2$ b"},
		"MathML":           {"<p><math><msup><mi>x</mi><mn>2</mn></msup><mo>=</mo><mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><mn>20</mn></mfrac><msqrt><mi>y</mi></msqrt></math>", "x^2=(a+1)/20sqrt(y)"},
		"a matrix":         {"<p><math><mtable><mtr><mtd>1</mtd><mtd>2</mtd></mtr><mtr><mtd>3</mtd><mtd>4</mtd></mtr></mtable></math>", "1, 2; 3, 4;"},
		"quotation":        {"<p>He said <q>yes</q>.", "He said “yes”."},
		"hints":            {"<p>Donau&shy;dampf 2&nbsp;kg&nbsp;&nbsp;x, a&#8203;b&#8288;c&#65279;", "Donaudampf 2 kg x, abc"},
		"legend":           {"<fieldset><legend>Name</legend>text</fieldset>", "Name\n\ntext"},
		"details":          {"<details><summary>More</summary>text</details>", "More\n\ntext"},
		"centred":          {"<center>a</center><center>b</center>", "a\n\nb"},
		"notes":            {"<p>text</p><aside class='note warning'><p>Careful</aside><aside><p>Other news</aside>", "text\n\nCareful"},
		"who is quoted":    {"<article><p>text</p><blockquote>words<footer>Ann</footer></blockquote></article><footer>Imprint</footer>", "text\n\n> words\n> \n> Ann"},
		"links in code":    {"<p><code class=x><a href=/f>f()</a></code> <code>a <a href=/g>g</a></code>", "[`f()`](https://site.example/f) `a g`"},
		"a foot":           {"<table><thead><tr><th>a</thead><tfoot><tr><td>sum</tfoot><tbody><tr><td>1</tbody></table>", "| a |\n|---|\n| 1 |\n| sum |"},
		"tasks":            {"<ul><li><input type=checkbox checked> a<li><label><input type=checkbox> b</label></ul><input type=checkbox> c", "- [x] a\n- [ ] b\n\nc"},
		"role":             {"<div role=heading aria-level=3>a</div><div role=heading>b</div><span role=heading>c</span>", "### a\n\n## b\n\n## c"},
		"heading cells":    {"<table><tr role=heading><th>a<th>b<tr><td role=heading>c<td><div role=heading>d</div></table>", "| a | b |\n|---|---|\n| c | d |"},
		"heading lists":    {"<ul role=heading><li role=heading>a<li><div role=heading>b</div></ul><pre role=heading>c\nd</pre>", "- a\n- ## b\n\n```\nc\nd\n```"},
		"heading words":    {"<p>a <span role=heading>b</span> c</p><x-h role=heading aria-level=4>d</x-h>", "a b c\n\n#### d"},
		"signs of headings": {
			"<div><h2>Install</h2><a class=anchor aria-label='Permalink: Install' href='#install'><svg></svg></a></div>" +
				"<h2>Use<a class=headerlink href='page#use' title='Permalink to this heading'></a></h2>" +
				"<h3>Go<a class=hash-link aria-label='Direct link to Go' href='#go' title='Direct link to Go'>&#8203;</a></h3>", "## Install\n\n## Use\n\n### Go",
		},
		"drawings of names": {"<p><a href=/g aria-label=GitHub><svg><title>Git</title><path/></svg></a> <a href=/h title=Home><span hidden>x</span></a>", "[GitHub](https://site.example/g) [Home](https://site.example/h \"Home\")"},
		"not a formula":     {"<p>Where <math alttext=x></math></p><p aria-hidden=true>a paragraph</p><div><math alttext=y></math><p aria-hidden=true>another</div>", "Where $x$\n\na paragraph\n\n$y$\n\nanother"},

		"recordings":        {"<video src=v.mp4 title='The talk'>no</video><p>a<audio><source src=a.ogg></audio>b", "[The talk](" + dir + "v.mp4)\n\na[audio](" + dir + "a.ogg) b"},
		"a link of drawing": {"<p><a href=/h aria-label='Home page'><svg></svg></a> <a href=/i><svg></svg></a> <a href=/j></a>x", "[Home page](https://site.example/h) x"},
		"permalinks":        {"<h2 id=a>a <a href=#a>#</a></h2><dl><dt>b<a class=headerlink href=#b>¶</a><dd>c</dl><p><a href=#c>#</a>", "## a\n\nb\n\nc\n\n[#](" + dir + "page#c)"},
		"areas":             {"<p>Where <img src=m.png alt=Map usemap=#m><map name=m><area href=/n alt='The  North'><area href=/s alt=South><area href=/e><area alt=West></map>", "Where ![Map](" + dir + "m.png) [The North](https://site.example/n) [South](https://site.example/s)"},
		"a shadow":          {"<x-y><template shadowrootmode=open><p>a</p></template></x-y><template><p>b</p></template>", "a"},
		"frames alone":      {"<iframe src=/f title=F></iframe><iframe src=/t width=1></iframe><iframe src='javascript:1'></iframe>", "The page consists of frames:\n\n- [F](https://site.example/f)"},
		"frames":            {"<iframe src=/f title=F></iframe>text", "text"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pageOf(t, tt.body).Text; got != tt.want {
				t.Errorf("%q\nwant\n%q", got, tt.want)
			}
		})
	}
}

// The heading of a page is shown, unless it is in the title.
func TestHeadline(t *testing.T) {
	post := "<div class=post><p>" + strings.Repeat("Some words of a post, with a comma. ", 20) + "</div>"
	body := "<body><div><h1>How <i>is</i> it done?</h1></div><div>" + post + post + "</div>"
	if got := pageOf(t, "<title>Thread</title>"+body).Text; !strings.HasPrefix(got, "# How is it done?\n\nSome words") {
		t.Errorf("%.200q", got)
	}
	if got := pageOf(t, "<title>How is it done? | Forum</title>"+body).Text; !strings.HasPrefix(got, "Some words") {
		t.Errorf("%.200q", got)
	}
}

// A table of data that the article lacks is not lost because it has no headings; one of links is navigation.
func TestBareTables(t *testing.T) {
	const facts = "<table><tr><td>Name:</td><td>Bob</td></tr><tr><td>Age:</td><td>3</td></tr></table>"
	const menu = "<table><tr><td><a href=/1>One</a></td><td><a href=/2>Two</a></td></tr><tr><td><a href=/3>Three</a></td><td></td></tr></table>"
	article := "<div class=article>" + strings.Repeat("<p>"+strings.Repeat("Some words of an article, with a comma. ", 20)+"</p>", 3) + "</div>"
	got := pageOf(t, "<body><div>"+article+"<div class=facts>"+facts+"</div></div>").Text
	if !strings.HasSuffix(got, "\n\n|  |  |\n|---|---|\n| Name: | Bob |\n| Age: | 3 |") {
		t.Errorf("%q", got)
	}
	if got = pageOf(t, "<body><div>"+menu+article+"</div>").Text; !strings.HasPrefix(got, "Some words") {
		t.Errorf("%.200q", got)
	}
}
