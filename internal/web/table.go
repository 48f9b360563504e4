package web

import (
	"maps"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// tables makes of the tables of a page what a row of Markdown can hold, for a library that gives up a
// whole table, and runs its cells together, where a single cell has a list, a heading or another table.
// A table that only arranges the page is taken apart; in the cells of others blocks become lines.
func tables(page *html.Node) {
	walk(page, func(n *html.Node) bool {
		if n.Type != html.ElementNode || n.DataAtom != atom.Table {
			return true
		}
		feetLast(n)
		parts := partsOf(n)
		switch {
		case within(n, atom.A, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6): // which have one line
			oneLine(n)
		case arranges(n, parts):
			rename(n, atom.Div)
			for _, p := range parts {
				rename(p, atom.Div)
			}
			return true
		default:
			ofData(n, parts)
		}
		return false
	})
}

// feetLast puts the foot of a table below its rows, where it is shown wherever it is written.
func feetLast(table *html.Node) {
	for foot := table.FirstChild; foot != nil; foot = foot.NextSibling {
		if foot.DataAtom == atom.Tfoot {
			remove(foot)
			table.AppendChild(foot)
			return
		}
	}
}

// oneLine makes words of a table.
func oneLine(table *html.Node) {
	flatten(table)
	rename(table, atom.Span)
	for _, at := range []*html.Node{table, table.NextSibling} {
		table.Parent.InsertBefore(textNode(" "), at)
	}
}

// ofData makes of a table one that the library takes.
func ofData(table *html.Node, parts []*html.Node) {
	for p := table.Parent; p != nil; p = p.Parent {
		if emphasis(p.DataAtom) { // a table cannot stand in it
			rename(p, atom.Span)
		}
	}
	for _, p := range parts {
		switch p.DataAtom {
		case atom.Td, atom.Th, atom.Caption:
			flatten(p)
		}
	}
	keepOrder(parts)
}

// keepOrder keeps the rows of a table in order, the first of which has no heading: the library puts the first
// that has one before all others.
func keepOrder(parts []*html.Node) {
	first, data := true, false
	for _, p := range parts {
		switch p.DataAtom {
		case atom.Thead:
			return
		case atom.Td:
			data = true
		case atom.Tr:
			first = first && !data
		case atom.Th:
			if first {
				return
			}
			rename(p, atom.Td)
		}
	}
}

// partsOf returns the rows and cells of a table and what they stand in, without those of tables in it.
func partsOf(table *html.Node) (parts []*html.Node) {
	walk(table, func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr:
			parts = append(parts, n)
		case atom.Td, atom.Th, atom.Caption:
			parts = append(parts, n)
			return false
		}
		return n == table || n.DataAtom != atom.Table
	})
	return parts
}

// arranges tells whether a table is there for the looks of the page: it says so, or it has no headings
// of its own and holds what no table of data has.
func arranges(table *html.Node, parts []*html.Node) bool {
	if role := attr(table, "role"); role == "presentation" || role == "none" {
		return true
	}
	single := true
	for _, p := range parts {
		switch p.DataAtom {
		case atom.Th, atom.Thead, atom.Caption:
			return false
		case atom.Td:
			single = single && next(p) == nil
		}
	}
	made := map[*html.Node]bool{table: true}
	for _, p := range parts {
		made[p] = true
	}
	return find(table, func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.Table:
			return n != table
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Hr:
			return true
		}
		return single && isBlock(n) && !made[n]
	}) != nil
}

// next is the element behind one, below the same parent.
func next(n *html.Node) *html.Node {
	for n = n.NextSibling; n != nil && n.Type != html.ElementNode; n = n.NextSibling {
	}
	return n
}

// isBlock tells whether an element has lines of its own. One that is not HTML has none.
func isBlock(n *html.Node) bool {
	return n.DataAtom != 0 && n.DataAtom != atom.Br && !inline(n.DataAtom)
}

func rename(n *html.Node, to atom.Atom) { n.DataAtom, n.Data = to, to.String() }

func emphasis(a atom.Atom) bool {
	switch a {
	case atom.B, atom.Strong, atom.I, atom.Em, atom.S, atom.Del, atom.Strike:
		return true
	}
	return false
}

// shows tells whether there is something to see of a node.
func shows(n *html.Node) bool {
	seen := false
	walk(n, func(n *html.Node) bool {
		seen = seen || n.DataAtom == atom.Img || n.Type == html.TextNode && strings.TrimSpace(n.Data) != ""
		return !seen
	})
	return seen
}

// gap is what stands between two parts of a cell. A line ends also where only a comma is asked for.
type gap int

const (
	gapNone gap = iota
	gapComma
	gapLine
)

// flat takes the content of a cell over.
type flat struct {
	apart   gap  // what comes before the next part
	content bool // there is some since the last line ended
	single  bool // there is but one line

	labels map[*html.Node]string // of the items of lists
	label  string                // of the item that begins with the next part
	depth  int                   // of the items that have begun
}

