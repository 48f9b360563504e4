package web

import (
	"net/url"
	"path"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// codeBlocks makes each block of code the text that it shows. What is no code but stands in one, a table of data
// or a list of files, comes out of it: in a block of code the table would be one word, and the links gone.
func codeBlocks(page *html.Node) {
	walk(page, func(n *html.Node) bool {
		if n.Type != html.ElementNode || n.Namespace != "" {
			return true
		}
		switch n.DataAtom {
		case atom.Xmp, atom.Listing, atom.Plaintext: // as it was called once
			rename(n, atom.Pre)
		case atom.Code:
			if keepsLines(n) && find(n, isBlock) == nil && !within(n, atom.Pre) {
				rename(n, atom.Pre)
			}
		}
		if n.DataAtom != atom.Pre {
			return true
		}
		var parts []*html.Node
		if list := index(n); list != nil {
			parts = append(parts, list)
		} else {
			parts = partsOfCode(n)
		}
		for _, part := range parts {
			n.Parent.InsertBefore(part, n)
		}
		remove(n)
		return false
	})
}

// keepsLines tells whether an element has several lines, and says that they are shown as they stand.
func keepsLines(n *html.Node) bool {
	for declaration := range strings.SplitSeq(strings.ToLower(attr(n, "style")), ";") {
		name, value, _ := strings.Cut(declaration, ":")
		value, _, _ = strings.Cut(value, "!")
		if strings.TrimSpace(name) == "white-space" && strings.TrimSpace(value) == "pre" {
			return strings.Contains(strings.TrimSpace(codeOf(n)), "\n")
		}
	}
	return false
}

// partsOfCode are the text of a block of code and the tables in it. The numbers of its lines and the
// buttons to copy it are not part of it.
func partsOfCode(pre *html.Node) (parts []*html.Node) {
	class := language(pre)
	var text strings.Builder
	flush := func() {
		if code := strings.Trim(text.String(), "\n"); strings.TrimSpace(code) != "" {
			parts = append(parts, codeBlock(code, class))
		}
		text.Reset()
	}
	walk(pre, func(n *html.Node) bool {
		switch {
		case n.Type == html.TextNode:
			text.WriteString(n.Data)
		case n.DataAtom == atom.Table && hasColumns(n):
			flush()
			remove(n)
			codeBlocks(n)
			parts = append(parts, n)
			return false
		case n.DataAtom == atom.Button, n != pre && isGutter(n) && isNumber(n):
			return false
		default:
			startLine(&text, n)
		}
		return true
	})
	flush()
	return parts
}

func codeBlock(text, class string) *html.Node {
	pre := element(atom.Pre)
	if class != "" {
		pre.Attr = []html.Attribute{{Key: "class", Val: class}}
	}
	pre.AppendChild(textNode(text))
	return pre
}

// hasColumns tells whether there are cells beside each other in a table.
func hasColumns(table *html.Node) bool {
	for _, p := range partsOf(table) {
		if (p.DataAtom == atom.Td || p.DataAtom == atom.Th) && next(p) != nil {
			return true
		}
	}
	return false
}

// isNumber tells whether an element shows a number and nothing else.
func isNumber(n *html.Node) bool {
	text := strings.TrimSpace(codeOf(n))
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// files is a list of files, as servers show directories.
type files struct {
	list, item *html.Node
	link       *html.Node // that begins the line, nil if none does
	behind     strings.Builder
	blank      bool // the line began with white space
	icon       bool // or with a picture

	lines, linked, named int
	marked, code         bool // there is what only such lists have, or what none has
	indented             bool // and what few have
}

// index makes a list of what is one of files, else it returns nil: most of its lines begin with a link, and
// have columns behind it. Code has links at the beginning of its lines too.
func index(pre *html.Node) *html.Node {
	var f files
	f.list = element(atom.Ul)
	for c := pre.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			f.text(c.Data)
		case c.DataAtom == atom.Img && f.item == nil, c.DataAtom == atom.A && f.item == nil && isIcon(c):
			f.icon = true
		case c.DataAtom == atom.A, c.DataAtom == atom.Img:
			f.put(clone(c))
		case c.DataAtom == atom.Hr:
			f.end()
		default:
			return nil
		}
	}
	f.end()
	if f.code || f.linked < 2 || f.linked*3 < f.lines*2 || !f.marked && (f.indented || f.named*3 < f.linked*2) {
		return nil
	}
	return f.list
}

