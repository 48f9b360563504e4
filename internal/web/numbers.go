package web

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// unnumber makes blocks of code of the tables that show it beside the numbers of its lines.
func unnumber(page *html.Node) {
	walk(page, func(n *html.Node) bool {
		if n.Type != html.ElementNode || n.DataAtom != atom.Table {
			return true
		}
		parts := numbered(n)
		for _, part := range parts {
			n.Parent.InsertBefore(part, n)
		}
		if parts != nil {
			remove(n)
		}
		return parts == nil
	})
}

// listing is code that is read from a table.
type listing struct {
	heads   []*html.Node // what stands above it
	rows    int
	lines   []string
	class   string // of the element that names its language
	marked  bool   // all its numbers are said to be such
	numbers int
}

// numbered returns the code of a table, nil if the table shows something else.
func numbered(table *html.Node) []*html.Node {
	l := listing{marked: true}
	for _, p := range partsOf(table) {
		if p.DataAtom == atom.Caption || p.DataAtom == atom.Tr && !l.row(p) {
			return nil
		}
	}
	text := strings.Join(l.lines, "\n")
	matches := l.rows == 1 && l.numbers > 1 && l.numbers == strings.Count(text, "\n")+1
	if l.numbers == 0 || !l.marked && !matches {
		return nil
	}
	return append(l.heads, codeBlock(text, l.class))
}

// row takes a row over, if it has numbers and then code, or is a heading.
func (l *listing) row(tr *html.Node) bool {
	var cells []*html.Node
	for c := tr.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode {
			cells = append(cells, c)
		}
	}
	if len(cells) == 1 && cells[0].DataAtom == atom.Th {
		head := clone(cells[0])
		rename(head, atom.P)
		l.heads = append(l.heads, head)
		return true
	}
	if len(cells) < 2 {
		return false
	}
	l.rows++
	last := len(cells) - 1
	for _, c := range cells[:last] {
		n, ok := numbers(c)
		if !ok {
			return false
		}
		l.numbers += n
		l.marked = l.marked && find(c, isGutter) != nil
	}
	block := find(cells[last], isA(atom.Pre))
	if block == nil && l.marked {
		block = cells[last]
		if code := only(block, isA(atom.Code)); code != nil {
			block = code
		}
	}
	if block == nil || find(cells[last], isA(atom.Table)) != nil {
		return false
	}
	if l.class == "" {
		l.class = language(cells[last])
	}
	l.lines = append(l.lines, strings.Trim(codeOf(block), "\n"))
	return true
}

// numbers is how many there are in a cell that has nothing else: they count lines.
func numbers(cell *html.Node) (count int, ok bool) {
	last := 0
	for f := range strings.FieldsSeq(codeOf(cell)) {
		n, err := strconv.Atoi(f)
		if err != nil || count > 0 && n != last+1 {
			return 0, false
		}
		last = n
		count++
	}
	if count == 0 && find(cell, func(n *html.Node) bool { return attr(n, "data-line-number") != "" }) != nil {
		count = 1
	}
	return count, true
}

// isGutter tells whether an element says that it shows the numbers of lines.
func isGutter(n *html.Node) bool {
	if attr(n, "data-line-number") != "" {
		return true
	}
	for class := range strings.FieldsSeq(attr(n, "class")) {
		for _, known := range []string{"lineno", "linenumber", "line-num", "lines-num", "blob-num", "ln-num", "gutter"} {
			if class == "lnt" || class == "ln" || strings.Contains(class, known) {
				return true
			}
		}
	}
	return false
}

// language is the class of an element that names the language of its code.
func language(n *html.Node) string {
	named := func(n *html.Node) bool {
		class := attr(n, "class")
		return (n.DataAtom == atom.Pre || n.DataAtom == atom.Code) && (strings.Contains(class, "language-") || strings.Contains(class, "lang-"))
	}
	if n = find(n, named); n != nil {
		return attr(n, "class")
	}
	return ""
}
