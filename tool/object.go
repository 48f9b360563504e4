package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// member is one name and value of a JSON object. The value is left out of the object if it is nil.
type member struct {
	name  string
	value jsontext.Value
}

var (
	errNotObject = errors.New("must be a JSON object")
	errSyntax    = errors.New("are not valid JSON")
)

// checkJSON says what is wrong with JSON text: syntax, encoding, names that occur twice.
func checkJSON(text []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	switch err := d.SkipValue(); {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	}
	if err := d.SkipValue(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the value")
	}
	return nil
}

// members splits a JSON object whose syntax was checked before; of other text it makes some error or
// some members, but reads nothing outside of it. The values lie in object.
func members(object []byte) ([]member, error) {
	s := skipSpace(object)
	if len(s) == 0 || s[0] != '{' {
		return nil, errNotObject
	}
	if s = skipSpace(s[1:]); len(s) > 0 && s[0] == '}' {
		return nil, nil
	}
	var ms []member
	for {
		m, rest, err := splitMember(s)
		if err != nil {
			return nil, err
		}
		ms = append(ms, m)
		switch {
		case len(rest) > 0 && rest[0] == ',':
			s = skipSpace(rest[1:])
		case len(rest) > 0 && rest[0] == '}':
			return ms, nil
		default:
			return nil, errSyntax
		}
	}
}

// splitMember splits one member from s, and the space around it.
func splitMember(s []byte) (m member, rest []byte, err error) {
	n := valueLen(s)
	name, err := jsontext.AppendUnquote(nil, s[:n])
	if err != nil {
		return m, nil, errSyntax
	}
	s = skipSpace(s[n:])
	if len(s) == 0 || s[0] != ':' {
		return m, nil, errSyntax
	}
	s = skipSpace(s[1:])
	if n = valueLen(s); n == 0 {
		return m, nil, errSyntax
	}
	return member{name: string(name), value: s[:n]}, skipSpace(s[n:]), nil
}

func skipSpace(s []byte) []byte { return bytes.TrimLeft(s, " \t\r\n") }

// valueLen returns the length of the value that s starts with, or 0.
func valueLen(s []byte) int {
	switch {
	case len(s) == 0:
		return 0
	case s[0] == '"':
		return stringLen(s)
	case s[0] == '{', s[0] == '[':
		return nestedLen(s)
	}
	if n := bytes.IndexAny(s, ",]}: \t\r\n\""); n >= 0 {
		return n
	}
	return len(s)
}

// stringLen looks for the quote that ends a string: one after an even number of backslashes.
func stringLen(s []byte) int {
	for i := 1; ; i++ {
		n := bytes.IndexByte(s[i:], '"')
		if n < 0 {
			return 0
		}
		i += n
		if body := s[1:i]; (len(body)-len(bytes.TrimRight(body, "\\")))%2 == 0 {
			return i + 1
		}
	}
}

func nestedLen(s []byte) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			n := stringLen(s[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// join is the reverse of members.
func join(ms []member) json.RawMessage {
	out := []byte{'{'}
	for _, m := range ms {
		if m.value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(appendString(out, m.name), ':')
		out = append(out, m.value...)
	}
	return append(out, '}')
}

// appendString appends s as a JSON string. What is not UTF-8 in it becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	out, err := jsontext.AppendQuote(dst, strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil { // it fails on invalid UTF-8 alone
		return append(dst, '"', '"')
	}
	return out
}
