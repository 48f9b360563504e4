package tool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// fileText is the text of a file and how it stood there.
type fileText struct {
	mark  string    // the byte-order mark
	order byteOrder // of UTF-16; nil is UTF-8
	body  string    // the text behind the mark
}

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// decodeText reads UTF-8, and UTF-16 with a byte-order mark. What does not decode exactly, so that
// it could not be written back, is an error.
func decodeText(data []byte) (fileText, error) {
	t := fileText{}
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(data, []byte("\x00\x00\xfe\xff")):
		return t, errors.New("is UTF-32 text, which cannot be patched")
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		t.order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		t.order = binary.BigEndian
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		t.mark = "\xef\xbb\xbf"
	}
	if t.order != nil {
		t.mark = string(data[:2])
		return t, t.decodeUTF16(data[2:])
	}
	if !utf8.Valid(data) {
		return t, errors.New("is not UTF-8 text")
	}
	t.body = string(data[len(t.mark):])
	return t, nil
}

func (t *fileText) decodeUTF16(data []byte) error {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = t.order.Uint16(data[2*i:])
	}
	t.body = string(utf16.Decode(units))
	if len(data)%2 != 0 || !bytes.Equal(t.units(t.body), data) {
		return errors.New("is not UTF-16 text, though it starts with its byte-order mark")
	}
	return nil
}

func (t *fileText) units(text string) []byte {
	var data []byte
	for _, u := range utf16.Encode([]rune(text)) {
		data = t.order.AppendUint16(data, u)
	}
	return data
}

// encode returns text in the form that the file had.
func (t *fileText) encode(text string) io.Reader {
	if t.order == nil {
		return strings.NewReader(t.mark + text)
	}
	return io.MultiReader(strings.NewReader(t.mark), bytes.NewReader(t.units(text)))
}
