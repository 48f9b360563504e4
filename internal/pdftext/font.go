package pdftext

import (
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"
)

// font tells what the codes of a string mean and how wide they are.
type font struct {
	wide     bool            // codes have two bytes
	unicode  map[int]string  // by code
	widths   map[int]float64 // in thousandths of the size
	standard float64         // the width of others
	codes    *charmap.Charmap
}

// readFont reads a font's dictionary.
func (f *file) readFont(d dict) *font {
	ft := &font{unicode: map[int]string{}, widths: map[int]float64{}, standard: 500, codes: charmap.Windows1252}
	ft.wide = d["Subtype"] == name("Type0")
	if ft.wide {
		if a := f.array(d["DescendantFonts"]); len(a) > 0 {
			f.wideWidths(ft, f.dict(a[0]))
		}
	} else {
		start, _ := f.resolve(d["FirstChar"]).(float64)
		list := f.array(d["Widths"])
		f.listed(ft, int(start), list[:min(len(list), 256)])
		f.encoding(ft, f.resolve(d["Encoding"]))
	}
	f.toUnicode(ft, f.content(d["ToUnicode"]))
	return ft
}

// listed reads widths of codes that follow each other.
func (f *file) listed(ft *font, start int, list array) {
	for i, v := range list {
		if !f.spend(mapCost) {
			return
		}
		if n, ok := f.resolve(v).(float64); ok {
			ft.widths[start+i] = n
		}
	}
}

// wideWidths reads the widths of a font with two bytes a character.
func (f *file) wideWidths(ft *font, d dict) {
	ft.standard = 1000
	if n, ok := f.resolve(d["DW"]).(float64); ok {
		ft.standard = n
	}
	w := f.array(d["W"])
	for i := 0; i+1 < len(w) && f.spend(mapCost); {
		start, _ := f.resolve(w[i]).(float64)
		if list, ok := f.resolve(w[i+1]).(array); ok {
			f.listed(ft, int(start), list)
			i += 2
			continue
		}
		if i+2 < len(w) {
			end, _ := f.resolve(w[i+1]).(float64)
			n, _ := f.resolve(w[i+2]).(float64)
			for k := max(0, int(start)); k <= int(end) && k <= 0xffff && f.spend(mapCost); k++ {
				ft.widths[k] = n
			}
		}
		i += 3
	}
}

// encoding reads the encoding of a font with one byte a character.
func (f *file) encoding(ft *font, v any) {
	base, _ := v.(name)
	d, _ := v.(dict)
	if n, ok := f.resolve(d["BaseEncoding"]).(name); ok {
		base = n
	}
	if base == "MacRomanEncoding" {
		ft.codes = charmap.Macintosh
	}
	code := 0
	for _, v := range f.array(d["Differences"]) {
		if !f.spend(mapCost) {
			return
		}
		switch v := f.resolve(v).(type) {
		case float64:
			code = int(v)
		case name:
			if s := glyph(string(v)); s != "" && code < 256 {
				ft.unicode[code] = s
			}
			code++
		}
	}
}

// maxGlyph is how long the name of a glyph may be, in bytes, as the format has it.
const maxGlyph = 127

// glyph is the text of a glyph's name, "" if that is not known.
func glyph(n string) string {
	if len(n) > maxGlyph {
		return ""
	}
	n, _, _ = strings.Cut(n, ".")
	if len([]rune(n)) == 1 {
		return n
	}
	for _, prefix := range []string{"uni", "u"} {
		if digits, ok := strings.CutPrefix(n, prefix); ok && len(digits) >= 4 {
			if c, err := strconv.ParseUint(digits[:min(len(digits), 6)], 16, 32); err == nil && c < 0x110000 {
				return string(rune(c))
			}
		}
	}
	const names = " space   exclam ! quotedbl \" numbersign # dollar $ percent % ampersand & quotesingle ' quoteright ’ quoteleft ‘ parenleft ( " +
		"parenright ) asterisk * plus + comma , hyphen - minus − period . slash / zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7 " +
		"eight 8 nine 9 colon : semicolon ; less < equal = greater > question ? at @ bracketleft [ backslash \\ bracketright ] " +
		"underscore _ braceleft { bar | braceright } asciitilde ~ asciicircum ^ grave ` bullet • endash – emdash — ellipsis … " +
		"quotedblleft “ quotedblright ” fi fi fl fl ff ff ffi ffi ffl ffl germandbls ß adieresis ä odieresis ö udieresis ü Adieresis Ä " +
		"Odieresis Ö Udieresis Ü eacute é egrave è agrave à ccedilla ç ecircumflex ê ntilde ñ copyright © registered ® degree ° Euro € section § "
	if n == "space" {
		return " "
	}
	if i := strings.Index(names, " "+n+" "); i >= 0 {
		s, _, _ := strings.Cut(names[i+len(n)+2:], " ")
		return s
	}
	return ""
}

