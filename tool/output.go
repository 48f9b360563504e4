package tool

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hermes-exec/hermes-exec/internal/tempfile"
)

const (
	inMemory = 1 << 20  // bytes of an output that are kept in memory; what comes before is in a file
	block    = 64 << 10 // bytes of an output that are looked at together
)

// scratchName returns a name that nobody can guess.
func scratchName(prefix string) string { return prefix + "-" + rand.Text() }

// output collects what a command prints. Many commands at once may print much, and wait for room to
// reply: what is long is in a file without a name, as far as there is room for one. A command that
// could not be killed may still print when its output is taken.
type output struct {
	mu     sync.Mutex
	file   *tempfile.File // nil: everything is in memory
	filed  int64          // bytes in file
	data   []byte         // what follows
	noFile bool           // the file takes no more
	closed bool
}

// Write never fails.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return len(p), nil
	}
	if len(o.data)+len(p) > inMemory && !o.noFile {
		o.noFile = o.flush() != nil
	}
	o.data = append(o.data, p...)
	return len(p), nil
}

// flush moves what is in memory to the file.
func (o *output) flush() error {
	if o.file == nil {
		f, err := tempfile.New()
		if err != nil {
			return err
		}
		o.file = f
	}
	if _, err := o.file.WriteAt(o.data, o.filed); err != nil {
		return err
	}
	o.filed += int64(len(o.data))
	o.data = o.data[:0]
	return nil
}

// ReadAt reads from both places.
func (o *output) ReadAt(p []byte, at int64) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	if at < o.filed {
		var err error
		if n, err = o.file.ReadAt(p[:min(int64(len(p)), o.filed-at)], at); err != nil {
			return n, err
		}
	}
	n += copy(p[n:], o.data[max(0, min(at+int64(n)-o.filed, int64(len(o.data)))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// take returns what was printed; omitted is how much did not come, between head and tail.
func (o *output) take(omitted int64) ends {
	o.mu.Lock()
	defer o.mu.Unlock()
	size := o.filed + int64(len(o.data))
	if omitted == 0 || size < keepHead {
		return ends{src: o, head: span{0, size}, tail: span{size, size}, omitted: omitted}
	}
	return ends{src: o, head: span{0, keepHead}, tail: span{keepHead, size}, omitted: omitted}
}

// close gives back the file. Whatever is still printed is lost.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.file != nil {
		_ = o.file.Close()
	}
}

// span is a part of an output, in bytes.
type span struct{ from, to int64 }

func (s span) size() int64 { return s.to - s.from }

// ends is what is there of an output: all of it, or its head and its tail.
type ends struct {
	src        io.ReaderAt
	head, tail span
	omitted    int64 // bytes between them
}

func (e ends) size() int64 { return e.head.size() + e.tail.size() }

// cut keeps a part of what is there, from both ends.
func (e ends) cut(part float64) ends {
	keep := int64(float64(e.size()) * part)
	head := min(keep/5*2, e.head.size())
	last := e.tail
	if last.size() == 0 {
		last = span{e.head.from + head, e.head.to}
	}
	tail := min(keep-head, last.size())
	return ends{
		src:     e.src,
		head:    span{e.head.from, e.head.from + head},
		tail:    span{last.to - tail, last.to},
		omitted: e.omitted + e.size() - head - tail,
	}
}

// whole leaves out the parts of characters that stand where something is missing.
func (e ends) whole() (ends, error) {
	if e.omitted == 0 {
		return e, nil
	}
	var b [utf8.UTFMax]byte
	before := e.size()
	last, err := e.read(b[:min(utf8.UTFMax, e.head.size())], max(e.head.from, e.head.to-utf8.UTFMax))
	if err != nil {
		return e, err
	}
	e.head.to -= int64(len(last) - len(trimRune(last)))
	first, err := e.read(b[:min(utf8.UTFMax-1, e.tail.size())], e.tail.from)
	if err != nil {
		return e, err
	}
	for len(first) > 0 && !utf8.RuneStart(first[0]) {
		first = first[1:]
		e.tail.from++
	}
	e.omitted += before - e.size()
	return e, nil
}

// read fills p.
func (e ends) read(p []byte, at int64) ([]byte, error) {
	n, err := e.src.ReadAt(p, at)
	if n == len(p) {
		err = nil
	}
	return p[:n], err
}

// errTooLong says that a text does not fit.
var errTooLong = errors.New("the text is too long")

// appendTo appends the output as a JSON string, with a note where something is missing. Each byte
// that is not UTF-8 becomes U+FFFD. It stops with errTooLong where dst would be longer than limit.
func (e ends) appendTo(dst []byte, limit int) ([]byte, error) {
	dst = append(dst, '"')
	for part, err := range e.quoted() {
		if err != nil {
			return dst, err
		}
		if len(dst)+len(part)+1 > limit {
			return dst, errTooLong
		}
		dst = append(dst, part...)
	}
	return append(dst, '"'), nil
}

// quotedLen is how long appendTo makes an empty dst.
func (e ends) quotedLen() (int64, error) {
	n := int64(2)
	for part, err := range e.quoted() {
		if err != nil {
			return 0, err
		}
		n += int64(len(part))
	}
	return n, nil
}

// quoted yields the output as pieces of a JSON string, which are valid until the next one.
func (e ends) quoted() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var quoted []byte
		for part, err := range e.parts() {
			// The error would say what is no UTF-8, and that has been replaced.
			quoted, _ = jsontext.AppendQuote(quoted[:0], part)
			if !yield(quoted[1:len(quoted)-1], err) {
				return
			}
		}
	}
}

// parts yields the output in pieces that do not split characters.
func (e ends) parts() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		e, err := e.whole()
		if err != nil {
			yield(nil, err)
			return
		}
		buf := make([]byte, min(block, max(e.head.size(), e.tail.size())))
		if !e.each(e.head, buf, yield) || e.omitted == 0 {
			return
		}
		if yield(fmt.Appendf(nil, "\n[... %d bytes omitted ...]\n", e.omitted), nil) {
			e.each(e.tail, buf, yield)
		}
	}
}

// each yields a span. It returns false if no more is wanted.
func (e ends) each(s span, buf []byte, yield func([]byte, error) bool) bool {
	for s.size() > 0 {
		part, err := e.read(buf[:min(int64(len(buf)), s.size())], s.from)
		if err != nil {
			yield(nil, err)
			return false
		}
		if int64(len(part)) < s.size() {
			if trimmed := trimRune(part); len(trimmed) > 0 {
				part = trimmed
			}
		}
		s.from += int64(len(part))
		if !yield(part, nil) {
			return false
		}
	}
	return true
}
