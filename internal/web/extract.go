package web

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
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
	texts := []string{
		"application/json", "application/ndjson", "application/x-ndjson", "application/xml", "application/javascript",
		"application/x-javascript", "application/ecmascript", "application/yaml", "application/x-yaml", "application/toml",
		"application/sql", "application/graphql", "application/x-sh", "application/rtf", "application/x-tex", "application/x-httpd-php",
	}
	switch {
	case media == "", media == "application/octet-stream", media == "binary/octet-stream", media == "unknown/unknown":
		return unknown, true // servers say so of what they do not know
	case media == "text/html", media == "application/xhtml+xml":
		return asHTML, true
	case media == "application/pdf", media == "application/x-pdf":
		return asPDF, true
	case strings.HasPrefix(media, "text/"), strings.HasSuffix(media, "+json"), strings.HasSuffix(media, "+xml") && !strings.HasPrefix(media, "image/"),
		strings.HasSuffix(media, "+yaml"), slices.Contains(texts, media):
		return asText, true
	}
	return unknown, false
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

// page makes text of the document. Libraries that meet what they do not expect may panic: that is an
// error of this page.
func (d document) page(l limits) (p Page, err error) {
	defer func() {
		if v := recover(); v != nil {
			p, err = Page{}, fmt.Errorf("the page cannot be read: %v", v)
		}
	}()
	f, _ := formOf(d.media)
	if f == unknown {
		if d.media, d.params = mediaType(http.DetectContentType(d.body)); len(d.body) > 0 {
			delete(d.params, "charset") // it has only seen that this is text
		}
		if f, _ = formOf(d.media); f == unknown {
			return p, noText(d.media)
		}
	}
	if bytes.HasPrefix(d.body, []byte("%PDF-")) {
		f = asPDF // some servers call it text
	}
	switch f {
	case asPDF:
		doc, err := pdftext.Extract(d.body)
		return Page{Title: doc.Title, Text: doc.Text}, err
	case asHTML:
		if int64(len(d.body)) > l.html {
			return p, tooLarge(l.html, ", which is too much HTML")
		}
		return d.fromHTML()
	default:
		p.Text = d.decode(false)
		if strings.ContainsRune(p.Text, 0) {
			return p, errors.New("the page is binary data, although its server calls it text")
		}
		return p, nil
	}
}
