package web

import "testing"

func TestLineNumbers(t *testing.T) {
	const code = "```\ndef foo():\n    return 1\n```"
	for name, tt := range map[string]struct{ body, want string }{
		"Pygments": {
			"<div class=highlight><table class=highlighttable><tr><td class=linenos><div class=linenodiv><pre>1\n2</pre></div></td>" +
				"<td class=code><div><pre><span></span>def <b>foo</b>():\n    return 1\n</pre></div></td></tr></table></div>", code,
		},
		"MkDocs": {
			"<table class=highlighttable><tr><th colspan=2 class=filename><span>foo.py</span></th></tr><tr><td class=linenos><div class=linenodiv>" +
				"<pre><span></span><span class=normal>7</span>\n<span class=normal>8</span></pre></div></td><td class=code><div>" +
				"<pre><code>def foo():\n    return 1\n</code></pre></div></td></tr></table>", "foo.py\n\n" + code,
		},
		"no classes": {"<table><tr><td><pre>1\n2</pre></td><td><pre>def foo():\n    return 1</pre></td></tr></table>", code},
		"Chroma": {
			"<table class=lntable><tr><td class=lntd><pre><code><span class=lnt>1\n</span></code></pre></td><td class=lntd>" +
				"<pre><code class=language-go>package a\n</code></pre></td></tr></table>", "```go\npackage a\n```",
		},
		"Rouge": {
			"<pre><code><table class=rouge-table><tr><td class=gutter><pre class=lineno>1\n2\n</pre></td><td class=code>" +
				"<pre>def foo():\n    return 1\n</pre></td></tr></table></code></pre>", code,
		},
		"GitHub": {
			"<table class=highlight><tr><td class='blob-num' data-line-number=1></td><td class=blob-code><span>def</span> foo():</td></tr>\n" +
				"<tr><td class='blob-num' data-line-number=2></td><td class=blob-code>    return 1</td></tr></table>", code,
		},
		"Gitea": {
			"<table><tr><td class=lines-num><span id=L1 data-line-number=1></span></td><td class=lines-code>\n<code>def foo():\n</code></td></tr>" +
				"<tr><td class=lines-num><span data-line-number=2></span></td><td class=lines-code><code>    return 1\n</code></td></tr></table>", code,
		},
		"data":    {"<table><tr><th>n</th><th>c</th></tr><tr><td>1</td><td><pre>ls\ncd</pre></td></tr></table>", "| n | c |\n|---|---|\n| 1 | `ls`<br />`cd` |"},
		"a count": {"<table><tr><td>1</td><td>one</td></tr><tr><td>2</td><td>two</td></tr></table>", "|  |  |\n|---|---|\n| 1 | one |\n| 2 | two |"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pageOf(t, tt.body).Text; got != tt.want {
				t.Errorf("%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