// toUnicode reads the map that says what codes mean.
func (f *file) toUnicode(ft *font, cmap []byte) {
	l := lexer{data: cmap}
	var args array
	for f.spend(mapCost) {
		v, ok := l.value(0)
		if !ok {
			return
		}
		switch v {
		case keyword("begincodespacerange"), keyword("beginbfchar"), keyword("beginbfrange"):
			args = nil
		case keyword("endcodespacerange"):
			if s, ok := last(args); ok {
				ft.wide = len(s) > 1
			}
			args = nil
		case keyword("endbfchar"):
			for i := 0; i+1 < len(args) && f.spend(mapCost); i += 2 {
				ft.unicode[code(args[i])] = f.meaning(args[i+1])
			}
			args = nil // it may be said again that they end
		case keyword("endbfrange"):
			for i := 0; i+2 < len(args); i += 3 {
				f.mapRange(ft, code(args[i]), code(args[i+1]), args[i+2])
			}
			args = nil
		default:
			args = append(args, v)
		}
	}
}

// maxMeaning is what a code may mean, in bytes of UTF-16, as the format has it.
const maxMeaning = 512

// meaning is the text that a map has for a code.
func (f *file) meaning(v any) string {
	s, _ := v.(text)
	s = s[:min(len(s), maxMeaning)]
	f.spend(len(s))
	return utf16Text(s)
}

func last(a array) (text, bool) {
	if len(a) == 0 {
		return "", false
	}
	s, ok := a[len(a)-1].(text)
	return s, ok
}

// mapRange maps codes that follow each other.
func (f *file) mapRange(ft *font, from, to int, v any) {
	list, isList := v.(array)
	start := []rune(f.meaning(v))
	for c := from; c <= to && c-from <= 0xffff && f.spend(mapCost+len(start)); c++ {
		switch {
		case isList && c-from < len(list):
			ft.unicode[c] = f.meaning(list[c-from])
		case !isList && len(start) > 0:
			end := len(start) - 1
			ft.unicode[c] = string(start[:end]) + string(start[end]+rune(c-from))
		}
	}
}

// code is a code as a map has it.
func code(v any) int {
	s, _ := v.(text)
	n := 0
	for i := 0; i < len(s) && i < 4; i++ {
		n = n<<8 | int(s[i])
	}
	return n
}

func utf16Text(v any) string {
	s, _ := v.(text)
	units := make([]uint16, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		units = append(units, uint16(s[i])<<8|uint16(s[i+1]))
	}
	return string(utf16.Decode(units))
}

// decode returns the text of a string, as far as there is room for it, and its width in thousandths of the
// size.
func (ft *font) decode(s text, room int) (string, float64) {
	var b strings.Builder
	width := 0.0
	step := 1
	if ft.wide {
		step = 2
	}
	for i := 0; i+step <= len(s) && b.Len() <= room; i += step {
		c := code(s[i : i+step])
		if w, ok := ft.widths[c]; ok {
			width += w
		} else {
			width += ft.standard
		}
		switch t, ok := ft.unicode[c]; {
		case ok:
			b.WriteString(t)
		case !ft.wide:
			b.WriteRune(ft.codes.DecodeByte(byte(c)))
		}
	}
	return b.String(), width
}
