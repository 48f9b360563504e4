package web

import (
	"bytes"
	"strings"
	"unicode/utf8"

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
	// What is said to be windows-1252 is often not, and the library says so too where it found nothing.
	if _, name, _ := charset.DetermineEncoding(body, ""); isHTML && name != "windows-1252" {
		if text, ok := decodeAs(body, name); ok {
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
