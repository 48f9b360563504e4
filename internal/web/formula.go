package web

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// formula writes a formula in a line: as its author has written it, if the page tells that.
func (s *shower) formula(math *html.Node) {
	text := attr(math, "alttext")
	if tex := find(math, func(n *html.Node) bool { return n.Data == "annotation" && attr(n, "encoding") == "application/x-tex" }); tex != nil {
		text = flow(tex)
	}
	if text = strings.Join(strings.Fields(text), " "); text != "" {
		text = "$" + text + "$"
	} else {
		text = strings.Join(strings.Fields(term(math)), " ")
	}
	at := math
	for range 3 { // some pages show it again beside one of these
		s.formulas[at] = true
		if at = at.Parent; at == nil || isBlock(at) {
			break
		}
	}
	shown := textNode(text)
	s.formulas[shown] = true
	math.Parent.InsertBefore(shown, math)
	remove(math)
}

// term is a part of a formula.
func term(n *html.Node) string {
	if n.Type == html.TextNode {
		return strings.TrimSpace(n.Data)
	}
	if n.Data == "annotation" || n.Data == "annotation-xml" {
		return ""
	}
	var parts []string
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode || c.Type == html.TextNode && strings.TrimSpace(c.Data) != "" {
			parts = append(parts, term(c))
		}
	}
	signs := map[string][]string{
		"mfrac": {"", "/"}, "msup": {"", "^"}, "mover": {"", "^"}, "msub": {"", "_"}, "munder": {"", "_"},
		"msubsup": {"", "_", "^"}, "munderover": {"", "_", "^"},
	}[n.Data]
	switch {
	case n.Data == "msqrt":
		return "sqrt(" + strings.Join(parts, "") + ")"
	case n.Data == "mroot" && len(parts) == 2:
		return grouped(parts[0]) + "^(1/" + grouped(parts[1]) + ")"
	case n.Data == "mtd":
		return strings.Join(parts, "") + ", "
	case n.Data == "mtr":
		return strings.TrimSuffix(strings.Join(parts, ""), ", ") + "; "
	case len(signs) != len(parts) || len(parts) == 0:
		return strings.Join(parts, "")
	}
	var b strings.Builder
	for i, p := range parts {
		b.WriteString(signs[i] + grouped(p))
	}
	return b.String()
}

// grouped keeps a term of several characters together.
func grouped(term string) string {
	if utf8.RuneCountInString(term) <= 1 || !strings.ContainsFunc(term, func(r rune) bool { return !isWord(r) && r != '.' }) {
		return term
	}
	return "(" + term + ")"
}
