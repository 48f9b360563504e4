package web

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// shower makes of a page what a browser would show of it where the tree alone says something else.
type shower struct {
	doc      *html.Node
	named    map[string]*html.Node // elements by their id, made when one is asked for
	names    map[*html.Node]string // the text of those that were asked for
	formulas map[*html.Node]bool   // what formulas stood in
}

// asShown does that before anything is taken from the page.
func asShown(doc *html.Node) {
	s := &shower{doc: doc, formulas: map[*html.Node]bool{}}
	// Hints where a line may end and where not are no part of a word that is looked for.
	const hints = "\u00ad\u200b\u2060\ufeff\u00a0"
	plain := strings.NewReplacer("\u00a0", " ", "\u00ad", "", "\u200b", "", "\u2060", "", "\ufeff", "")
	walk(doc, func(n *html.Node) bool {
		switch n.Type {
		case html.TextNode:
			if strings.ContainsAny(n.Data, hints) {
				n.Data = plain.Replace(n.Data)
			}
		case html.ElementNode:
			return s.element(n)
		}
		return true
	})
}

// element returns false if there is nothing more to see below it.
func (s *shower) element(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Template:
		if hasAttr(n, "shadowrootmode") { // which is shown in the place of what it stands in
			rename(n, atom.Div)
		}
	case atom.Math:
		s.formula(n)
		return false
	case atom.Q:
		n.InsertBefore(textNode("“"), n.FirstChild)
		n.AppendChild(textNode("”"))
	case atom.Legend, atom.Summary, atom.Center, atom.Marquee: // the library runs them into what is beside them
		rename(n, atom.Div)
	case atom.Aside:
		if isNote(n) {
			rename(n, atom.Div)
		}
	case atom.Footer:
		if within(n, atom.Blockquote) { // it says who is quoted
			rename(n, atom.Div)
		}
	case atom.Input:
		checkbox(n)
	case atom.Video, atom.Audio:
		recording(n)
		return false
	case atom.Area:
		area(n)
	case atom.A:
		unnamed(n)
	case atom.Textarea, atom.Button, atom.Select, atom.Output, atom.Meter, atom.Progress:
		formField(n)
	}
	switch attr(n, "role") {
	case "heading":
		if level := number(n, "aria-level", 2); canHead(n) && level >= 1 && level <= 6 {
			rename(n, atom.Lookup([]byte{'h', byte('0' + level)}))
		}
	case "tabpanel":
		s.tab(n)
	}
	if isTab(n) {
		n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "hidden" || a.Key == "style" || a.Key == "aria-hidden" })
	}
	if attr(n, "aria-hidden") == "true" && !isBlock(n) && n.PrevSibling != nil && s.formulas[n.PrevSibling] { // the same for the eyes alone
		remove(n)
		return false
	}
	return true
}

func element(a atom.Atom) *html.Node {
	return &html.Node{Type: html.ElementNode, DataAtom: a, Data: a.String()}
}

func textNode(text string) *html.Node { return &html.Node{Type: html.TextNode, Data: text} }

// canHead tells whether an element may become a heading: it is no part of a table or a list, and does not stand
// among the words of a line.
func canHead(n *html.Node) bool {
	if n.Namespace != "" || within(n, atom.Td, atom.Th, atom.Pre) {
		return false
	}
	switch n.DataAtom {
	case atom.Div, atom.P, atom.Section, atom.Header:
		return true
	case atom.Span, 0: // or one that HTML does not know
		return isBlock(n.Parent) && n.Parent.DataAtom != atom.P && !isHeading(n.Parent)
	}
	return false
}

// isNote tells whether an element that stands beside the text warns and explains, and does not lead elsewhere.
func isNote(n *html.Node) bool {
	for class := range strings.FieldsFuncSeq(strings.ToLower(attr(n, "class")), func(r rune) bool { return !isWord(r) }) {
		switch class {
		case "note", "warning", "caution", "tip", "important", "info", "danger", "callout", "admonition", "alert", "hint", "notice":
			return true
		}
	}
	return attr(n, "role") == "note"
}

