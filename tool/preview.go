package tool

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// previewLen is the length of the args preview of events and traces, in characters.
const previewLen = 80

// preview shows the arguments of a call on one line of at most previewLen whole characters. Of a
// long text only the start is looked at.
func preview(args []byte) string {
	var b strings.Builder
	inString, n := false, 0
	for len(args) > 0 && n <= previewLen {
		text, size := previewToken(args, inString)
		if args[0] == '"' {
			inString = !inString
		}
		b.WriteString(text)
		n += utf8.RuneCountInString(text)
		args = args[size:]
	}
	return oneLine(b.String(), previewLen)
}

// previewToken returns what to show of the first character or escape of JSON text, and how long that
// is there. Python's json escapes all but ASCII: such escapes are shown as the characters they mean.
func previewToken(s []byte, inString bool) (string, int) {
	if !inString || s[0] != '\\' {
		r, size := utf8.DecodeRune(s)
		if !inString && unicode.IsSpace(r) {
			return "", size
		}
		return string(r), size
	}
	r, size := hexEscape(s)
	if low, n := hexEscape(s[size:]); n > 0 && utf16.IsSurrogate(r) {
		r, size = utf16.DecodeRune(r, low), size+n
	}
	if size > 0 && unicode.IsPrint(r) && r != '"' && r != '\\' {
		return string(r), size
	}
	size = min(max(size, 2), len(s))
	return string(s[:size]), size
}

// hexEscape reads \uXXXX and returns its length, which is 0 if s does not start with one.
func hexEscape(s []byte) (rune, int) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, 0
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	if err != nil {
		return 0, 0
	}
	return rune(n), 6
}

// oneLine shortens s to limit characters, the last of them an ellipsis if something was cut, and
// replaces what would break a line or a terminal.
func oneLine(s string, limit int) string {
	var b strings.Builder
	n := 0
	for i, r := range s {
		if n == limit-1 && utf8.RuneCountInString(s[i:]) > 1 {
			b.WriteRune('…')
			break
		}
		if !unicode.IsPrint(r) {
			r = unicode.ReplacementChar
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}
