package pdftext

import (
	"strconv"
	"strings"
)

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
	const names = " exclam ! quotedbl \" numbersign # dollar $ percent % ampersand & quotesingle ' parenleft ( parenright ) asterisk * plus + " +
		"comma , hyphen - period . slash / zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9 colon : semicolon ; " +
		"less < equal = greater > question ? at @ bracketleft [ backslash \\ bracketright ] asciicircum ^ underscore _ grave ` " +
		"braceleft { bar | braceright } asciitilde ~ exclamdown ¡ cent ¢ sterling £ fraction ⁄ yen ¥ florin ƒ section § currency ¤ " +
		"Euro € brokenbar ¦ copyright © registered ® trademark ™ guillemotleft « guillemotright » guilsinglleft ‹ guilsinglright › " +
		"quoteleft ‘ quoteright ’ quotesinglbase ‚ quotedblleft “ quotedblright ” quotedblbase „ ff ff fi fi fl fl ffi ffi ffl ffl " +
		"endash – emdash — dagger † daggerdbl ‡ periodcentered · paragraph ¶ bullet • ellipsis … perthousand ‰ questiondown ¿ acute ´ " +
		"circumflex ˆ tilde ˜ macron ¯ breve ˘ dotaccent ˙ dieresis ¨ ring ˚ cedilla ¸ hungarumlaut ˝ ogonek ˛ caron ˇ degree ° mu µ " +
		"minus − plusminus ± multiply × divide ÷ logicalnot ¬ onehalf ½ onequarter ¼ threequarters ¾ onesuperior ¹ twosuperior ² " +
		"threesuperior ³ ordfeminine ª ordmasculine º AE Æ ae æ OE Œ oe œ Oslash Ø oslash ø Lslash Ł lslash ł Eth Ð eth ð Thorn Þ " +
		"thorn þ germandbls ß dotlessi ı Aacute Á Eacute É Iacute Í Oacute Ó Uacute Ú Yacute Ý aacute á eacute é iacute í oacute ó " +
		"uacute ú yacute ý Cacute Ć cacute ć Nacute Ń nacute ń Sacute Ś sacute ś Zacute Ź zacute ź Agrave À Egrave È Igrave Ì " +
		"Ograve Ò Ugrave Ù agrave à egrave è igrave ì ograve ò ugrave ù Acircumflex Â Ecircumflex Ê Icircumflex Î Ocircumflex Ô " +
		"Ucircumflex Û acircumflex â ecircumflex ê icircumflex î ocircumflex ô ucircumflex û Adieresis Ä Edieresis Ë Idieresis Ï " +
		"Odieresis Ö Udieresis Ü Ydieresis Ÿ adieresis ä edieresis ë idieresis ï odieresis ö udieresis ü ydieresis ÿ Atilde Ã " +
		"Ntilde Ñ Otilde Õ atilde ã ntilde ñ otilde õ Ccaron Č Dcaron Ď Ecaron Ě Ncaron Ň Rcaron Ř Scaron Š Tcaron Ť Zcaron Ž " +
		"ccaron č dcaron ď ecaron ě ncaron ň rcaron ř scaron š tcaron ť zcaron ž Ccedilla Ç ccedilla ç Scedilla Ş scedilla ş Aring Å " +
		"aring å Uring Ů uring ů Aogonek Ą aogonek ą Eogonek Ę eogonek ę Abreve Ă abreve ă Gbreve Ğ gbreve ğ Ohungarumlaut Ő " +
		"ohungarumlaut ő Uhungarumlaut Ű uhungarumlaut ű Idotaccent İ Zdotaccent Ż zdotaccent ż Amacron Ā amacron ā Emacron Ē " +
		"emacron ē Imacron Ī imacron ī Omacron Ō omacron ō Umacron Ū umacron ū "
	if n == "space" {
		return " "
	}
	if i := strings.Index(names, " "+n+" "); i >= 0 {
		s, _, _ := strings.Cut(names[i+len(n)+2:], " ")
		return s
	}
	return ""
}

// standard are the codes that mean something else, in Adobe's standard encoding, than in ASCII. Fonts of
// Type 1 have it, unless they say something else.
func standard() map[int]string {
	return map[int]string{
		0x27: "’", 0x60: "‘", 0xa1: "¡", 0xa2: "¢", 0xa3: "£", 0xa4: "⁄", 0xa5: "¥", 0xa6: "ƒ",
		0xa7: "§", 0xa8: "¤", 0xa9: "'", 0xaa: "“", 0xab: "«", 0xac: "‹", 0xad: "›", 0xae: "fi",
		0xaf: "fl", 0xb1: "–", 0xb2: "†", 0xb3: "‡", 0xb4: "·", 0xb6: "¶", 0xb7: "•", 0xb8: "‚",
		0xb9: "„", 0xba: "”", 0xbb: "»", 0xbc: "…", 0xbd: "‰", 0xbf: "¿", 0xc1: "`", 0xc2: "´",
		0xc3: "ˆ", 0xc4: "˜", 0xc5: "¯", 0xc6: "˘", 0xc7: "˙", 0xc8: "¨", 0xca: "˚", 0xcb: "¸",
		0xcd: "˝", 0xce: "˛", 0xcf: "ˇ", 0xd0: "—", 0xe1: "Æ", 0xe3: "ª", 0xe8: "Ł", 0xe9: "Ø",
		0xea: "Œ", 0xeb: "º", 0xf1: "æ", 0xf5: "ı", 0xf8: "ł", 0xf9: "ø", 0xfa: "œ", 0xfb: "ß",
	}
}
