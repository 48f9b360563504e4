package web

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// words is the text of a title or a description. Some engines mark words in it with tags: what is
// opened and closed is one. Others send plain text, where a tag alone is what the text is about.
func words(s string) string {
	var b strings.Builder
	lower, known := strings.ToLower(s), map[atom.Atom]bool{}
	for z := html.NewTokenizer(strings.NewReader(s)); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			return strings.Join(strings.Fields(b.String()), " ")
		}
		raw := string(z.Raw())
		if kind != html.StartTagToken && kind != html.EndTagToken && kind != html.SelfClosingTagToken {
			b.WriteString(html.UnescapeString(raw))
			continue
		}
		name, _ := z.TagName()
		a := atom.Lookup(name)
		mark, asked := known[a]
		if !asked { // once for each: to look for the end may take the whole text
			mark = marks(a, lower)
			known[a] = mark
		}
		switch {
		case !mark:
			b.WriteString(raw)
		case !inline(a):
			b.WriteByte(' ')
		}
	}
}

// marks tells whether a tag marks words of a text.
func marks(a atom.Atom, text string) bool {
	switch a {
	case 0:
		return false
	case atom.B, atom.Strong, atom.Em, atom.Mark, atom.Br:
		return true
	}
	begin := strings.Index(text, "<"+a.String())
	return begin >= 0 && strings.Contains(text[begin:], "</"+a.String()+">")
}
