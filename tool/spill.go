package tool

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"unicode/utf8"
)

// What follows is read_file for files that lie on the host, which may have no Python. It does what
// python/hermes/files.py does, for UTF-8 alone: spill files are written by us.

const (
	maxContent = 10 << 20 // bytes of content, as there
	maxCounted = 64 << 20 // bytes of a file whose lines are counted to the end, as there
	maxSpill   = 32 << 20 // bytes of a spill that can be searched
)

// openSpill opens a regular file on the host, and nothing else.
func openSpill(name string) (*os.File, error) {
	before, err := os.Lstat(name)
	if err == nil && !before.Mode().IsRegular() {
		err = fmt.Errorf("%s: is not a regular file", name)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(before, info) { // a symlink, or a FIFO, was put in its place
		err = fmt.Errorf("%s: was replaced while it was opened", name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readSpill returns a window of the lines of a spill.
func readSpill(name string, offset, limit int64) (readResult, error) {
	f, err := openSpill(name)
	if err != nil {
		return readResult{}, err
	}
	defer f.Close()
	w := window{first: offset, limit: limit, line: 1}
	if err := w.read(f); err != nil {
		return readResult{}, fmt.Errorf("%s: %w", name, err)
	}
	return w.result()
}

// spillText returns the whole text of a spill.
func spillText(name string) (string, error) {
	f, err := openSpill(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSpill+1))
	switch {
	case err != nil:
		return "", err
	case len(data) > maxSpill:
		return "", fmt.Errorf("%s: is larger than %d bytes; page through it with read_file", name, maxSpill)
	}
	return string(bytes.ToValidUTF8(data, []byte("\uFFFD"))), nil
}

// window collects lines.
type window struct {
	first, limit int64 // the first line and how many
	line         int64 // the line that the next byte belongs to
	content      []byte
	seen         int64
	after        bool // there is text behind the window
	full         bool // the window was cut by size
	open         bool // the text ends without a line break
	uncounted    bool
}

func (w *window) read(r io.Reader) error {
	br := bufio.NewReaderSize(r, 1<<16)
	for !w.uncounted {
		part, err := br.ReadSlice('\n')
		w.take(part)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
	return nil
}

// take looks at a line or a part of one.
func (w *window) take(part []byte) {
	if len(part) == 0 {
		return
	}
	w.seen += int64(len(part))
	if w.line >= w.first {
		w.keep(part)
	}
	w.open = part[len(part)-1] != '\n'
	if !w.open {
		w.line++
	}
	w.uncounted = w.after && w.seen > maxCounted
}

func (w *window) keep(part []byte) {
	switch room := maxContent - len(w.content); {
	case w.full || w.line-w.first >= w.limit:
		w.after = true
	case len(part) > room:
		w.content = append(w.content, part[:room]...)
		w.full, w.after = true, true
	default:
		w.content = append(w.content, part...)
	}
}

func (w *window) result() (readResult, error) {
	if w.full {
		w.cut()
	}
	if !utf8.Valid(w.content) {
		return readResult{}, errors.New("is not UTF-8 text")
	}
	r := readResult{Content: string(w.content), Truncated: w.after, Encoding: "utf-8"}
	if !w.uncounted {
		total := w.line - 1
		if w.open {
			total++
		}
		r.TotalLines = &total
	}
	if w.after {
		taken := int64(bytes.Count(w.content, []byte("\n")))
		next := w.first + max(taken, 1) // the rest of a line that is too long is passed over
		r.NextOffset = &next
	}
	return r, nil
}

// cut ends the content behind its last whole line; of one huge line it keeps the start.
func (w *window) cut() {
	if i := bytes.LastIndexByte(w.content, '\n'); i >= 0 {
		w.content = w.content[:i+1]
		return
	}
	w.content = trimRune(w.content)
}

// trimRune takes a character off that is not whole.
func trimRune(b []byte) []byte {
	for i := 1; i <= utf8.UTFMax && i <= len(b); i++ {
		if start := len(b) - i; utf8.RuneStart(b[start]) {
			if !utf8.FullRune(b[start:]) {
				return b[:start]
			}
			return b
		}
	}
	return b
}
