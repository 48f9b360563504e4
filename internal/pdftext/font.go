package pdftext

import (
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
		f.encoding(ft, d["Subtype"] == name("Type1") || d["Subtype"] == name("MMType1"), f.resolve(d["Encoding"]))
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

// encoding reads the encoding of a font with one byte a character. Adobe tells whether it has Adobe's standard
// encoding if nothing is said.
func (f *file) encoding(ft *font, adobe bool, v any) {
	base, _ := v.(name)
	d, _ := v.(dict)
	if n, ok := f.resolve(d["BaseEncoding"]).(name); ok {
		base = n
	}
	switch base {
	case "MacRomanEncoding":
		ft.codes, adobe = charmap.Macintosh, false
	case "WinAnsiEncoding", "MacExpertEncoding":
		adobe = false
	case "StandardEncoding":
		adobe = true
	}
	if codes := standard(); adobe && f.spend(mapCost*len(codes)) {
		ft.unicode = codes
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
