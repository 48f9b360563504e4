package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxNodes = 200_000   // of a page that is analysed; of a page that has more only the text is taken
	maxSpans = 10_000    // cells of tables that others stretch over
	maxValue = 8 << 10   // bytes of an attribute
	maxCost  = 128 << 20 // bytes of text, each as often as the elements around it look at it
)

// fromHTML makes Markdown of a page.
func (d document) fromHTML() (Page, error) {
	text := d.decode(true)
	doc := parse(text)
	if doc == nil {
		return plainText(text), nil
	}
	p := Page{Title: title(doc)}
	base := baseURL(doc, d.url)
	tidy(doc, base)
	var err error
	if p.Text, err = frames(doc, base); err != nil || p.Text != "" {
		return p, err
	}
	whole := strip(doc)
	article, name := readable(doc, d.url)
	if p.Title == "" {
		p.Title = name
	}
	p.Text, err = markdown(content(whole, article))
	return p, err
}

// parse returns the tree of a page, nil if it is too large or, as the parser says, too deep.
func parse(text string) *html.Node {
	// With scripting off the content of noscript is part of the tree: of some pages it is all there is.
	doc, err := html.ParseWithOptions(strings.NewReader(text), html.ParseOptionEnableScripting(false))
	if err != nil {
		return nil
	}
	var e effort
	e.add(doc, 0)
	if e.nodes > maxNodes || e.cost > maxCost {
		return nil
	}
	return doc
}

// effort is what a page costs. The libraries look at a text once for every element that it stands in,
// and more often for those that change its lines: a page of a megabyte, nested well, would take minutes.
type effort struct{ nodes, cost int }

func (e *effort) add(n *html.Node, weight int) {
	e.nodes++
	switch {
	case n.Type == html.TextNode:
		e.cost += len(n.Data) * weight
	case n.DataAtom == atom.Table, n.DataAtom == atom.Blockquote, n.DataAtom == atom.Li:
		weight += 10
	default:
		weight++
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		e.add(c, weight)
	}
}

// walk calls visit for a node and all below it, until it returns false for one: what is below that is
// passed over. Visit may remove the node.
func walk(n *html.Node, visit func(*html.Node) bool) {
	if !visit(n) {
		return
	}
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		walk(c, visit)
		c = next
	}
}

// find returns the first element of that kind, or nil.
func find(n *html.Node, is func(*html.Node) bool) (found *html.Node) {
	walk(n, func(n *html.Node) bool {
		if found == nil && n.Type == html.ElementNode && is(n) {
			found = n
		}
		return found == nil
	})
	return found
}

func isA(a atom.Atom) func(*html.Node) bool {
	return func(n *html.Node) bool { return n.DataAtom == a && n.Namespace == "" }
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Namespace == "" && a.Key == name {
			return a.Val
		}
	}
	return ""
}

// textOf is the text below a node, its white space made single spaces.
func textOf(n *html.Node) string {
	var b strings.Builder
	walk(n, func(n *html.Node) bool {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
			b.WriteByte(' ')
		}
		return true
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// title is what the page calls itself.
func title(doc *html.Node) string {
	if n := find(doc, func(n *html.Node) bool { return n.DataAtom == atom.Title && n.Namespace == "" }); n != nil {
		if t := textOf(n); t != "" {
			return t
		}
	}
	og := find(doc, func(n *html.Node) bool { return n.DataAtom == atom.Meta && attr(n, "property") == "og:title" })
	if og != nil {
		return strings.Join(strings.Fields(attr(og, "content")), " ")
	}
	if h := find(doc, isA(atom.H1)); h != nil {
		return textOf(h)
	}
	return ""
}

// baseURL is what the links of a page are relative to.
func baseURL(doc *html.Node, at *url.URL) *url.URL {
	if n := find(doc, func(n *html.Node) bool { return n.DataAtom == atom.Base && attr(n, "href") != "" }); n != nil {
		if u, err := at.Parse(attr(n, "href")); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			return u
		}
	}
	return at
}

// tidy removes what is no content and makes links absolute.
func tidy(doc *html.Node, base *url.URL) {
	spans := maxSpans
	walk(doc, func(n *html.Node) bool {
		switch {
		case n.Type == html.CommentNode:
			remove(n)
			return false
		case n.Type != html.ElementNode:
			return true
		case noContent(n):
			remove(n)
			return false
		}
		for i, a := range n.Attr {
			if len(a.Val) > maxValue {
				n.Attr[i].Val = ""
			} else if a.Key == "href" || a.Key == "src" || a.Key == "cite" {
				n.Attr[i].Val = absolute(base, a.Val)
			}
		}
		limitSpans(n, &spans)
		if n.DataAtom == atom.Img && attr(n, "src") == "" && attr(n, "data-src") == "" && attr(n, "srcset") == "" {
			remove(n)
			return false
		}
		return true
	})
}

// limitSpans takes from a cell what would make it many thousands: a few bytes could make gigabytes.
func limitSpans(n *html.Node, left *int) {
	cells := 1
	for _, name := range []string{"colspan", "rowspan"} {
		if v := attr(n, name); v != "" {
			c, err := strconv.Atoi(strings.TrimSpace(v))
			if err != nil || c > 1000 {
				c = maxSpans
			}
			cells *= max(1, c)
		}
	}
	if cells == 1 {
		return
	}
	if *left -= cells; *left < 0 {
		n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "colspan" || a.Key == "rowspan" })
	}
}

func noContent(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Base, atom.Link, atom.Object, atom.Embed, atom.Canvas, atom.Svg, atom.Audio, atom.Video:
		return true
	}
	return hasAttr(n, "hidden") || strings.Contains(strings.ReplaceAll(attr(n, "style"), " ", ""), "display:none")
}

func hasAttr(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name && a.Val != "until-found" {
			return true
		}
	}
	return false
}

func remove(n *html.Node) {
	if n.Parent != nil {
		n.Parent.RemoveChild(n)
	}
}

// absolute makes a link one that can be fetched as it stands; scripts and data are no links.
func absolute(base *url.URL, link string) string {
	link = strings.TrimSpace(link)
	if link == "" || strings.HasPrefix(link, "#") {
		return link
	}
	u, err := base.Parse(link)
	if err != nil {
		return link
	}
	switch u.Scheme {
	case "javascript", "data", "vbscript", "blob":
		return ""
	}
	return u.String()
}

// frames makes a list of the frames of a page that has nothing else, or "".
func frames(doc *html.Node, base *url.URL) (string, error) {
	set := find(doc, isA(atom.Frameset))
	if set == nil {
		return "", nil
	}
	var b strings.Builder
	b.WriteString("The page consists of frames:\n")
	walk(set, func(n *html.Node) bool {
		if src := attr(n, "src"); n.DataAtom == atom.Frame && src != "" {
			name := attr(n, "title")
			if name == "" {
				name = attr(n, "name")
			}
			if name == "" {
				name = "frame"
			}
			b.WriteString("\n- [" + strings.NewReplacer("[", "", "]", "", "\n", " ").Replace(name) + "](" + src + ")")
		}
		return true
	})
	n := find(set, isA(atom.Noframes))
	if n == nil || n.FirstChild == nil {
		return b.String(), nil
	}
	// The parser leaves it as it is, so that nobody has looked yet at what it costs.
	inner := parse(n.FirstChild.Data)
	if inner == nil {
		return b.String() + "\n\n" + plainText(n.FirstChild.Data).Text, nil
	}
	tidy(inner, base)
	text, err := markdown(inner)
	return strings.TrimSpace(b.String() + "\n\n" + text), err
}
