package web

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// plainText takes the text of a page that is too large or too deep to be analysed. It needs no tree
// and time for each byte once.
func plainText(page string) Page {
	var p Page
	var text, title strings.Builder
	z := html.NewTokenizer(strings.NewReader(page))
	skip := atom.Atom(0) // the element whose text is no content
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			p.Title = strings.Join(strings.Fields(title.String()), " ")
			p.Text = lines(text.String())
			return p
		case html.TextToken:
			switch skip {
			case 0:
				text.WriteString(html.UnescapeString(string(z.Raw())))
			case atom.Title:
				title.WriteString(html.UnescapeString(string(z.Raw())))
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			skip = skipped(skip, atom.Lookup(name), kind)
			if !inline(atom.Lookup(name)) {
				text.WriteByte('\n')
			}
		}
	}
}

// skipped is the element to skip behind a tag.
func skipped(now, tag atom.Atom, kind html.TokenType) atom.Atom {
	switch tag {
	case atom.Script, atom.Style, atom.Title, atom.Template, atom.Svg:
		if kind == html.StartTagToken && now == 0 {
			return tag
		}
		if kind == html.EndTagToken && now == tag {
			return 0
		}
	}
	return now
}

func inline(tag atom.Atom) bool {
	switch tag {
	case atom.A, atom.Abbr, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Img, atom.Label, atom.Mark, atom.Q, atom.S,
		atom.Small, atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.Time, atom.U, atom.Var, atom.Wbr, atom.Kbd, atom.Samp, atom.Cite,
		atom.Del, atom.Ins, atom.Dfn, atom.Data, atom.Tt, atom.Strike, atom.Nobr, atom.Acronym, atom.Bdi, atom.Bdo, atom.Ruby, atom.Rb, atom.Rt,
		atom.Rp, atom.Picture, atom.Source:
		return true
	}
	return false
}

// lines makes the white space of a text that of paragraphs.
func lines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