func (f *files) text(text string) {
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			f.end()
		}
		switch {
		case strings.TrimSpace(line) != "", f.item != nil && line != "":
			f.put(textNode(line))
		case line != "":
			f.blank = true
		}
	}
}

func (f *files) put(n *html.Node) {
	if f.item == nil {
		f.item = element(atom.Li)
		f.list.AppendChild(f.item)
		if n.DataAtom == atom.A && attr(n, "href") != "" {
			f.link = n
		}
	} else {
		f.behind.WriteString(codeOf(n))
	}
	f.item.AppendChild(n)
}

// end ends a line, and judges it.
func (f *files) end() {
	if f.item != nil {
		f.lines++
	}
	if f.link != nil {
		f.linked++
		href, name, behind := attr(f.link, "href"), strings.TrimSpace(codeOf(f.link)), f.behind.String()
		columns := strings.TrimLeft(behind, " \t")
		sorts := strings.Contains(href, "?C=")
		f.marked = f.marked || sorts || name == "Parent Directory" || name == ".." || name == "../"
		f.indented = f.indented || f.blank && !f.icon
		f.code = f.code || strings.Contains(href, "#") || columns == behind && columns != ""
		if sorts || isFile(name, href) && isColumns(columns) {
			f.named++
		}
	}
	f.item, f.link, f.blank, f.icon = nil, nil, false, false
	f.behind.Reset()
}

// isIcon tells whether a link has a picture and no text.
func isIcon(link *html.Node) bool {
	return strings.TrimSpace(codeOf(link)) == "" && find(link, isA(atom.Img)) != nil
}

// isFile tells whether a link has the name of the file that it leads to, of which servers cut the end off.
func isFile(name, href string) bool {
	u, err := url.Parse(href)
	if err != nil {
		return false
	}
	start, cut := name, false
	for _, dots := range []string{"..>", "...", "…"} {
		if !cut {
			start, cut = strings.CutSuffix(name, dots)
		}
	}
	file := path.Base(u.Path)
	return cut && strings.HasPrefix(file, start) || file == strings.TrimSuffix(name, "/")
}

// isColumns tells whether a text is what stands behind the name of a file: nothing, or a date or a size.
func isColumns(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || text[0] >= '0' && text[0] <= '9' || strings.Trim(text, "- ") == ""
}

// codeOf is the text of code as it stands.
func codeOf(n *html.Node) string {
	var b strings.Builder
	walk(n, func(n *html.Node) bool {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		} else {
			startLine(&b, n)
		}
		return true
	})
	return b.String()
}

// startLine ends the line before an element that begins one.
func startLine(b *strings.Builder, n *html.Node) {
	switch n.DataAtom {
	case atom.Br:
		b.WriteByte('\n')
	case atom.Div, atom.P, atom.Li, atom.Tr:
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
	}
}

// codeLines is a block of code in a cell: each of its lines is code of its own.
func codeLines(n *html.Node) string {
	var lines []string
	for l := range strings.FieldsFuncSeq(codeOf(n), func(r rune) bool { return r == '\n' || r == '\r' }) {
		if l = strings.TrimRight(l, " \t"); l == "" {
			continue
		}
		fence := strings.Repeat("`", ticks(l)+1)
		if len(fence) > 1 {
			l = " " + l + " "
		}
		lines = append(lines, fence+l+fence)
	}
	return strings.Join(lines, "<br />")
}

// ticks is how many backticks stand together in a text at most.
func ticks(text string) (most int) {
	run := 0
	for i := range len(text) {
		if run++; text[i] != '`' {
			run = 0
		}
		most = max(most, run)
	}
	return most
}
