package web

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hermes-exec/hermes-exec/internal/pdftext"
)

// form is what a document is read as.
type form int

const (
	unknown form = iota
	asHTML
	asText
	asPDF
)

// formOf tells how a media type is read, and whether it is read at all.
func formOf(media string) (f form, ok bool) {
	switch media {
	case "", "*/*", "application/octet-stream", "binary/octet-stream", "unknown/unknown", "application/unknown", "application/force-download",
		"application/download", "application/x-download":
		return unknown, true // servers say so of what they do not know
	case "text/html", "application/xhtml+xml":
		return asHTML, true
	case "application/pdf", "application/x-pdf":
		return asPDF, true
	case "message/rfc822":
		return asText, true
	}
	top, name, _ := strings.Cut(media, "/")
	if top == "text" || strings.HasSuffix(name, "+xml") || strings.HasSuffix(name, "+json") || strings.HasSuffix(name, "+yaml") ||
		top == "application" && isText(strings.TrimPrefix(name, "x-")) {
		return asText, true
	}
	return unknown, false
}

// isText tells whether a subtype of application is text, with an x- before it or without.
func isText(name string) bool {
	switch name {
	case "json", "json5", "jsonc", "hjson", "ndjson", "jsonl", "jsonlines", "json-lines", "json-seq", "geojson", "ipynb", "xml", "xml-dtd",
		"xml-external-parsed-entity", "yaml", "toml", "csv", "sql", "graphql", "sparql-query", "sparql-update", "n-triples", "n-quads", "trig",
		"turtle", "www-form-urlencoded":
		return true // data
	case "javascript", "ecmascript", "typescript", "node", "sh", "csh", "shellscript", "perl", "python", "ruby", "lua", "tcl", "httpd-php", "php",
		"dart", "tex", "latex", "texinfo", "troff", "troff-man", "bibtex", "rtf":
		return true // programs, and documents that are written like them
	case "mpegurl", "vnd.apple.mpegurl", "subrip", "pem-file", "pem-certificate-chain", "pgp-keys", "pgp-signature", "mbox", "config", "diff", "patch":
		return true
	}
	return false
}

func noText(media string) error {
	return fmt.Errorf("%s is no text: web_extract reads HTML, PDF, JSON and plain text", clip(media))
}

// supported says why a document of its type is not worth fetching.
func (d document) supported() error {
	if _, ok := formOf(d.media); !ok {
		return noText(d.media)
	}
	return nil
}

// sniff tells what the document is read as. One whose type is not known gets that which it looks like.
func (d *document) sniff() form {
	f, _ := formOf(d.media)
	if f == unknown {
		if d.media, d.params = mediaType(http.DetectContentType(d.body)); len(d.body) > 0 {
			delete(d.params, "charset") // it has only seen that this is text
		}
		if f, _ = formOf(d.media); f == unknown {
			return unknown
		}
	}
	if bytes.HasPrefix(d.body, []byte("%PDF-")) {
		return asPDF // some servers call it text
	}
	return f
}

// page makes text of the document. Libraries that meet what they do not expect may panic: that is an
// error of this page.
func (d document) page(l limits) (p Page, err error) {
	defer func() {
		if v := recover(); v != nil {
			p, err = Page{}, fmt.Errorf("the page cannot be read: %v", v)
		}
	}()
	f := d.sniff()
	if f == unknown {
		return p, noText(d.media)
	}
	switch f {
	case asPDF:
		return d.fromPDF()
	case asHTML:
		if int64(len(d.body)) > l.html {
			return p, tooLarge(l.html, ", which is too much HTML")
		}
		return d.fromHTML()
	default:
		text := d.decode(false)
		if strings.ContainsRune(text, 0) {
			return p, errBinary()
		}
		return Page{Text: text}, nil
	}
}

func errBinary() error {
	return errors.New("the page is binary data, although its server calls it text")
}

// noHTML tells whether what a server calls HTML is binary data. Pages have stray control characters, which
// browsers pass over, so that one does not make it so, nor do many behind a tag that begins a page.
func noHTML(text string) bool {
	const most, share = 64 << 10, 100
	head := text[:min(len(text), most)]
	controls := 0
	for i := range len(head) {
		switch c := head[i]; {
		case c >= ' ', c == '\t', c == '\n', c == '\f', c == '\r', c == '\x1b': // those that http.DetectContentType takes for text
		default:
			controls++
		}
	}
	return controls*share > len(head) && !strings.HasPrefix(http.DetectContentType([]byte(head[:min(len(head), 512)])), "text/html")
}

// fromPDF takes the text of a PDF. That there should be more stands first, where no limit cuts it off.
func (d document) fromPDF() (Page, error) {
	doc, err := pdftext.Extract(d.body)
	p := Page{Title: doc.Title, Text: doc.Text}
	if doc.Damage != "" {
		p.Text = "[... " + doc.Damage + " ...]\n\n" + p.Text
	}
	return p, err
}
