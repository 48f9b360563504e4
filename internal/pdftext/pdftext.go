// Package pdftext takes the text out of PDF documents that nobody vouches for.
//
// It reads what most programs write, and no more: pages, fonts, maps to Unicode, positions as far as
// lines and words need them. It knows no layout of columns or tables, no pictures and no passwords.
// Whatever a document says, time and memory are bounded by its size and by a budget, and no value is
// nested deeper than a fixed limit.
package pdftext

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

const (
	maxPages = 5000
	maxText  = 16 << 20 // bytes of the text
	maxTree  = 1000     // levels of the tree of pages
)

// errExhausted is that the budget was not enough: what was not read would be missing silently.
var errExhausted = errors.New("the PDF is too large to be read")

// errDeep is that parts of the document lie in each other so deep that they were passed over.
var errDeep = errors.New("the PDF is nested too deeply to be read")

// Document is what there is to read.
type Document struct {
	Title, Text string
	// Damage says what is wrong with a document of which not all could be read, "" of one that is whole.
	Damage string
}

// Extract reads a document, of one that is damaged what is left. The pages of the text are separated by an
// empty line.
func Extract(data []byte) (Document, error) { return extract(data, budget) }

func extract(data []byte, budget int) (Document, error) {
	if !bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-")) {
		return Document{}, errors.New("this is no PDF")
	}
	f := open(data, budget)
	if f.resolve(f.trailer["Encrypt"]) != nil || f.lost.early && f.locked() {
		return Document{}, errors.New("the PDF is encrypted")
	}
	pages := f.pages()
	switch {
	case f.left <= 0:
		return Document{}, errExhausted
	case f.deep:
		return Document{}, errDeep
	case len(pages) == 0:
		return Document{}, errors.New("the PDF is damaged: it has no pages")
	case len(pages) > maxPages:
		return Document{}, fmt.Errorf("the PDF has more than %d pages", maxPages)
	}
	var b strings.Builder
	fonts := map[any]*font{}
	for _, p := range pages {
		if f.left <= 0 {
			break
		}
		t := f.pageText(p, fonts)
		if t == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		if b.WriteString(t); b.Len() > maxText {
			break
		}
	}
	d := Document{Title: f.title(), Text: b.String(), Damage: f.damage(len(pages))}
	switch {
	case f.long || len(d.Text) > maxText:
		return Document{}, errors.New("the text of the PDF is too long")
	case f.left <= 0:
		return Document{}, errExhausted
	case f.deep:
		return Document{}, errDeep
	case d.Text == "" && d.Damage != "":
		return Document{}, errors.New(d.Damage + "; there is no text that can be read")
	case d.Text == "":
		return Document{}, errors.New("the PDF has no text that can be read; its pages may be pictures")
	}
	return d, nil
}

func (f *file) title() string {
	t, _ := f.resolve(f.dict(f.trailer["Info"])["Title"]).(text)
	s := strings.TrimPrefix(string(t), "\xfe\xff")
	if s != string(t) {
		s = utf16Text(text(s))
	} else {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s))
}

// page is a page with the resources that it may have from above.
type page struct{ dict, resources dict }

// pages walks the tree of pages, and stops after one that is too many. A document whose tree is lost has
// its pages in the order of their numbers.
func (f *file) pages() []page {
	w := pageWalk{file: f, seen: map[ref]bool{}}
	w.node(f.root()["Pages"], nil, 0)
	if len(w.pages) > 0 {
		return w.pages
	}
	f.lost.pages = 0
	for _, n := range f.numbers() {
		if d := f.dict(n); d["Type"] == name("Page") && len(w.pages) <= maxPages {
			w.pages = append(w.pages, page{d, f.dict(d["Resources"])})
		}
	}
	return w.pages
}

// root is the catalogue of the document. Where the word that names it is lost it is known by its type.
func (f *file) root() dict {
	if d := f.dict(f.trailer["Root"]); d != nil || !f.lost.early {
		return d
	}
	for _, n := range f.numbers() {
		if d := f.dict(n); d["Type"] == name("Catalog") {
			return d
		}
	}
	return nil
}

type pageWalk struct {
	*file
	seen  map[ref]bool
	pages []page
}

func (w *pageWalk) node(v any, resources dict, depth int) {
	// What stands here itself, and not as an object, is never seen before: it may lead on to others like it.
	if !w.spend(mapCost) || len(w.pages) > maxPages {
		return
	}
	if depth > maxTree {
		w.deep = true
		return
	}
	if r, ok := v.(ref); ok {
		if w.seen[r] {
			return
		}
		w.seen[r] = true
	}
	d := w.dict(v)
	if d == nil {
		if _, named := v.(ref); named {
			w.lost.pages++
		}
		return
	}
	if own := w.dict(d["Resources"]); own != nil {
		resources = own
	}
	kids, ok := w.resolve(d["Kids"]).(array)
	if !ok {
		w.pages = append(w.pages, page{d, resources})
		return
	}
	for _, k := range kids {
		w.node(k, resources, depth+1)
	}
}

// pageText is the text of one page.
func (f *file) pageText(p page, fonts map[any]*font) string {
	var content []byte
	if parts, ok := f.resolve(p.dict["Contents"]).(array); ok {
		for _, part := range parts {
			if !f.spend(mapCost) {
				break
			}
			content = append(append(content, f.content(part)...), '\n')
		}
	} else {
		content = f.content(p.dict["Contents"])
	}
	w := &writer{file: f, fonts: fonts}
	w.run(content, p.resources)
	f.long = f.long || w.out.Len() >= maxText // run stopped there
	return w.text()
}
