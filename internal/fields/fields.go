// Package fields is how the host and the guest write down what they tell each other: keys with any
// number of values. Values are bytes, because argv and paths are. It is the Go half of encode and
// decode in python/hermes/frames.py; what carries the fields puts a length around them.
package fields

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
)

// ErrShort means that the fields were cut short.
var ErrShort = errors.New("fields cut short")

// Fields are the values by their keys.
type Fields map[string][]string

// Append appends one field to buf.
func Append(buf []byte, key, value string) []byte {
	buf = binary.BigEndian.AppendUint16(buf, uint16(len(key)))
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(value)))
	buf = append(buf, key...)
	return append(buf, value...)
}

// AppendInt appends one field whose value is a number.
func AppendInt(buf []byte, key string, n int64) []byte {
	return Append(buf, key, strconv.FormatInt(n, 10))
}

// Parse reads fields, and fails with ErrShort.
func Parse(p []byte) (Fields, error) {
	f := Fields{}
	for len(p) > 0 {
		if len(p) < 6 {
			return nil, ErrShort
		}
		k, v := int(binary.BigEndian.Uint16(p)), int(binary.BigEndian.Uint32(p[2:]))
		p = p[6:]
		if v > len(p) || k > len(p)-v {
			return nil, ErrShort
		}
		key := string(p[:k])
		f[key] = append(f[key], string(p[k:k+v]))
		p = p[k+v:]
	}
	return f, nil
}

// Text returns the first value of key, "" if there is none.
func (f Fields) Text(key string) string {
	if v := f[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Int returns the first value of key, 0 for what is absent or no number: the guest is not trusted
// to send one.
func (f Fields) Int(key string) int64 {
	n, err := strconv.ParseInt(f.Text(key), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Pairs returns the values of key that have the form NAME=value, by name.
func (f Fields) Pairs(key string) map[string]string {
	m := make(map[string]string, len(f[key]))
	for _, item := range f[key] {
		if k, v, ok := strings.Cut(item, "="); ok {
			m[k] = v
		}
	}
	return m
}
