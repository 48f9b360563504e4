package pdftext

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// builder writes documents as programs do.
type builder struct {
	bytes.Buffer
	offsets []int
}

func newBuilder() *builder {
	b := &builder{}
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	return b
}

// object writes an object and returns its number.
func (b *builder) object(format string, args ...any) int {
	b.offsets = append(b.offsets, b.Len())
	n := len(b.offsets)
	fmt.Fprintf(b, "%d 0 obj\n%s\nendobj\n", n, fmt.Sprintf(format, args...))
	return n
}

func (b *builder) stream(extra, data string) int {
	return b.object("<</Length %d %s>>\nstream\n%s\nendstream", len(data), extra, data)
}

// end writes the catalogue of pages with these contents, which use the font F1.
func (b *builder) end(font int, contents ...string) []byte {
	var kids strings.Builder
	parent := len(b.offsets) + 2*len(contents) + 1
	for _, c := range contents {
		stream := b.stream("/Filter /FlateDecode", deflate(c))
		fmt.Fprintf(&kids, "%d 0 R ", b.object("<</Type /Page /Parent %d 0 R /Contents %d 0 R>>", parent, stream))
	}
	b.object("<</Type /Pages /Kids [%s] /Count %d /Resources <</Font <</F1 %d 0 R>>>>>>", kids.String(), len(contents), font)
	root := b.object("<</Type /Catalog /Pages %d 0 R>>", parent)
	info := b.object("<</Title (A \\(small\\) title)>>")
	at := b.Len()
	fmt.Fprintf(b, "xref\n0 %d\n0000000000 65535 f \n", len(b.offsets)+1)
	for _, o := range b.offsets {
		fmt.Fprintf(b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(b, "trailer\n<</Size %d /Root %d 0 R /Info %d 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(b.offsets)+1, root, info, at)
	return b.Bytes()
}

func deflate(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, err := io.WriteString(w, s)
	if errors.Join(err, w.Close()) != nil {
		panic("a buffer does not fail")
	}
	return b.String()
}

func (b *builder) helvetica() int {
	return b.object("<</Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding>>")
}

func plain() []byte {
	b := newBuilder()
	return b.end(b.helvetica(),
		"BT /F1 12 Tf 72 720 Td (Hello) Tj 60 0 Td (world \\(caf\\351\\)) Tj 0 -14 Td [(sec) 10 (ond) -300 (line)] TJ 0 -40 Td (a paragraph) Tj ET",
		"BT /F1 10 Tf 1 0 0 1 72 700 Tm <70616765> Tj 12 TL (two) ' T* (end) Tj ET BI /W 1 ID \x00(no)\x01 EI")
}

func TestExtract(t *testing.T) {
	d, err := Extract(plain())
	want := Document{Title: "A (small) title", Text: "Hello world (café)\nsecond line\n\na paragraph\n\npage\ntwo\nend"}
	if err != nil || d != want {
		t.Errorf("%+q, %v; want %+q", d, err, want)
	}
}

// A picture ends at the first EI, whatever white space stands before it.
func TestPicture(t *testing.T) {
	b := newBuilder()
	d, err := Extract(b.end(b.helvetica(), "BI /W 1 ID \x00xEIx\x01 EI BT /F1 1 Tf (one) Tj ET BI ID x\nEI BT (two) Tj ET BI ID no end"))
	if err != nil || strings.Join(strings.Fields(d.Text), "") != "onetwo" {
		t.Errorf("%+q, %v", d, err)
	}
}

func TestFonts(t *testing.T) {
	b := newBuilder()
	cmap := b.stream("", "1 begincodespacerange <0000> <FFFF> endcodespacerange 2 beginbfchar <0001> <0416> <0002> <D83DDE00> endbfchar "+
		"2 beginbfrange <0010> <0012> <0041> <0020> <0021> [<0058> <00590059>] endbfrange")
	down := b.object("<</Type /Font /Subtype /CIDFontType2 /DW 500 /W [1 [600 700] 16 18 400]>>")
	wide := b.object("<</Type /Font /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [%d 0 R] /ToUnicode %d 0 R>>", down, cmap)
	d, err := Extract(b.end(wide, "BT /F1 10 Tf <00010002001000110012002000210099> Tj ET"))
	if err != nil || d.Text != "Ж😀ABCXYY" {
		t.Errorf("%+q, %v", d, err)
	}
	b = newBuilder()
	named := b.object("<</Type /Font /Subtype /Type1 /FirstChar 65 /Widths [500 600] /Encoding <</BaseEncoding /MacRomanEncoding " +
		"/Differences [65 /eacute /fi /uni20AC /a.alt 100 /nothing /space]>>>>")
	if d, err = Extract(b.end(named, "BT /F1 10 Tf (ABCDe\\212) Tj ET")); err != nil || d.Text != "éfi€a ä" {
		t.Errorf("%+q, %v", d, err)
	}
}

// A font of Type 1 has Adobe's standard encoding if it says nothing, and others if they say so.
func TestStandardEncoding(t *testing.T) {
	const text = "don't `\\256nd\\257y\\252x\\272 \\261 \\341\\371\\373 \\351"
	const adobe, windows = "don’t ‘findfly“x” – Æøß Ø", "don't `®nd¯yªxº ± áùû é"
	for font, want := range map[string]string{
		"/Subtype /Type1": adobe, "/Subtype /Type1 /Encoding /StandardEncoding": adobe, "/Subtype /TrueType /Encoding /StandardEncoding": adobe,
		"/Subtype /MMType1 /Encoding <</Type /Encoding>>": adobe, "/Subtype /Type1 /Encoding <</Differences [233 /Zcaron]>>": strings.ReplaceAll(adobe, " Ø", " Ž"),
		"/Subtype /Type1 /Encoding /WinAnsiEncoding": windows, "/Subtype /Type1 /Encoding <</BaseEncoding /WinAnsiEncoding>>": windows, "/Subtype /TrueType": windows,
	} {
		b := newBuilder()
		d, err := Extract(b.end(b.object("<</Type /Font %s>>", font), "BT /F1 10 Tf ("+text+") Tj ET"))
		if err != nil || d.Text != want {
			t.Errorf("%s: %q, %v; want %q", font, d.Text, err, want)
		}
	}
}

// The names of the glyphs of Latin letters and their marks.
func TestGlyphs(t *testing.T) {
	for n, want := range map[string]string{
		"space": " ", "exclam": "!", "backslash": `\`, "quotedbl": `"`, "Aacute": "Á", "oslash": "ø", "guillemotleft": "«", "Scaron": "Š", "aring": "å", "trademark": "™",
		"macron": "¯", "omacron": "ō", "ffi": "ffi", "lslash": "ł", "zdotaccent": "ż", "quotedblbase": "„", "A": "A", "A.alt": "A", "uni20AC": "€", "u1F600": "😀", "nothing": "", "!": "!",
	} {
		if got := glyph(n); got != want {
			t.Errorf("%s: %q, want %q", n, got, want)
		}
	}
}

// Objects in streams, forms, other filters, a wrong length, no table.
func TestStructure(t *testing.T) {
	b := newBuilder()
	first := "20 0 21 34 "
	b.stream(fmt.Sprintf("/Type /ObjStm /N 2 /First %d /Filter [/FlateDecode]", len(first)),
		deflate(first+fmt.Sprintf("%-34s", "<</Type /Catalog /Pages 21 0 R>>")+"<</Type /Pages /Kids [30 0 R]>>"))
	b.WriteString("30 0 obj <</Type /Page /Contents [31 0 R 32 0 R] /Resources <</Font <</F1 <</Subtype /Type1>>>> /XObject <</X 33 0 R>>>>>> endobj\n")
	b.WriteString("31 0 obj <</Length 9999 /Filter /AHx>>\nstream\n" + fmt.Sprintf("%x", "BT /F1 9 Tf (hex) Tj ET") + ">\nendstream endobj\n")
	b.WriteString("32 0 obj <</Length 3>> stream\r\n/X Do\r\nendstream endobj\n")
	b.WriteString("33 0 obj <</Subtype /Form /Length 34 0 R>> stream\nBT /F1 9 Tf 0 -20 Td (form) Tj ET /X Do\nendstream endobj\n34 0 obj 41 endobj\n")
	b.WriteString("40 0 obj <</Type /XRef /Root 20 0 R>> endobj\n%%EOF")
	d, err := Extract(b.Bytes())
	if err != nil || !strings.HasPrefix(d.Text, "hex\n\nform") {
		t.Errorf("%+q, %v", d, err)
	}
}

func TestRefusals(t *testing.T) {
	b := newBuilder()
	b.object("<</Type /Page>>")
	for want, data := range map[string][]byte{
		"no PDF":    []byte("<html>"),
		"no pages":  []byte("%PDF-1.4\nnothing"),
		"no text":   b.Bytes(),
		"encrypted": bytes.Replace(plain(), []byte("/Root"), []byte("/Encrypt <</Filter /Standard>> /Root"), 1),
	} {
		if d, err := Extract(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v, %v; want %q", d, err, want)
		}
	}
}

func FuzzExtract(f *testing.F) {
	f.Add(plain())
	f.Add([]byte("%PDF-1.4\n1 0 obj<</Type/Page/Contents 2 0 R>>endobj 2 0 obj<</Length 5>>stream\n(a)Tj\nendstream"))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = Extract(data) })
}
