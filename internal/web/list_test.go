package web

import (
	"strings"
	"testing"
)

func TestLists(t *testing.T) {
	for body, want := range map[string]string{
		"<ol start=9><li>a<li>b</ol>":                                        "9. a\n10. b",
		"<ol start=0><li>a<li value=7>b<li>c<li value=x>d</ol>":              "0. a\n7. b\n8. c\n9. d",
		"<ol reversed><li>a<li>b</ol>":                                       "2. a\n1. b",
		"<ol reversed start=5><li>a<li value=3>b<li>c</ol>":                  "5. a\n3. b\n2. c",
		"<ol type=a start=26><li>a<li>b</ol>":                                "z. a\naa. b",
		"<ol type=I start=4><li>a<li>b</ol>":                                 "IV. a\nV. b",
		"<ol type=i start=0><li>a</ol>":                                      "0. a",
		"<ol><li>a<li><li>c</ol>":                                            "1. a\n3. c",
		"<ol><li>a<ol start=4><li>b<p>c</ol><li>d<pre>e\n\nf</pre></ol>":     "1. a\n\n   4. b\n\n      c\n2. d\n\n   ```\n   e\n   \n   f\n   ```",
		"<ul><li>a<br>b<p>c</p></ul>":                                        "- a  \n  b\n\n  c",
		"<ul><ul><li>a</ul><li>b</ul>":                                       "- - a\n- b",
		"<ul></ul><p>a":                                                      "a",
		"<menu><li>a<li>b</menu>":                                            "- a\n- b",
		"<ol>" + strings.Repeat("<li>a", 10) + "</ol>":                       "1. a\n2. a\n3. a\n4. a\n5. a\n6. a\n7. a\n8. a\n9. a\n10. a",
		"<p>x</p><ol><li>a</ol><p>y</p><ol start=2><li>b</ol><ul><li>c</ul>": "x\n\n1. a\n\ny\n\n2. b\n\n- c",
	} {
		if got := pageOf(t, body).Text; got != want {
			t.Errorf("%s:\n%q, want\n%q", body, got, want)
		}
	}
}
