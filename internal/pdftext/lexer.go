package pdftext

import (
	"bytes"
	"encoding/hex"
	"strconv"
)

// The values of a document. Numbers are float64, strings are text, and null is nil.
type (
	name    string
	text    string // a string, as bytes
	keyword string
	array   []any
	dict    map[name]any
	ref     int // the number of an object; generations are of no use to a reader
)

const (
	maxDepth = 50      // of arrays and dictionaries in each other
	maxItems = 1 << 16 // of one of them; further ones are dropped
)

// lexer reads values. Of what is malformed it makes something, and always goes on.
type lexer struct {
	data []byte
	pos  int
	refs bool // "1 0 R" is a reference, which it is not in a content stream
}

func space(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func delimiter(c byte) bool { return bytes.IndexByte([]byte("()<>[]{}/%"), c) >= 0 }

func (l *lexer) skipSpace() {
	for l.pos < len(l.data) {
		switch c := l.data[l.pos]; {
		case space(c):
			l.pos++
		case c == '%':
			for l.pos < len(l.data) && l.data[l.pos] != '\n' && l.data[l.pos] != '\r' {
				l.pos++
			}
		default:
			return
		}
	}
}

// closing ends arrays and dictionaries.
const (
	endArray keyword = "]"
	endDict  keyword = ">>"
)

// value reads the next value; ok is false at the end.
func (l *lexer) value(depth int) (v any, ok bool) {
	l.skipSpace()
	if l.pos >= len(l.data) {
		return nil, false
	}
	rest := l.data[l.pos:]
	switch c := rest[0]; {
	case c == '/':
		l.pos++
		return l.name(), true
	case c == '(':
		l.pos++
		return l.literal(), true
	case bytes.HasPrefix(rest, []byte("<<")):
		l.pos += 2
		return l.dict(depth + 1), true
	case bytes.HasPrefix(rest, []byte(">>")):
		l.pos += 2
		return endDict, true
	case c == '<':
		l.pos++
		return l.hex(), true
	case c == '[':
		l.pos++
		return l.array(depth + 1), true
	case delimiter(c):
		l.pos++
		return keyword(c), true
	}
	return l.word(), true
}

// token reads up to white space or a delimiter.
func (l *lexer) token() []byte {
	start := l.pos
	for l.pos < len(l.data) && !space(l.data[l.pos]) && !delimiter(l.data[l.pos]) {
		l.pos++
	}
	return l.data[start:l.pos]
}

// word reads a number, a reference or a keyword.
func (l *lexer) word() any {
	w := string(l.token())
	n, err := strconv.ParseFloat(w, 64)
	if err != nil || w[0] > '9' { // Inf and NaN are words
		switch w {
		case "true":
			return true
		case "false":
			return false
		case "null":
			return nil
		}
		return keyword(w)
	}
	if l.refs && n >= 0 && n == float64(int(n)) {
		if at, ok := l.refEnd(); ok {
			l.pos = at
			return ref(int(n))
		}
	}
	return n
}

// refEnd tells whether a generation and R follow, and where they end.
func (l *lexer) refEnd() (int, bool) {
	ahead := lexer{data: l.data[:min(len(l.data), l.pos+16)], pos: l.pos}
	ahead.skipSpace()
	for _, c := range ahead.token() {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	ahead.skipSpace()
	isRef := string(ahead.token()) == "R"
	return ahead.pos, isRef
}

func (l *lexer) name() name {
	raw := l.token()
	if bytes.IndexByte(raw, '#') < 0 {
		return name(raw)
	}
	var out []byte
	for i := 0; i < len(raw); i++ {
		if raw[i] == '#' && i+2 < len(raw) {
			if b, err := hex.DecodeString(string(raw[i+1 : i+3])); err == nil {
				out = append(out, b...)
				i += 2
				continue
			}
		}
		out = append(out, raw[i])
	}
	return name(out)
}

func (l *lexer) hex() text {
	end := bytes.IndexByte(l.data[l.pos:], '>')
	if end < 0 {
		end = len(l.data) - l.pos
	}
	digits := make([]byte, 0, end)
	for _, c := range l.data[l.pos : l.pos+end] {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' {
			digits = append(digits, c)
		}
	}
	l.pos = min(l.pos+end+1, len(l.data))
	if len(digits)%2 == 1 {
		digits = append(digits, '0')
	}
	out, _ := hex.DecodeString(string(digits)) // there is nothing else in it
	return text(out)
}

// literal reads a string in parentheses.
func (l *lexer) literal() text {
	var out []byte
	for depth := 1; l.pos < len(l.data); {
		c := l.data[l.pos]
		l.pos++
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return text(out)
			}
		case '\\':
			out = l.escape(out)
			continue
		}
		out = append(out, c)
	}
	return text(out)
}

// escape reads what follows a backslash.
func (l *lexer) escape(out []byte) []byte {
	if l.pos >= len(l.data) {
		return out
	}
	c := l.data[l.pos]
	l.pos++
	if i := bytes.IndexByte([]byte("nrtbf"), c); i >= 0 {
		return append(out, "\n\r\t\b\f"[i])
	}
	switch {
	case c == '\r':
		if l.pos < len(l.data) && l.data[l.pos] == '\n' {
			l.pos++
		}
		return out
	case c == '\n':
		return out
	case c < '0' || c > '7':
		return append(out, c)
	}
	n := int(c - '0')
	for i := 0; i < 2 && l.pos < len(l.data) && l.data[l.pos] >= '0' && l.data[l.pos] <= '7'; i++ {
		n = n*8 + int(l.data[l.pos]-'0')
		l.pos++
	}
	return append(out, byte(n))
}

func (l *lexer) array(depth int) array {
	var a array
	for depth <= maxDepth { // what is deeper falls apart
		v, ok := l.value(depth)
		if !ok || v == endArray || v == endDict {
			return a
		}
		if len(a) < maxItems {
			a = append(a, v)
		}
	}
	return a
}

func (l *lexer) dict(depth int) dict {
	d := dict{}
	for depth <= maxDepth {
		k, ok := l.value(depth)
		if !ok || k == endDict {
			return d
		}
		key, isName := k.(name)
		if !isName {
			continue
		}
		v, ok := l.value(depth)
		if !ok || v == endDict {
			return d
		}
		if len(d) < maxItems {
			d[key] = v
		}
	}
	return d
}
