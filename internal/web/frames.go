package web

import (
	"cmp"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const ofFrames = "The page consists of frames:\n"

// frames makes a list of the frames of a page that has nothing else, or "".
func frames(doc *html.Node, base *url.URL) (string, error) {
	set := find(doc, isA(atom.Frameset))
	if set == nil {
		return "", nil
	}
	var b strings.Builder
	b.WriteString(ofFrames)
	walk(set, func(n *html.Node) bool {
		if src := attr(n, "src"); n.DataAtom == atom.Frame && src != "" {
			b.WriteString(frame(n, src))
		}
		return true
	})
	n := find(set, isA(atom.Noframes))
	if n == nil || n.FirstChild == nil {
		return b.String(), nil
	}
	// The parser leaves it as it is, so that nobody has looked yet at what it costs.
	inner := parse(n.FirstChild.Data)
	if inner != nil {
		tidy(inner, base)
	}
	if inner == nil || tooCostly(inner) {
		return b.String() + "\n\n" + plainText(n.FirstChild.Data).Text, nil
	}
	text, err := markdown(inner)
	return strings.TrimSpace(b.String() + "\n\n" + text), err
}

// frame is a line of the list.
func frame(n *html.Node, src string) string {
	name := cmp.Or(attr(n, "title"), attr(n, "name"), "frame")
	return "\n- [" + strings.NewReplacer("[", "", "]", "", "\n", " ").Replace(name) + "](" + src + ")"
}

// inlineFrames makes such a list of the frames that stand among other content, or "". Those that are too
// small to show anything count visitors.
func inlineFrames(doc *html.Node) string {
	var b strings.Builder
	walk(doc, func(n *html.Node) bool {
		if n.DataAtom != atom.Iframe {
			return n.DataAtom != atom.Noscript
		}
		src := attr(n, "src")
		u, err := url.Parse(src)
		if err == nil && checkURL(u, src) == nil && number(n, "width", 100) > 1 && number(n, "height", 100) > 1 {
			b.WriteString(frame(n, src))
		}
		return false
	})
	if b.Len() == 0 {
		return ""
	}
	return ofFrames + b.String()
}
