package web

import (
	"fmt"
	"strings"
	"testing"
)

// What the fields of a form show is text of the page.
func TestForms(t *testing.T) {
	few, many := "", ""
	for i := range 30 {
		if many += fmt.Sprintf("<option>o%d", i); i < 20 {
			few += fmt.Sprintf("- o%d\n", i)
		}
	}
	for name, tt := range map[string]struct{ body, want string }{
		"textarea":          {"<p>Copy this:</p><textarea readonly>\na  b\n\n\t&lt;c&gt; *d*</textarea><p>end", "Copy this:\n\n```\na  b\n\n\t<c> *d*\n```\n\nend"},
		"textarea alone":    {"<textarea>only</textarea>", "```\nonly\n```"},
		"textareas":         {"<p>a <textarea>b</textarea> c</p><form><label>Text <textarea>d</textarea></label><textarea></textarea><textarea hidden>e</textarea></form>", "a\n\n```\nb\n```\n\nc\n\nText\n\n```\nd\n```"},
		"fields in cells":   {"<table><tr><th>a<th>b<tr><td><textarea>x\ny</textarea><td><select><option>p<option>q</select></table>", "| a | b |\n|---|---|\n| `x`<br />`y` | - p<br />- q |"},
		"a field in a link": {"<a href=/x>a <textarea>b\nc</textarea></a>", "[a `b c`](https://site.example/x)"},
		"a button":          {"<p>Click <button>Save</button> to store</p>", "Click Save to store"},
		"buttons":           {"<p>Press <button type=submit><b>A</b>\n<div>B</div></button> or <kbd><button>C</button></kbd>.</p><p><button>D</button> goes <i>on</i><button>E</button></p>", "Press **A** B or `C`.\n\nD goes *on* E"},
		"buttons of items":  {"<ul><li>Click <button>Save</button> to store<li>Menu <button>Open</button><li><button>Close</button> it<li><a href=/x>Link</a> <button>F</button> words</ul>", "- Click Save to store\n- Menu\n- it\n- [Link](https://site.example/x) words"},
		"buttons to press":  {"<p><code>npm i</code> <button>Copy</button></p><div class=highlight><button>Copy</button><pre>code</pre><button>Copy</button></div><p><button>Run</button></p><h2>Title <button>Link</button></h2>", "`npm i`\n\n```\ncode\n```\n\n## Title"},
		"a hidden button":   {"<p>a <button hidden>b</button> c", "a c"},
		"buttons in cells":  {"<table><tr><th>a<td>Press <button>OK</button> to go<tr><th>b<td>x <button>Copy</button></table>", "| a | Press OK to go |\n|---|---|\n| b | x |"},
		"a choice":          {"<p>Pick: <select><option>One<option selected>T  <b>wo</b></option><option label=Three></option><option></option><optgroup label=G><option>Four<option hidden>Five</select> end", "Pick:\n\n- One\n- T wo\n- Three\n- Four\n\nend"},
		"a long choice":     {"<label>All <select>" + many + "</select></label>", "All\n\n" + few + "- [... 10 more ...]"},
		"no choice":         {"<p>a <select></select> b", "a b"},
		"datalist":          {"<p>a <input list=l><datalist id=l><option>x<option>y</datalist> b", "a b"},
		"values":            {"<p><output>77</output><meter>5</meter><progress>6</progress></p>", "77 5 6"},
		"values in words":   {"<p>It is <output>77</output>% of<output>88</output>kg, <b>x</b><meter>9</meter>.", "It is 77% of 88 kg, **x** 9."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pageOf(t, tt.body).Text; got != strings.TrimSpace(tt.want) {
				t.Errorf("%q\nwant\n%q", got, tt.want)
			}
		})
	}
}

// What is shown of a form that an article does not have is not lost.
func TestFormBesideArticle(t *testing.T) {
	article := "<article>" + strings.Repeat("<p>"+strings.Repeat("Some words of an article, with a comma. ", 20)+"</p>", 3) + "</article>"
	got := pageOf(t, "<body>"+article+"<form><textarea>kept</textarea><button>Send</button></form>").Text
	if !strings.HasPrefix(got, "Some words") || !strings.HasSuffix(got, "\n\n```\nkept\n```") {
		t.Errorf("%q", got)
	}
}
