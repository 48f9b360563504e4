package web

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/marker"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// menus makes lists of what the library does not know to be some.
func menus(page *html.Node) {
	walk(page, func(n *html.Node) bool {
		if n.DataAtom == atom.Menu || n.DataAtom == atom.Dir {
			rename(n, atom.Ul)
		}
		return true
	})
}

// labels are what stands before the items of a list, as the page numbers them.
func labels(list *html.Node) map[*html.Node]string {
	var items []*html.Node
	for c := list.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && c.DataAtom == atom.Li {
			items = append(items, c)
		}
	}
	of := make(map[*html.Node]string, len(items))
	if list.DataAtom != atom.Ol {
		for _, item := range items {
			of[item] = "- "
		}
		return of
	}
	next, step := 1, 1
	if hasAttr(list, "reversed") {
		next, step = len(items), -1
	}
	next = number(list, "start", next)
	for _, item := range items {
		next = number(item, "value", next)
		of[item] = ordinal(next, attr(list, "type")) + ". "
		next += step
	}
	return of
}

// number is what an attribute says, or something else where it says no number.
func number(n *html.Node, name string, other int) int {
	if v, err := strconv.ParseInt(strings.TrimSpace(attr(n, name)), 10, 32); err == nil {
		return int(v)
	}
	return other
}

// ordinal writes a number as lists of a type do. Texts refer to their items by it.
func ordinal(n int, kind string) string {
	text := ""
	switch {
	case (kind == "a" || kind == "A") && n > 0:
		for ; n > 0; n = (n - 1) / 26 {
			text = string(rune('a'+(n-1)%26)) + text
		}
	case (kind == "i" || kind == "I") && n > 0 && n < 4000:
		text = roman(n)
	default:
		return strconv.Itoa(n)
	}
	if kind == "A" || kind == "I" {
		text = strings.ToUpper(text)
	}
	return text
}

func roman(n int) string {
	var b strings.Builder
	for _, d := range []struct {
		value int
		text  string
	}{
		{1000, "m"},
		{900, "cm"},
		{500, "d"},
		{400, "cd"},
		{100, "c"},
		{90, "xc"},
		{50, "l"},
		{40, "xl"},
		{10, "x"},
		{9, "ix"},
		{5, "v"},
		{4, "iv"},
		{1, "i"},
	} {
		for ; n >= d.value; n -= d.value {
			b.WriteString(d.text)
		}
	}
	return b.String()
}

// list renders a list. The library counts from its start whatever the items say.
func list(ctx converter.Context, n *html.Node) string {
	var b strings.Builder
	of, indent := labels(n), 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		var item bytes.Buffer
		ctx.RenderNodes(ctx, &item, c)
		text := bytes.TrimSpace(item.Bytes())
		if len(text) == 0 {
			continue
		}
		label, is := of[c]
		if is {
			indent = utf8.RuneCountInString(label)
		} else { // it goes on with the item before it
			label = strings.Repeat(" ", indent)
		}
		b.WriteString(label)
		indented(&b, ctx.UnEscapeContent(text), indent)
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n\n" + b.String() + "\n"
}

// indented writes the lines of an item; all but the first stand below its text, at most one empty line
// between them. The lines of a block of code have a mark instead of their end.
func indented(b *strings.Builder, text []byte, indent int) {
	space := strings.Repeat(" ", indent)
	mark := string(marker.MarkerCodeBlockNewline)
	empty := false
	for i, line := range strings.Split(strings.ReplaceAll(string(text), "  \n\n", "\n\n"), "\n") {
		blank := strings.TrimSpace(line) == ""
		if blank && empty {
			continue
		}
		empty = blank
		switch {
		case blank:
			line = ""
		case i > 0:
			b.WriteString(space)
		}
		b.WriteString(strings.ReplaceAll(line, mark, mark+space) + "\n")
	}
}
