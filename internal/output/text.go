package output

import (
	"bytes"
	"regexp"
	"sync"
	"unicode/utf8"
)

// escapes are the sequences that steer a terminal: CSI, OSC, the other strings, and the short ones.
// A string without an end is not allowed to swallow the rest of a text: then only its ESC goes.
//
//nolint:gochecknoglobals // Compiled when it is needed: every start would pay for it.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]` +
		`|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)` +
		`|\x1b[PX^_][^\x1b\n]*\x1b\\` +
		`|\x1b[ -/]*[0-OQ-WYZ\\` + "`" + `-~]` +
		`|\x1b`)
})

// StripEscapes removes the sequences that steer a terminal.
func StripEscapes(text string) string { return escapes().ReplaceAllString(text, "") }

// escapeSpans finds the escape sequences in p.
func escapeSpans(p []byte) []span {
	if bytes.IndexByte(p, 0x1b) < 0 && !bytes.Contains(p, []byte("\u009b")) {
		return nil
	}
	var found []span
	for _, at := range escapes().FindAllIndex(p, -1) {
		found = append(found, span{at[0], at[1]})
	}
	return found
}

// render turns the bytes [from, to) of raw into text: without escape sequences, with secrets masked,
// valid UTF-8. The bytes around them tell what a secret or a sequence is that the cut goes through:
// of a secret the mask remains, of a sequence nothing.
func render(raw []byte, from, to int, s *Secrets) string {
	raw, from, to = replace(raw, from, to, escapeSpans(raw), "")
	raw, from, to = replace(raw, from, to, s.spans(raw), mask)
	return Valid(raw[from:to])
}

// replace puts with in place of every span of raw, and tells where the range [from, to) is then. A
// span that crosses an end of the range is drawn into it.
func replace(raw []byte, from, to int, spans []span, with string) (out []byte, newFrom, newTo int) {
	if len(spans) == 0 {
		return raw, from, to
	}
	out = make([]byte, 0, len(raw))
	at := 0
	newFrom, newTo = -1, -1
	place := func(until, next int) { // [at, until) of raw stays, [until, next) is replaced
		if newFrom < 0 && from < next {
			newFrom = len(out) + min(from, until) - at
		}
		if newTo < 0 && to <= until {
			newTo = len(out) + to - at
		}
		out = append(append(out, raw[at:until]...), with...)
		if newTo < 0 && to < next {
			newTo = len(out)
		}
		at = next
	}
	for _, s := range spans {
		place(s.from, s.to)
	}
	with = ""
	place(len(raw), len(raw)+1)
	return out, newFrom, newTo
}

// Valid returns p as valid UTF-8. Like Python's "replace" it puts one U+FFFD in place of each maximal
// part of a character that is not whole, and of each byte that can be no part of one.
func Valid(p []byte) string {
	if utf8.Valid(p) {
		return string(p)
	}
	return string(appendValid(make([]byte, 0, len(p)+len(p)/8), p))
}

// appendValid appends p to dst as Valid describes.
func appendValid(dst, p []byte) []byte {
	if utf8.Valid(p) {
		return append(dst, p...)
	}
	for len(p) > 0 {
		r, size := utf8.DecodeRune(p)
		if r == utf8.RuneError && size == 1 {
			size = broken(p)
			dst = utf8.AppendRune(dst, utf8.RuneError)
		} else {
			dst = append(dst, p[:size]...)
		}
		p = p[size:]
	}
	return dst
}

// broken returns the length of the part of a character, or of the stray byte, that p begins with.
func broken(p []byte) int {
	for n := min(len(p), utf8.UTFMax-1); n > 1; n-- {
		if !utf8.FullRune(p[:n]) {
			return n
		}
	}
	return 1
}

// unfinished returns how many bytes at the end of p begin a character that is not whole yet.
func unfinished(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if end := p[len(p)-n:]; utf8.RuneStart(end[0]) {
			if utf8.FullRune(end) {
				return 0
			}
			return n
		}
	}
	return 0
}

// character returns the bounds of the character of p that a cut at i would split, or i, i.
func character(p []byte, i int) (from, to int) {
	if i <= 0 || i >= len(p) || utf8.RuneStart(p[i]) {
		return i, i
	}
	for from = i - 1; from >= 0 && i-from < utf8.UTFMax; from-- {
		if utf8.RuneStart(p[from]) {
			if _, size := utf8.DecodeRune(p[from:]); from+size > i {
				return from, from + size
			}
			break
		}
	}
	return i, i
}

// decoder turns a stream of bytes into valid UTF-8, whole characters at a time.
type decoder struct{ held, buf []byte }

// next returns what of the stream is complete with p. It may be p itself, and is good until the next
// call.
func (d *decoder) next(p []byte) []byte {
	if len(d.held) > 0 {
		p = append(d.held, p...)
		d.held = nil
	}
	if utf8.Valid(p) {
		return p
	}
	n := len(p) - unfinished(p)
	d.held = append(d.held, p[n:]...)
	d.buf = appendValid(trim(d.buf), p[:n])
	return d.buf
}

// flush returns what was held back.
func (d *decoder) flush() []byte {
	rest := appendValid(nil, d.held)
	d.held = nil
	return rest
}
