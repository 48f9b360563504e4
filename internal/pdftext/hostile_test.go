package pdftext

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const hostileSize = 256 << 10

// each joins n texts that hold their number.
func each(n int, format string) string {
	var s strings.Builder
	for i := range n {
		s.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i+1)))
	}
	return s.String()
}

// onePage is a page with these contents: object 2 is also its form X, 3 what the page paints.
func onePage(kind, stream, contents, paints string) string {
	return fmt.Sprintf("1 0 obj<</Type/Page/Contents[%s]/Resources<</XObject<</X 2 0 R>>/Font<</W<</Widths[%s]>>>>>>>>endobj "+
		"2 0 obj<<%s/Length %d>>stream\n%s\nendstream endobj 3 0 obj<</Length %d>>stream\n%s\nendstream endobj",
		contents, strings.Repeat("null ", hostileSize/8), kind, len(stream), stream, len(paints), paints)
}

// mapped is a page with a font whose codes have such a map.
func mapped(cmap, widths, paints string) string {
	b := newBuilder()
	stream := b.stream("/Filter /FlateDecode", deflate(cmap))
	return string(b.end(b.object("<</Subtype /Type0 /ToUnicode %d 0 R /DescendantFonts [<<%s>>]>>", stream, widths), paints))
}

// formed is a page that paints a form, which paints the next one, and so on n times: the last one has a content
// of its own.
func formed(n int, paints, last string) string {
	var b strings.Builder
	b.WriteString("1000 0 obj<</Type/Page/Contents 1001 0 R/Resources<</XObject<</X 1 0 R>>>>>>endobj 1001 0 obj<<>>stream\n/X Do\nendstream endobj ")
	for i := 1; i <= n; i++ {
		if i == n {
			paints = last
		}
		fmt.Fprintf(&b, "%d 0 obj<</Subtype/Form/Resources<</XObject<</X %d 0 R>>>>>>stream\n%s\nendstream endobj ", i, i+1, paints)
	}
	return b.String()
}

// treed is a page below n levels of a tree.
func treed(n int) string {
	var b strings.Builder
	b.WriteString("1 0 obj<</Pages 10 0 R>>endobj trailer<</Root 1 0 R>> 2 0 obj<<>>stream\nBT /F 9 Tf (deep) Tj ET\nendstream endobj ")
	for i := 10; i < 10+n; i++ {
		fmt.Fprintf(&b, "%d 0 obj<</Kids[%d 0 R]>>endobj ", i, i+1)
	}
	fmt.Fprintf(&b, "%d 0 obj<</Type/Page/Contents 2 0 R>>endobj", 10+n)
	return b.String()
}

