// Package webtest has what tests and benchmarks of internal/web look at.
package webtest

import (
	"fmt"
	"strings"
)

// Page returns a page of documentation of at least size bytes: headings, text with links, tables and code.
func Page(size int) string {
	var page strings.Builder
	page.WriteString("<html><head><title>Bench</title></head><body><nav><a href=/>Home</a></nav><article><h1>Bench</h1>")
	for i := 0; page.Len() < size; i++ {
		fmt.Fprintf(&page, "<h2>Part %d</h2><p>Some text, with <a href='/l/%d'>a link</a> and <code>code_%d</code>, goes on for a while here.</p>"+
			"<table><tr><th>a</th><th>b</th></tr><tr><td>%d</td><td>x</td></tr></table><pre>line %d\n\tindented</pre>\n", i, i, i, i, i)
	}
	page.WriteString("</article></body></html>")
	return page.String()
}
