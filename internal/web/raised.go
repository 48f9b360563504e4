package web

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// raised marks what stands above and below the line where it would be read as a part of the word or the
// number that it stands behind: ten to the third is not 103.
func raised(n *html.Node) { raisedBehind(n, ' ') }

// raisedBehind does so for what stands behind a character, and returns the last one.
func raisedBehind(n *html.Node, last rune) rune {
	block := n.Type == html.ElementNode && !inline(n.DataAtom)
	switch {
	case n.Type == html.TextNode && n.Data != "":
		last, _ = utf8.DecodeLastRuneInString(n.Data)
		return last
	case n.DataAtom == atom.Pre:
		return ' '
	case block:
		last = ' '
	case n.DataAtom == atom.Sup && isRaised(n, last), n.DataAtom == atom.Sub && isLowered(n, last):
		n.InsertBefore(textNode("<"+n.Data+">"), n.FirstChild)
		n.AppendChild(textNode("</" + n.Data + ">"))
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		last = raisedBehind(c, last)
	}
	if block {
		return ' '
	}
	return last
}

func isRaised(n *html.Node, behind rune) bool {
	text := strings.TrimSpace(flow(n))
	switch {
	case unicode.IsSpace(behind), !strings.ContainsFunc(text, isWord), strings.HasPrefix(text, "["), find(n, isA(atom.A)) != nil:
		return false
	case unicode.IsDigit(behind):
		return !slices.Contains([]string{"st", "nd", "rd", "th", "er", "re", "e", "o", "a"}, text)
	}
	return !slices.Contains([]string{"TM", "tm", "SM", "R"}, text)
}

// isLowered lets formulas of chemistry be, which are written in a line often.
func isLowered(n *html.Node, behind rune) bool {
	text := strings.TrimSpace(flow(n))
	if unicode.IsSpace(behind) || !strings.ContainsFunc(text, isWord) || find(n, isA(atom.A)) != nil {
		return false
	}
	follows := ' '
	if next := n.NextSibling; next != nil && next.Type == html.TextNode {
		follows, _ = utf8.DecodeRuneInString(next.Data)
	}
	return strings.Trim(text, "0123456789") != "" || unicode.IsDigit(behind) || unicode.IsDigit(follows)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
