package web

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// links makes the text of each link one line, which is all that a link of Markdown has. A link around a
// heading alone stays what it is: it will be the heading's.
func links(page *html.Node) {
	walk(page, func(n *html.Node) bool {
		linkCode(n)
		if n.DataAtom == atom.A && attr(n, "href") == "" { // to which others lead
			rename(n, atom.Span)
		}
		if n.DataAtom != atom.A || within(n, atom.Td, atom.Th) {
			return true
		}
		if isPermalink(n) {
			remove(n)
			return false
		}
		if find(n, func(n *html.Node) bool { return isBlock(n) || n.DataAtom == atom.Br }) == nil || aroundHeading(n) {
			return true
		}
		walk(n, func(n *html.Node) bool {
			if isHeading(n) {
				embolden(n)
				return false
			}
			return true
		})
		flatten(n)
		return true
	})
}

// linkCode makes of code that is a link a link that is code: there is no link in code.
func linkCode(n *html.Node) {
	a := n.FirstChild
	if n.DataAtom != atom.Code || a == nil || a.DataAtom != atom.A || a.NextSibling != nil || attr(a, "href") == "" || within(n, atom.A, atom.Pre) {
		return
	}
	rename(n, atom.A)
	rename(a, atom.Code)
	n.Attr, a.Attr = a.Attr, n.Attr
}

// isPermalink tells whether a link is the sign behind a heading by which readers get the address of that place.
func isPermalink(link *html.Node) bool {
	first := link.FirstChild
	if first == nil || first.NextSibling != nil || first.Type != html.TextNode || !strings.Contains(attr(link, "href"), "#") {
		return false
	}
	switch strings.TrimSpace(first.Data) {
	case "¶":
		return true
	case "#", "§", "🔗":
		return inHeading(link)
	}
	return false
}

// marksPlace tells whether a link without text is such a sign: it leads to a place of its page, or stands in a
// heading and leads to a place of one.
func marksPlace(link *html.Node) bool {
	href := strings.TrimSpace(attr(link, "href"))
	return strings.HasPrefix(href, "#") || strings.Contains(href, "#") && inHeading(link)
}

func inHeading(n *html.Node) bool {
	return within(n, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Dt)
}

func isHeading(n *html.Node) bool {
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return false
}

// aroundHeading tells whether an element has one heading and nothing else.
func aroundHeading(n *html.Node) bool {
	var inner *html.Node
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode && strings.TrimSpace(c.Data) == "":
		case inner != nil || !isHeading(c):
			return false
		default:
			inner = c
		}
	}
	return inner != nil
}

// embolden makes all in an element bold.
func embolden(n *html.Node) {
	bold := element(atom.Strong)
	for c := n.FirstChild; c != nil; c = n.FirstChild {
		n.RemoveChild(c)
		bold.AppendChild(c)
	}
	n.AppendChild(bold)
}
