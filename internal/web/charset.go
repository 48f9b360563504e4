package web

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// decode returns the body as UTF-8. What says its encoding is believed in the order of a browser: a
// byte-order mark, the header, the page itself. Where nothing does, the whole of it is looked at, and
// not its beginning alone: what is valid UTF-8 is.
func (d document) decode(isHTML bool) string {
	body := d.body
	if enc := marked(body); enc != nil {
		text, _, err := transform.Bytes(enc.NewDecoder(), body)
		if err == nil {
			return valid(text)
		}
	}
	if label := d.params["charset"]; label != "" {
		if text, ok := decodeAs(body, label); ok {
			return text
		}
	}
	if label := d.declared(isHTML); label != "" {
		if text, ok := decodeAs(body, label); ok {
			return text
		}
	}
	if utf8.Valid(body) {
		return string(body)
	}
	// JSON is UTF-8, and a few bytes that are not do not make it something else.
	if strings.Contains(d.media, "json") {
		return valid(body)
	}
	text, _ := decodeAs(body, "windows-1252")
	return text
}

// declared is the encoding that the document itself names, "" if there is none to go by. What is said to be
// windows-1252 is often not, so that the whole is looked at there too.
func (d document) declared(isHTML bool) string {
	isXML := strings.HasSuffix(d.media, "+xml") || strings.HasSuffix(d.media, "/xml")
	var sources []func([]byte) string
	if isHTML {
		sources = append(sources, guessed, metaEncoding)
	}
	switch {
	case isXML: // of which the declaration is a part
		sources = append([]func([]byte) string{xmlEncoding}, sources...)
	case isHTML:
		sources = append(sources, xmlEncoding)
	}
	for _, source := range sources {
		label := source(d.body)
		if _, name := charset.Lookup(label); name != "" && name != "windows-1252" {
			return name
		}
	}
	return ""
}

// guessed is what the beginning of a page says of its encoding, or looks like. It is windows-1252 where that
// is nothing.
func guessed(body []byte) string {
	_, name, _ := charset.DetermineEncoding(body, "")
	return name
}

// labelOf is the encoding that a tag of metadata names. What is not ASCII in it must not be guessed from.
func labelOf(tag []byte) string {
	ascii := bytes.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			return '?'
		}
		return r
	}, tag)
	if label := guessed(ascii); label != "windows-1252" { // or nothing
		return label
	}
	return ""
}

// marked is the encoding that a byte-order mark names, or nil.
func marked(body []byte) encoding.Encoding {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return unicode.UTF8BOM
	case bytes.HasPrefix(body, []byte("\xff\xfe")), bytes.HasPrefix(body, []byte("\xfe\xff")):
		return unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
	}
	return nil
}

// decodeAs decodes by the name of an encoding, if there is one of that name.
func decodeAs(body []byte, label string) (string, bool) {
	enc, err := htmlindex.Get(label)
	if err != nil {
		return "", false
	}
	text, _, err := transform.Bytes(enc.NewDecoder(), body)
	return valid(text), err == nil
}

func valid(text []byte) string { return string(bytes.ToValidUTF8(text, []byte("\uFFFD"))) }

// xmlEncoding is the encoding that the declaration of an XML document names, "" if it names none.
func xmlEncoding(body []byte) string {
	switch { // a declaration that is not in ASCII says it by that
	case bytes.HasPrefix(body, []byte("<\x00?\x00")):
		return "utf-16le"
	case bytes.HasPrefix(body, []byte("\x00<\x00?")):
		return "utf-16be"
	}
	declaration, _, ended := bytes.Cut(body[:min(len(body), prologue)], []byte("?>"))
	if !ended || !bytes.HasPrefix(declaration, []byte("<?xml")) {
		return ""
	}
	_, value, _ := strings.Cut(string(declaration), "encoding")
	value, named := strings.CutPrefix(strings.TrimSpace(value), "=")
	if value = strings.TrimSpace(value); !named || value == "" || value[0] != '"' && value[0] != '\'' {
		return ""
	}
	label, _, _ := strings.Cut(value[1:], value[:1])
	if strings.HasPrefix(strings.ToLower(label), "utf-16") {
		return "utf-8" // it was read as ASCII
	}
	return label
}

// metaEncoding is the first encoding that a page names in its head, "" if it names none. Browsers heed also
// one that comes late.
func metaEncoding(body []byte) string {
	const most = 64 << 10
	head := body[:min(len(body), most)]
	if !bytes.Contains(bytes.ToLower(head), []byte("charset")) {
		return ""
	}
	z := html.NewTokenizer(bytes.NewReader(head))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := bytes.Clone(z.Raw())
			switch name, _ := z.TagName(); string(name) {
			case "body":
				return ""
			case "meta":
				if label := labelOf(tag); label != "" {
					return label
				}
			}
		}
	}
}
