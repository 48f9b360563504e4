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
	text := d.closed(d.decode(true))
	if noHTML(text) {
		return Page{}, errBinary()
	}
	doc := parse(text)
	if doc == nil {
		return plainText(text), nil
	}
	p := Page{Title: title(doc)}
	base := baseURL(doc, d.url)
	if tidy(doc, base); tooCostly(doc) {
		return plainText(text), nil
	}
	var err error
	if p.Text, err = frames(doc, base); err != nil || p.Text != "" {
		return p, err
	}
	next, inner := refresh(doc, base), inlineFrames(doc)
	whole := strip(doc)
	article, name := readable(doc, d.url)
	if p.Title == "" {
		p.Title = name
	}
	chosen := content(whole, article)
	head := headline(whole, chosen, p.Title)
	switch p.Text, err = markdown(chosen); {
	case p.Text == "":
		p.Text = inner
	case head != "":
		p.Text = "# " + head + "\n\n" + p.Text
	}
	if next != "" && err == nil {
		p.Text = strings.TrimPrefix(p.Text+"\n\n", "\n\n") + "The page sends its reader on to <" + next + ">."
	}
	return p, err
}

// refresh is the page that this one sends its reader to at once, "" if there is none. In a noscript it is for
// those alone who cannot see this one.
func refresh(doc *html.Node, base *url.URL) string {
	meta := find(doc, func(n *html.Node) bool {
		return n.DataAtom == atom.Meta && strings.EqualFold(attr(n, "http-equiv"), "refresh") && !within(n, atom.Noscript)
	})
	if meta == nil {
		return ""
	}
	const soon = 10 // seconds
	wait, to := attr(meta, "content"), ""
	if at := strings.IndexAny(wait, ";,"); at >= 0 {
		wait, to = wait[:at], wait[at+1:]
	}
	if s, err := strconv.ParseFloat(strings.TrimSpace(wait), 64); err != nil || s > soon {
		return ""
	}
	to = strings.TrimSpace(to)
	if name, value, found := strings.Cut(to, "="); found && strings.EqualFold(strings.TrimSpace(name), "url") {
		to = strings.TrimSpace(value)
	}
	u, err := parseLink(base, strings.Trim(to, `"'`))
	if err != nil || to == "" || checkURL(u, to) != nil {
		return ""
	}
	return u.String()
}

// parse returns the tree of a page, nil if it is too large or, as the parser says, too deep.
func parse(text string) *html.Node {
	// With scripting off the content of noscript is part of the tree: of some pages it is all there is.
	doc, err := html.ParseWithOptions(strings.NewReader(text), html.ParseOptionEnableScripting(false))
	if err != nil || tooCostly(doc) {
		return nil
	}
	return doc
}

func tooCostly(doc *html.Node) bool {
	var e effort
	e.add(doc, 0, 0, 0)
	return e.nodes > maxNodes || e.cost > maxCost
}

// effort is what a page costs. The libraries look at a text once for every element that it stands in,
// and more often for those that change its lines: a page of a megabyte, nested well, would take minutes.
type effort struct{ nodes, cost int }

// add counts a node and all below it, which stand in so many lists and quotes: each of them puts something
// before every line of those in it, all of them so many bytes.
func (e *effort) add(n *html.Node, weight, indented, indent int) {
	e.nodes++
	switch {
	case n.Type == html.TextNode:
		e.cost += len(n.Data)*weight + indented*indent/2*(1+strings.Count(n.Data, "\n"))
	case n.DataAtom == atom.Table:
		weight += 10
	case n.DataAtom == atom.Blockquote, n.DataAtom == atom.Li:
		weight += 10
		indented++
		indent += len("- ")
		if n.DataAtom == atom.Li && n.Parent.DataAtom == atom.Ol {
			indent += len("-2147483648")
		}
	default:
		weight++
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		e.add(c, weight, indented, indent)
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
		if u, err := parseLink(at, attr(n, "href")); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			return u
		}
	}
	return at
}

// tidy removes what is no content, the numbers of lines of code among it, and makes links absolute. What it
// makes text of may be more than the page had.
func tidy(doc *html.Node, base *url.URL) {
	walk(doc, limitValues)
	asShown(doc)
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
			if a.Key == "href" || a.Key == "src" || a.Key == "cite" {
				n.Attr[i].Val = absolute(base, a.Val)
			}
		}
		if n.DataAtom == atom.Td || n.DataAtom == atom.Th {
			limitSpans(n, &spans)
		}
		if n.DataAtom == atom.Img && !sourced(n, base) {
			remove(n)
			return false
		}
		return true
	})
	unnumber(doc)
	codeBlocks(doc)
}

// limitValues takes from an element the values that are too long to be any.
func limitValues(n *html.Node) bool {
	for i, a := range n.Attr {
		if len(a.Val) > maxValue {
			n.Attr[i].Val = ""
		}
	}
	return true
}

// sourced tells whether an image is somewhere. Of one that a script would load, it says where.
func sourced(img *html.Node, base *url.URL) bool {
	if attr(img, "src") != "" {
		return true
	}
	for _, name := range []string{"data-src", "data-lazy-src", "data-original", "srcset", "data-srcset"} {
		src := attr(img, name)
		if strings.HasSuffix(name, "srcset") {
			src, _, _ = strings.Cut(strings.TrimSpace(src), " ")
			src = strings.TrimSuffix(src, ",")
		}
		if src = absolute(base, src); src != "" {
			img.Attr = slices.DeleteFunc(img.Attr, func(a html.Attribute) bool { return a.Key == "src" })
			img.Attr = append(img.Attr, html.Attribute{Key: "src", Val: src})
			return true
		}
	}
	return false
}

// limitSpans takes from a cell what would make it many thousands: a few bytes could make gigabytes. What a
// browser would not heed is not left to a library that would.
func limitSpans(n *html.Node, left *int) {
	most := map[string]int{"colspan": 100, "rowspan": 1000}
	cells := 1
	kept := n.Attr[:0:0]
	for _, a := range n.Attr {
		if most[a.Key] > 0 {
			c, err := strconv.Atoi(strings.TrimSpace(a.Val))
			if err != nil || c < 1 {
				continue
			}
			c = min(c, most[a.Key])
			cells *= c
			a.Val = strconv.Itoa(c)
		}
		kept = append(kept, a)
	}
	if *left -= cells - 1; *left < 0 {
		kept = slices.DeleteFunc(kept, func(a html.Attribute) bool { return most[a.Key] > 0 })
	}
	n.Attr = kept
}

func noContent(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Base, atom.Link, atom.Object, atom.Embed, atom.Canvas, atom.Svg, atom.Audio, atom.Video,
		atom.Datalist:
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
	if strings.ContainsAny(link, "\n\r\t") {
		link = strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(link) // as browsers do
	}
	if link == "" {
		return link
	}
	u, err := parseLink(base, link)
	if err != nil {
		return link
	}
	switch u.Scheme {
	case "javascript", "data", "vbscript", "blob":
		return ""
	}
	return u.String()
}
