package pdftext

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// streamed is a document whose tree of pages stands before them.
func streamed(pages int) []byte {
	b := newBuilder()
	b.object("<</Type /Catalog /Pages 2 0 R>>")
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*i)
	}
	b.object("<</Type /Pages /Kids [%s] /Count %d /Resources <</Font <</F1 3 0 R>>>>>>", kids.String(), pages)
	b.helvetica()
	for i := range pages {
		b.object("<</Type /Page /Parent 2 0 R /Contents %d 0 R>>", 5+2*i)
		b.stream("", fmt.Sprintf("BT /F1 12 Tf 72 720 Td (page %d) Tj 0 -20 Td (and its end) Tj ET", i+1))
	}
	b.WriteString("trailer\n<</Root 1 0 R>>\nstartxref\n0\n%%EOF\n")
	return b.Bytes()
}

func before(data []byte, what string) []byte { return data[:bytes.Index(data, []byte(what))] }

func TestDamage(t *testing.T) {
	whole := streamed(3)
	spoilt := plain()
	at := bytes.Index(spoilt, []byte("/FlateDecode"))
	at += bytes.Index(spoilt[at:], []byte("stream\n")) + 30
	copy(spoilt[at:], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
	locked := bytes.Replace(whole, []byte("3 0 obj\n"), []byte("90 0 obj <</Filter/Standard/V 1/O(o)/U(u)>> endobj 3 0 obj\n"), 1)
	grown := append(bytes.Clone(whole), []byte("7 0 obj <</Length 99>> stream\nBT /F1 12 Tf (changed) Tj (an")...)
	for name, c := range map[string]struct {
		data []byte
		text string // of one that has some
		want string
	}{
		"whole":           {whole, "page 1\nand its end\n\npage 2\nand its end\n\npage 3\nand its end", ""},
		"junk behind it":  {append(bytes.Clone(whole), "\r\n<!-- 200 ms -->"...), "page 1\nand its end\n\npage 2\nand its end\n\npage 3\nand its end", ""},
		"no trailer":      {before(whole, "trailer"), "page 1\nand its end\n\npage 2\nand its end\n\npage 3\nand its end", "the file ends early, and pages may be missing"},
		"two pages less":  {before(whole, "6 0 obj"), "page 1\nand its end", "the file ends early, and 2 of its 3 pages cannot be read"},
		"half a page":     {before(whole, "(page 3)"), "page 1\nand its end\n\npage 2\nand its end", "the file ends early, and a part of it cannot be read"},
		"no content":      {before(whole, "9 0 obj"), "page 1\nand its end\n\npage 2\nand its end", "the file ends early, and a part of it cannot be read"},
		"the tree at end": {before(plain(), "5 0 obj"), "Hello world (café)\nsecond line\n\na paragraph", "the file ends early, and pages may be missing"},
		"an addition":     {grown, "page 1\nand its end\n\nchanged\n\npage 3\nand its end", "the file ends early, and a part of it cannot be read"},
		"a page is gone": {
			bytes.Replace(whole, []byte("6 0 obj"), []byte("96 0 obj"), 1), "page 1\nand its end\n\npage 3\nand its end",
			"1 of its 3 pages cannot be read",
		},
		"spoilt":       {spoilt, "page\ntwo\nend", "a part of it cannot be read"},
		"before pages": {before(whole, "4 0 obj"), "", "the PDF is damaged: it has no pages"},
		"no page":      {before(whole, "5 0 obj"), "", "the PDF is damaged: the file ends early, and 2 of its 3 pages cannot be read; there is no text that can be read"},
		"a lock":       {before(locked, "6 0 obj"), "", "the PDF is encrypted"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Extract(c.data)
			got := strings.TrimPrefix(d.Damage, "the PDF is damaged: ")
			if err != nil {
				got = err.Error()
			}
			if got != c.want || (err != nil) != (c.text == "") || name != "spoilt" && d.Text != c.text || !strings.Contains(d.Text, c.text) {
				t.Errorf("%q, %q; want %q, %q", d.Text, got, c.text, c.want)
			}
		})
	}
}

// Wherever a document is cut, it is not taken for a whole one.
func TestEveryCutIsSeen(t *testing.T) {
	for _, data := range [][]byte{plain(), streamed(2)} {
		for n := range bytes.Index(data, []byte("startxref")) {
			if d, err := Extract(data[:n]); err == nil && d.Damage == "" {
				t.Fatalf("the first %d of %d bytes are a document: %q", n, len(data), d.Text)
			}
		}
	}
}

// What readers do not mind is no damage.
func TestNoDamage(t *testing.T) {
	const content = "BT /F1 1 Tf (text) Tj ET"
	unsummed := deflate(content)
	unsummed = unsummed[:len(unsummed)-4]
	b := newBuilder()
	font := b.helvetica()
	b.stream("/Filter /FlateDecode", unsummed)
	b.stream("/Filter /FlateDecode", "")
	d, err := Extract(bytes.Replace(b.end(font, content), []byte("/Contents 4 0 R"), []byte("/Contents [2 0 R 3 0 R 99 0 R]"), 1))
	if err != nil || d.Damage != "" || d.Text != "text" {
		t.Errorf("%+v, %v", d, err)
	}
}
