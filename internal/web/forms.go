package web

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// formField makes text of what a form shows, for the libraries leave all of its fields out.
func formField(n *html.Node) {
	switch n.DataAtom {
	case atom.Textarea: // whose lines are as they stand
		rename(n, atom.Pre)
	case atom.Button:
		if isWordOf(n) {
			flatten(n)
			rename(n, atom.Span)
			setApart(n)
		}
	case atom.Select:
		options(n)
	case atom.Output, atom.Meter, atom.Progress:
		setApart(n)
	}
}

// isWordOf tells whether a button stands among the words of a sentence, which would lack its name. Those that
// stand alone, or beside code and links, are there to be pressed; one at an edge is a word in a paragraph alone.
func isWordOf(button *html.Node) bool {
	before := wordsBeside(button, func(n *html.Node) *html.Node { return n.PrevSibling })
	behind := wordsBeside(button, func(n *html.Node) *html.Node { return n.NextSibling })
	return before && behind || (before || behind) && within(button, atom.P)
}

// wordsBeside tells whether what comes next to a button, in the same line, are words.
func wordsBeside(n *html.Node, step func(*html.Node) *html.Node) bool {
	for at := n; at.Parent != nil; at = at.Parent {
		for next := step(at); next != nil; next = step(next) {
			switch {
			case next.Type == html.TextNode && strings.TrimSpace(next.Data) != "":
				return strings.ContainsFunc(next.Data, isWord)
			case next.Type != html.ElementNode:
			case find(next, func(n *html.Node) bool { return isBlock(n) || n.DataAtom == atom.Code || n.DataAtom == atom.A }) != nil:
				return false // a button is one too
			case shows(next):
				return strings.ContainsFunc(textOf(next), isWord)
			}
		}
		if isBlock(at.Parent) {
			return false
		}
	}
	return false
}

// options makes a list of what there is to select.
func options(n *html.Node) {
	const most = 20
	var names []string
	walk(n, func(n *html.Node) bool {
		if n.DataAtom != atom.Option {
			return true
		}
		name := textOf(n)
		if name == "" {
			name = strings.Join(strings.Fields(attr(n, "label")), " ")
		}
		if name != "" && !noContent(n) {
			names = append(names, name)
		}
		return false
	})
	for c := n.FirstChild; c != nil; c = n.FirstChild {
		n.RemoveChild(c)
	}
	if names == nil {
		rename(n, atom.Span)
		return
	}
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("[... %d more ...]", more))
	}
	rename(n, atom.Ul)
	for _, name := range names {
		item := element(atom.Li)
		item.AppendChild(textNode(name))
		n.AppendChild(item)
	}
}

// setApart puts a space between a field that shows a value and what it would run into.
func setApart(n *html.Node) {
	touches := func(n *html.Node, edge func(string) (rune, int)) bool {
		if n == nil || n.Type != html.TextNode {
			return n != nil && n.Type == html.ElementNode
		}
		r, _ := edge(n.Data)
		return isWord(r)
	}
	if touches(n.PrevSibling, utf8.DecodeLastRuneInString) {
		n.Parent.InsertBefore(textNode(" "), n)
	}
	if touches(n.NextSibling, utf8.DecodeRuneInString) {
		n.Parent.InsertBefore(textNode(" "), n.NextSibling)
	}
}