// What lies deep is read, and what lies too deep is an error.
func TestDepthIsBounded(t *testing.T) {
	const content = "BT /F 9 Tf (deep) Tj ET"
	for name, build := range map[string]func(more int) string{
		"pages": func(more int) string { return treed(maxTree + more) },
		"forms": func(more int) string { return formed(maxForms+more, "/X Do", content) },
	} {
		d, err := Extract([]byte("%PDF-1.4\n" + build(0)))
		if err != nil || d.Text != "deep" {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		if d, err = Extract([]byte("%PDF-1.4\n" + build(1))); !errors.Is(err, errDeep) {
			t.Errorf("%s, one more: %+v, %v", name, d, err)
		}
	}
}

// Documents that would take for ever, or all memory, if they were believed: they end with the budget.
func TestHostile(t *testing.T) {
	const (
		n         = hostileSize
		exhausted = "too large to be read"
		noPages   = "no pages"
		noText    = "no text"
	)
	for name, c := range map[string]struct{ data, want string }{
		"streams without end":   {strings.Repeat("1 0 obj<</Length 9>>stream\n", n/27), noPages},
		"many of them":          {each(n/40, "# 0 obj<</Type/Page/Contents # 0 R>>stream\n"), exhausted},
		"open dictionaries":     {strings.Repeat("trailer<<", n/9), exhausted},
		"arrays in pages":       {"1 0 obj<</Type/Page/Contents 2 0 R>>endobj 2 0 obj<<>>stream\n" + strings.Repeat("[<<", n/3), noText},
		"open arrays":           {"trailer<</Root " + strings.Repeat("[", n), noPages},
		"lengths that refer on": {each(n/40, "# 0 obj<</Length #0 0 R>>stream\nendstream\n"), noPages},
		"pages in circles":      {"1 0 obj<</Pages 2 0 R>>endobj 2 0 obj<</Kids[2 0 R 2 0 R 3 0 R]>>endobj 3 0 obj<</Kids[2 0 R]>>endobj trailer<</Root 1 0 R>>", noPages},
		"forms in circles": {"1 0 obj<</Type/Page/Contents 2 0 R/Resources<</XObject<</X 2 0 R>>>>>>endobj " +
			"2 0 obj<</Subtype/Form>>stream\n" + strings.Repeat("/X Do ", 5000) + "endstream", exhausted},
		"forms in forms, twice": {formed(maxForms, "/X Do /X Do", ""), exhausted},
		"pages in one another":  {"1 0 obj<</Pages<</Kids 2 0 R>>>>endobj 2 0 obj[<</Kids 2 0 R>>]endobj trailer<</Root 1 0 R>>", "nested too deeply"},
		"a bomb":                {mapped("", "", "BT /F1 1 Tf "+strings.Repeat("() Tj ", 4<<20/6)), exhausted},
		"maps":                  {mapped(strings.Repeat("1 beginbfrange <0000> <FFFF> <0041> endbfrange ", 2_000), "", "BT /F1 1 Tf <0001> Tj ET"), exhausted},
		"wide ones":             {mapped("", "/W ["+strings.Repeat("0 65535 1 ", 2_000)+"]", "BT /F1 1 Tf <0001> Tj ET"), exhausted},
		"meanings": {mapped("1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfrange <00> <FF> <"+strings.Repeat("0020", n)+"> endbfrange", "",
			"BT /F1 1 Tf ("+strings.Repeat("a", n)+") Tj ET"), "too long"},
		"maps that end again": {mapped(strings.Repeat("<00> ", 40_000)+strings.Repeat("endbfchar endbfrange ", 20_000), "", "BT /F1 1 Tf <0001> Tj ET"), noText},
		"pages in pages": {
			"1 0 obj<</Pages<</Kids 2 0 R>>>>endobj 2 0 obj[null null<</Kids 2 0 R>><</Kids 2 0 R>>]endobj trailer<</Root 1 0 R>>",
			exhausted,
		},
		"pages seen before": {"1 0 obj<</Pages<</Kids 2 0 R>>>>endobj 2 0 obj[" + strings.Repeat("<</Kids 3 0 R>>", 10_000) + "]endobj 3 0 obj[" +
			strings.Repeat("4 0 R ", 20_000) + "]endobj 4 0 obj<<>>endobj trailer<</Root 1 0 R>>", exhausted},
		"one content, many times":  {onePage("", strings.Repeat("x ", n), strings.Repeat("2 0 R ", 20_000), ""), exhausted},
		"no content, many times":   {"8 0 obj[" + strings.Repeat("9 0 R ", 40_000) + "]endobj " + each(5000, "1#0 0 obj<</Type/Page/Contents 8 0 R>>endobj "), exhausted},
		"what unpacks to nothing":  {onePage("/Subtype/Form/Filter/AHx", strings.Repeat(" ", n), "3 0 R", strings.Repeat("/X Do ", 50_000)), exhausted},
		"what inflates to nothing": {onePage("/Subtype/Form/Filter/FlateDecode", "\x78\x01"+strings.Repeat("\x00\x00\x00\xff\xff", n/5), "3 0 R", strings.Repeat("/X Do ", 50_000)), exhausted},
		"pictures":                 {onePage("", "", "3 0 R", strings.Repeat("ID EI ", n/8)), noText},
		"widths":                   {onePage("", "", "3 0 R", strings.Repeat("/W 1 Tf ", 50_000)), exhausted},
		"objects in a comment":     {each(n/8, "# 0 obj<<>>% "), exhausted},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := extract([]byte("%PDF-1.4\n"+c.data), budget/16)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d bytes of text, %v; want %q", len(d.Text), err, c.want)
			}
		})
	}
}

func TestMeaningsAreBounded(t *testing.T) {
	f := &file{left: budget}
	ft := &font{unicode: map[int]string{}}
	f.mapRange(ft, 0, 0xff, text(strings.Repeat("\x00x", 1<<20)))
	if n := len(ft.unicode[0]); n != maxMeaning/2 {
		t.Errorf("a code means %d bytes", n)
	}
	if s, _ := ft.decode(text(strings.Repeat("a", 1<<16)), 1000); len(s) > 1000+maxMeaning {
		t.Errorf("%d bytes where there is room for 1000", len(s))
	}
	if s := glyph("uni0041" + strings.Repeat("0", maxGlyph)); s != "" {
		t.Errorf("a name that is too long means %q", s)
	}
}

// What would not be read is an error, not a document without it.
func TestPagesAreBounded(t *testing.T) {
	for n, want := range map[int]string{maxPages: "no text", maxPages + 1: "more than 5000 pages"} {
		kids := "1 0 obj<</Pages<</Kids[" + each(n, "1#0 0 R ") + "]>>>>endobj trailer<</Root 1 0 R>>"
		for _, tree := range []string{"", kids} {
			_, err := Extract([]byte("%PDF-1.4\n" + each(n, "1#0 0 obj<</Type/Page>>endobj ") + tree))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%d pages: %v, want %q", n, err, want)
			}
		}
	}
}