// listDepth is how many items of lists a line stands in. No attribute of a page has a blank in its name.
const (
	listDepth    = "list depth"
	maxListDepth = 8 // that is shown; a line must not be made of blanks
)

// flatten makes the blocks of a cell lines, which <br> parts, and those of what is in no cell one line.
func flatten(cell *html.Node) {
	to := &html.Node{}
	f := &flat{single: cell.DataAtom != atom.Td && cell.DataAtom != atom.Th, labels: map[*html.Node]string{}}
	f.children(to, cell)
	for c := to.FirstChild; c != nil; c = to.FirstChild {
		to.RemoveChild(c)
		cell.AppendChild(c)
	}
}

func (f *flat) children(to, from *html.Node) {
	for c := from.FirstChild; c != nil; c = from.FirstChild {
		from.RemoveChild(c)
		f.add(to, c)
	}
}

func (f *flat) add(to, n *html.Node) {
	switch {
	case n.Type == html.TextNode && strings.TrimSpace(n.Data) == "":
		if f.apart == gapNone {
			to.AppendChild(n)
		}
		return
	case n.Type == html.TextNode:
		f.put(to, n)
		return
	case n.Type != html.ElementNode:
		return
	}
	switch n.DataAtom {
	case atom.Iframe, atom.Noscript, atom.Input, atom.Head, atom.Meta: // which are not shown
	case atom.Br, atom.Hr:
		f.want(gapLine)
	case atom.Code, atom.Var, atom.Samp, atom.Kbd, atom.Tt, atom.Img:
		f.put(to, n)
	case atom.Pre:
		f.want(gapLine)
		if shows(n) {
			f.put(to, f.code(n))
		}
		f.want(gapLine)
	case atom.Ol, atom.Ul:
		maps.Copy(f.labels, labels(n))
		f.element(to, n)
	case atom.Li:
		f.item(to, n)
	case atom.Td, atom.Th:
		f.want(gapComma)
		f.children(to, n)
	default:
		f.element(to, n)
	}
}

func (f *flat) element(to, n *html.Node) {
	switch {
	case isBlock(n):
		f.want(gapLine)
		f.children(to, n)
		f.want(gapLine)
	case shows(n):
		blocks := find(n, isBlock) != nil
		if blocks {
			f.want(gapLine)
		}
		f.end(to)
		shell := &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Namespace: n.Namespace, Attr: n.Attr}
		to.AppendChild(shell)
		f.children(shell, n)
		if blocks {
			f.want(gapLine)
		}
	}
}

// code is a block of code, or code within a line.
func (f *flat) code(pre *html.Node) *html.Node {
	if !f.single {
		return pre
	}
	n := element(atom.Code)
	n.AppendChild(textNode(strings.Join(strings.Fields(codeOf(pre)), " ")))
	return n
}

// item takes an item of a list over, which keeps its label. One that has nothing to show has none.
func (f *flat) item(to, n *html.Node) {
	label, depth := f.label, f.depth
	if !f.single {
		f.label += f.labels[n]
	}
	f.element(to, n)
	f.depth = depth
	if f.label != "" {
		f.label = label
	}
}

func (f *flat) want(apart gap) {
	if f.content {
		f.apart = max(f.apart, apart)
	}
}

// end puts in what is wanted.
func (f *flat) end(to *html.Node) {
	switch {
	case f.apart == gapLine && !f.single:
		br := element(atom.Br)
		br.Attr = []html.Attribute{{Key: listDepth, Val: strconv.Itoa(min(f.depth, maxListDepth))}}
		to.AppendChild(br)
	case f.apart == gapLine:
		to.AppendChild(textNode(" "))
	case f.apart == gapComma:
		to.AppendChild(textNode(", "))
	}
	if f.apart != gapNone {
		f.apart, f.content = gapNone, false
	}
	if f.label != "" {
		to.AppendChild(textNode(f.label))
		f.depth += strings.Count(f.label, " ")
		f.label = ""
	}
}

func (f *flat) put(to, n *html.Node) {
	f.end(to)
	to.AppendChild(n)
	f.content = true
}

// escapeCells keeps text from ending the cell that it stands in.
func escapeCells(n *html.Node) {
	walk(n, func(n *html.Node) bool {
		if n.Type == html.TextNode && strings.Contains(n.Data, "|") && within(n, atom.Td, atom.Th) {
			n.Data = strings.ReplaceAll(n.Data, "|", `\|`)
		}
		for i, a := range n.Attr {
			if !strings.Contains(a.Val, "|") || !within(n, atom.Td, atom.Th) {
				continue
			}
			switch a.Key {
			case "href", "src":
				n.Attr[i].Val = strings.ReplaceAll(a.Val, "|", "%7C")
			case "alt", "title":
				n.Attr[i].Val = strings.ReplaceAll(a.Val, "|", `\|`)
			}
		}
		return true
	})
}
