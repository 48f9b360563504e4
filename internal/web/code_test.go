package web

import "testing"

func TestBlocksOfCode(t *testing.T) {
	const code, table = "```\none\ntwo\n```", "| a | b |\n|---|---|\n| 1 | 2 |"
	const data = "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
	for name, tt := range map[string]struct{ body, want string }{
		"a table":         {"<pre>one\ntwo\n" + data + "\none\ntwo</pre>", code + "\n\n" + table + "\n\n" + code},
		"deeper":          {"<pre><code class=language-sh><span>one" + data + "</span>\ntwo</code></pre>", "```sh\none\n```\n\n" + table + "\n\n```sh\ntwo\n```"},
		"a table alone":   {"<pre>" + data + "</pre>", table},
		"code in cells":   {"<pre><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td><pre>x\ny</pre></td></tr></table></pre>", "| a | b |\n|---|---|\n| 1 | `x`<br />`y` |"},
		"one column":      {"<pre><table><tr><td>one</td></tr><tr><td>two</td></tr></table></pre>", code},
		"a list of lines": {"<pre><ol><li><span>one</span></li><li>two</li></ol></pre>", code},
		"divisions":       {"<pre><code><div>one</div><div>two</div></code></pre>", code},
		"numbers":         {"<pre><span class=linenos>1</span>one\n<span class=linenos> 2</span>two\n</pre>", code},
		"a button":        {"<pre><button>Copy</button>one\ntwo</pre>", code},
		"style":           {"<p>x</p><code style='white-space: pre'>one\ntwo</code>", "x\n\n" + code},
		"style in line":   {"<p>see <code>one\ntwo</code></p>", "see `one two`"},
		"of old":          {"<xmp>one\ntwo</xmp>", code},
		"links in code":   {"<pre>one(<a href=/a>T</a>)\ntwo <a href=/b>U</a>\nthree</pre>", "```\none(T)\ntwo U\nthree\n```"},
		"types":           {"<pre><a href=/a>A</a> = <a href=/b>B</a>;</pre>", "```\nA = B;\n```"},
		"a directory": {
			"<h1>Index</h1><hr><pre><img alt='[ICO]' src=/x> <a href='?C=N'>Name</a>  Size<hr><img src=/x> <a href='a%20b.txt'>a..&gt;</a>   1K\n<img src=/x> <a href=c/>c/</a>   -\n</pre>",
			"# Index\n\n* * *\n\n- [Name](https://site.example/dir/page?C=N) Size\n- [a..>](https://site.example/dir/a%20b.txt) 1K\n- [c/](https://site.example/dir/c/) -",
		},
		"a directory of nginx": {
			"<pre><a href='../'>../</a>\n<a href='b%20c/'>b c/</a>     02-Jan-2026 10:00    -\n<a href=long-name.txt>long-na..&gt;</a>  02-Jan-2026 10:00   12\n</pre>",
			"- [../](https://site.example/)\n- [b c/](https://site.example/dir/b%20c/) 02-Jan-2026 10:00 -\n- [long-na..>](https://site.example/dir/long-name.txt) 02-Jan-2026 10:00 12",
		},
		"a directory described": {
			"<pre>     <a href='?C=N'>Name</a>   <a href='?C=D'>Description</a><hr>     <a href=/>Parent Directory</a>   up\n     <a href=a>a</a>    The first</pre>",
			"- [Name](https://site.example/dir/page?C=N) [Description](https://site.example/dir/page?C=D)\n- [Parent Directory](https://site.example/) up\n" +
				"- [a](https://site.example/dir/a) The first",
		},
		"files":           {"<pre><a href=a.txt>a.txt</a>\n<a href=b.txt>b.txt</a></pre>", "- [a.txt](https://site.example/dir/a.txt)\n- [b.txt](https://site.example/dir/b.txt)"},
		"calls of links":  {"<pre><a href=/os>os</a>.close(\n    y)\n<a href=/os>os</a>.open(</pre>", "```\nos.close(\n    y)\nos.open(\n```"},
		"linked numbers":  {"<pre><a href='#L1'>1</a> if x:\n<a href='#L2'>2</a>     return y</pre>", "```\n1 if x:\n2     return y\n```"},
		"declarations":    {"<pre><a href=/t/int>int</a>  x;\n<a href=/t/char>char</a> y;</pre>", "```\nint  x;\nchar y;\n```"},
		"indented links":  {"<pre>  <a href=/t/a>a</a>\n  <a href=/t/b>b</a></pre>", "```\n  a\n  b\n```"},
		"names of others": {"<pre><a href=/t/int.html>int</a> 1\n<a href=/t/char.html>char</a> 2</pre>", "```\nint 1\nchar 2\n```"},
		"wrapped":         {"<p><code style='white-space: pre-wrap'>a\nb</code> <code style='white-space:pre-line; color: red'>c\nd</code>", "`a b` `c d`"},
		"one line kept":   {"<p>see <code style='color: red; white-space: pre !important'>a  b</code> x", "see `a b` x"},
		"nothing":         {"<pre> \n</pre><p>x", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pageOf(t, tt.body).Text; got != tt.want {
				t.Errorf("%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