// checkbox shows whether the box of a list of tasks is checked.
func checkbox(n *html.Node) {
	if attr(n, "type") != "checkbox" || !within(n, atom.Li) {
		return
	}
	text := "[ ] "
	if hasAttr(n, "checked") {
		text = "[x] "
	}
	n.Parent.InsertBefore(textNode(text), n)
}

// recording makes a link of what cannot be heard or seen.
func recording(n *html.Node) {
	src := attr(n, "src")
	if of := find(n, func(n *html.Node) bool { return n.DataAtom == atom.Source && attr(n, "src") != "" }); src == "" && of != nil {
		src = attr(of, "src")
	}
	if src == "" || noContent(&html.Node{Type: html.ElementNode, Attr: n.Attr}) {
		return
	}
	name := cmp.Or(attr(n, "title"), attr(n, "aria-label"), n.Data)
	link := element(atom.A)
	link.Attr = []html.Attribute{{Key: "href", Val: src}}
	link.AppendChild(textNode(strings.Join(strings.Fields(name), " ")))
	n.Parent.InsertBefore(link, n)
	n.Parent.InsertBefore(textNode(" "), n)
}

// area makes a link of a part of an image that leads somewhere.
func area(n *html.Node) {
	name := strings.Join(strings.Fields(cmp.Or(attr(n, "alt"), attr(n, "title"), attr(n, "aria-label"))), " ")
	if href := attr(n, "href"); href != "" && name != "" {
		rename(n, atom.A)
		n.Attr = []html.Attribute{{Key: "href", Val: href}}
		n.AppendChild(textNode(name))
		n.Parent.InsertBefore(textNode(" "), n)
	}
}

// unnamed gives a link that shows nothing but a drawing the name that it has for those who do not see it. A
// drawing may have a title, which is no text of the page.
func unnamed(link *html.Node) {
	shown := false
	walk(link, func(n *html.Node) bool {
		if n != link && n.Type == html.ElementNode && noContent(n) {
			return false
		}
		shown = shown || n.DataAtom == atom.Img || n.Type == html.TextNode && strings.TrimSpace(n.Data) != ""
		return !shown
	})
	if shown || marksPlace(link) {
		return
	}
	for _, name := range []string{attr(link, "aria-label"), attr(link, "title")} {
		if name = strings.TrimSpace(name); name != "" {
			link.AppendChild(textNode(name))
			return
		}
	}
}

// isTab tells whether an element is one of several that are shown in one place, one at a time.
func isTab(n *html.Node) bool {
	if attr(n, "role") == "tabpanel" {
		return true
	}
	for class := range strings.FieldsSeq(attr(n, "class")) {
		switch class {
		case "tab-pane", "tabpane", "tab-panel", "tabpanel", "tab-content", "tabcontent", "tabs-content", "tabs-panel":
			return true
		}
	}
	return false
}

// tab puts the name of a tab before its content.
func (s *shower) tab(n *html.Node) {
	name := s.name(attr(n, "aria-labelledby"))
	if name == "" || within(n, atom.Table) {
		return
	}
	p := element(atom.P)
	p.AppendChild(textNode(name))
	embolden(p)
	n.InsertBefore(p, n.FirstChild)
}

// name is the text of an element that names others, "" if it is none. It is made once, however many it names.
func (s *shower) name(id string) string {
	const most = 100 // bytes of what is a name, and not all of a page
	if s.named == nil {
		s.named, s.names = map[string]*html.Node{}, map[*html.Node]string{}
		walk(s.doc, func(n *html.Node) bool {
			if id := attr(n, "id"); id != "" && n.Type == html.ElementNode {
				s.named[id] = n
			}
			return true
		})
	}
	n := s.named[id]
	if n == nil {
		return ""
	}
	name, made := s.names[n]
	if !made {
		if name = textOf(n); len(name) > most {
			name = ""
		}
		s.names[n] = name
	}
	return name
}
