package web

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// readable finds the article of a page, nil if it has none. Nothing is left of the page.
func readable(doc *html.Node, at *url.URL) (article *html.Node, title string) {
	p := readability.NewParser()
	p.KeepClasses = true // those of code name its language
	p.DisableJSONLD = true
	const first = "first heading" // no attribute of a page has a blank in its name
	withoutBeside(doc)
	walk(doc, func(n *html.Node) bool {
		if n.DataAtom == atom.H1 {
			n.Attr = append(n.Attr, html.Attribute{Key: first})
		}
		return true
	})
	a, err := p.ParseAndMutate(doc, at)
	if err != nil || a.Node == nil {
		return nil, ""
	}
	walk(a.Node, func(n *html.Node) bool {
		if n.Type == html.ElementNode {
			if hasAttr(n, first) { // the library makes an h2 of it
				n.Data = "h1"
			}
			n.DataAtom = atom.Lookup([]byte(n.Data)) // the library changes elements by their names alone
		}
		return true
	})
	return a.Node, a.Title()
}

// withoutBeside takes from a page what it says is no part of its text: navigation, and what stands around its
// only main part. Of a short page the library would keep it all. It stays where there is hardly anything else.
func withoutBeside(doc *html.Node) {
	main := mainOf(doc)
	holds := map[*html.Node]bool{} // the main part
	for n := main; n != nil; n = n.Parent {
		holds[n] = true
	}
	var beside []*html.Node
	taken := 0
	walk(doc, func(n *html.Node) bool {
		if n.Type != html.ElementNode || n == main {
			return n != main
		}
		if holds[n] || !around(n) || main == nil && n.DataAtom != atom.Nav && attr(n, "role") != "navigation" {
			return true
		}
		beside = append(beside, n)
		taken += letters(n)
		return false
	})
	if all := letters(doc); (all-taken)*20 < all {
		return
	}
	for _, n := range beside {
		remove(n)
	}
}

// mainOf is the main part of a page, nil if it does not say it of one alone.
func mainOf(doc *html.Node) *html.Node {
	return only(doc, func(n *html.Node) bool { return n.DataAtom == atom.Main || attr(n, "role") == "main" })
}

// content chooses what is shown of a page: its article, unless much of the page is missing there. Of
// a forum the library may take one post, of a page of tables none. The rest of the page is then shown
// without what stands around it.
func content(whole, article *html.Node) *html.Node {
	if article == nil {
		return whole
	}
	has, all := measure(article), measure(whole)
	if has.words*2 < all.words || has.tables < all.tables || has.code < all.code {
		return whole
	}
	return article
}

// headline is the heading of a page that is neither in its title nor in the part of it that is shown.
func headline(whole, shown *html.Node, title string) string {
	if whole == shown {
		return ""
	}
	h := only(whole, isA(atom.H1))
	if h == nil {
		return ""
	}
	text := strings.Join(strings.Fields(flow(h)), " ")
	if strings.Contains(title, text) || strings.Contains(strings.Join(strings.Fields(flow(shown)), " "), text) {
		return ""
	}
	return text
}

// strip returns a copy of a page without what stands around its content. What is no content is judged
// by what the page itself says, so that a page that says nothing loses nothing.
func strip(doc *html.Node) *html.Node {
	body := find(doc, isA(atom.Body))
	if body == nil {
		body = doc
	}
	whole := body
	if main := mainOf(body); main != nil {
		whole = main
	}
	if all := letters(whole); all > 0 {
		kept := clone(whole)
		walk(kept, func(n *html.Node) bool {
			if n != kept && n.Type == html.ElementNode && (around(n) || n.DataAtom == atom.Noscript) {
				remove(n)
				return false
			}
			return true
		})
		if letters(kept)*20 >= all {
			return kept
		}
	}
	whole = clone(whole)
	walk(whole, func(n *html.Node) bool {
		if n.DataAtom == atom.Noscript { // which would not be shown
			n.DataAtom, n.Data = atom.Div, "div"
		}
		return true
	})
	return whole
}

// letters is how much text there is.
func letters(n *html.Node) int {
	count := 0
	walk(n, func(n *html.Node) bool {
		if n.Type == html.TextNode {
			count += len(strings.TrimSpace(n.Data))
		}
		return true
	})
	return count
}

// only returns the element that is, if there is one and no other.
func only(n *html.Node, is func(*html.Node) bool) *html.Node {
	var found *html.Node
	count := 0
	walk(n, func(n *html.Node) bool {
		if n.Type == html.ElementNode && is(n) {
			found = n
			count++
			return false
		}
		return true
	})
	if count != 1 {
		return nil
	}
	return found
}

// around tells whether an element is navigation and the like.
func around(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Aside, atom.Button, atom.Input, atom.Dialog, atom.Iframe:
		return true
	case atom.Header, atom.Footer:
		return !within(n, atom.Main, atom.Article, atom.Section)
	}
	switch attr(n, "role") {
	case "navigation", "banner", "contentinfo", "search", "complementary", "dialog":
		return true
	}
	return false
}

func within(n *html.Node, kinds ...atom.Atom) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if slices.Contains(kinds, p.DataAtom) {
			return true
		}
	}
	return false
}

// clone copies a node and all below it.
func clone(n *html.Node) *html.Node {
	c := &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Namespace: n.Namespace, Attr: n.Attr}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		c.AppendChild(clone(child))
	}
	return c
}

// amount is how much there is of what a reader wants.
type amount struct{ words, tables, code int }

// measure counts characters that are in no link, tables of data, and blocks of code.
func measure(n *html.Node) (a amount) {
	walk(n, func(n *html.Node) bool {
		switch {
		case n.Type == html.TextNode:
			a.words += utf8.RuneCountInString(strings.TrimSpace(n.Data))
		case n.DataAtom == atom.Pre:
			a.code++
		case n.DataAtom == atom.Th && n.PrevSibling == nil || n.DataAtom == atom.Caption:
			a.tables++
		case n.DataAtom == atom.Table && isBare(n):
			a.tables++
		}
		return n.DataAtom != atom.A
	})
	return a
}

// isBare tells whether a table of data has no headings: it has rows of several cells, none of which holds
// what is there for the looks of the page, and more to tell than where to go.
func isBare(table *html.Node) bool {
	parts := partsOf(table)
	rows := 0
	for _, p := range parts {
		switch p.DataAtom {
		case atom.Th, atom.Thead, atom.Caption:
			return false
		case atom.Tr:
			rows++
		}
	}
	if rows < 2 || !hasColumns(table) || arranges(table, parts) {
		return false
	}
	linked := 0
	walk(table, func(n *html.Node) bool {
		if n.DataAtom == atom.A {
			linked += letters(n)
		}
		return n.DataAtom != atom.A
	})
	return linked*2 < letters(table)
}
