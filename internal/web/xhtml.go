package web

import (
	"strings"

	"golang.org/x/net/html"
)

// prologue is how much of a document is looked at for what it says of itself before its content.
const prologue = 1 << 10

// closed is a page whose elements that XML closes in their tag (<script src="x"/>, <title/>) are closed
// for a parser of HTML too: it would take all that follows for their text. Sections of CDATA, which would be
// comments for it, become text. Of a page that only says that it is XHTML, and that its server calls HTML,
// those elements alone are closed that swallow what follows, and not where the end tag comes: a browser
// would not show what is between.
func (d document) closed(text string) string {
	isXML := d.media == "application/xhtml+xml"
	if !isXML && !saysXHTML(text) {
		return text
	}
	var b strings.Builder
	done := 0 // bytes of the text that are written
	z := html.NewTokenizer(strings.NewReader(text))
	z.AllowCDATA(isXML)
	for at := 0; ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		size := len(z.Raw())
		at += size
		if cdata, is := strings.CutPrefix(text[at-size:at], "<![CDATA["); is && isXML {
			b.WriteString(text[done:at-size] + html.EscapeString(strings.TrimSuffix(cdata, "]]>")))
			done = at
			continue
		}
		if kind != html.SelfClosingTagToken {
			continue
		}
		exact, _ := z.TagName()
		name := string(exact)
		if !isXML && (!swallows(name) || !strings.HasPrefix(text[at-size:], "<"+name) || endsFirst(text[at:], name)) || isVoid(name) {
			continue
		}
		z.NextIsNotRawText()
		b.WriteString(text[done:at-len("/>")] + "></" + name + ">")
		done = at
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// saysXHTML tells whether a page begins as XML, or with the document type of XHTML.
func saysXHTML(text string) bool {
	head := strings.TrimLeft(text[:min(len(text), prologue)], " \t\r\n\ufeff")
	if strings.HasPrefix(head, "<?xml") {
		return true
	}
	kind, _, _ := strings.Cut(head, ">")
	return strings.HasPrefix(strings.ToLower(kind), "<!doctype") && strings.Contains(kind, "DTD XHTML")
}

// swallows tells whether all that follows an element is its text, up to its end tag.
func swallows(name string) bool {
	switch name {
	case "script", "style", "title", "textarea", "iframe", "noembed", "noframes", "xmp":
		return true
	}
	return false
}

// endsFirst tells whether the end of an element comes before another of the kind begins. It looks no
// further than to the next of them, so that many cost no more than one.
func endsFirst(text, name string) bool {
	for {
		_, after, found := strings.Cut(text, name)
		if !found {
			return false
		}
		before := text[:len(text)-len(after)-len(name)]
		switch {
		case strings.HasSuffix(before, "</"):
			return true
		case strings.HasSuffix(before, "<"):
			return false
		}
		text = after
	}
}

// isVoid tells whether an element of HTML has no end tag.
func isVoid(name string) bool {
	switch name {
	case "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "image", "img", "input", "keygen", "link", "meta",
		"param", "source", "track", "wbr":
		return true
	}
	return false
}
