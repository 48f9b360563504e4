package pdftext

import (
	"bytes"
	"fmt"
	"strings"
)

// damage is what is known to be missing of a document that is not whole.
type damage struct {
	early   bool         // the file ends before the document does
	pages   int          // that the document says it has, and that are not there
	partial map[ref]bool // streams that break off or cannot be unpacked
	broken  bool         // one of them is a part of what was read
}

// endsEarly tells whether the file was cut. Whatever writes one ends it, and each addition to it, with a
// word behind all objects. One that was made to be shown while it comes has another at its beginning.
func (f *file) endsEarly() bool {
	end := max(bytes.LastIndex(f.data, []byte("%%EOF")), bytes.LastIndex(f.data, []byte("startxref")))
	if end < 0 {
		return true
	}
	for _, at := range f.at {
		if at > end {
			return true
		}
	}
	return false
}

// broke notes that a stream is not whole.
func (f *file) broke(n ref) {
	if f.lost.partial == nil {
		f.lost.partial = map[ref]bool{}
	}
	f.lost.partial[n] = true
}

// locked tells whether a document has what only an encrypted one has: one that ends early may have lost
// the word that says so, and its text would be gibberish.
func (f *file) locked() bool {
	for _, n := range f.numbers() {
		d, _ := f.object(n).value.(dict)
		if d["Filter"] == name("Standard") && d["O"] != nil && d["U"] != nil {
			return true
		}
	}
	return false
}

// promised is how many pages the document says to have: it is believed of one that was cut alone, since
// others may say anything.
func (f *file) promised() int {
	most := 0.0
	for _, n := range f.numbers() {
		d, _ := f.object(n).value.(dict)
		if count, ok := d["Count"].(float64); ok && d["Type"] == name("Pages") {
			most = max(most, count)
		}
	}
	return int(min(most, maxPages))
}

// damage says what is wrong with a document of which so many pages were found, "" if nothing is.
func (f *file) damage(found int) string {
	l := f.lost
	if l.early {
		l.pages = max(l.pages, f.promised()-found)
	}
	var what []string
	if l.early {
		what = append(what, "the file ends early")
	}
	switch {
	case l.pages > 0:
		what = append(what, fmt.Sprintf("%d of its %d pages cannot be read", l.pages, found+l.pages))
	case l.broken:
		what = append(what, "a part of it cannot be read")
	case l.early:
		what = append(what, "pages may be missing")
	default:
		return ""
	}
	return "the PDF is damaged: " + strings.Join(what, ", and ")
}
