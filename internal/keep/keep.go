// Package keep applies a backend.Keep on the host, for output that comes whole.
package keep

import (
	"io"

	"github.com/hermes-exec/hermes-exec/backend"
)

// Writer passes on the first bytes of a stream as they come and the last ones at its end. What lies
// between it counts. It is not safe for concurrent use.
type Writer struct {
	w     io.Writer
	keep  *backend.Keep
	total int64
	sent  int64
	tail  []byte // at most twice what is kept, so that a byte is moved rarely
	err   error
}

// New returns a Writer to w; nil discards. A nil keep passes on everything.
func New(w io.Writer, keep *backend.Keep) *Writer {
	if w == nil {
		w = io.Discard
	}
	return &Writer{w: w, keep: keep}
}

// Write never fails: after an error of the writer behind it, which Close returns, it only counts.
func (k *Writer) Write(p []byte) (int, error) {
	k.total += int64(len(p))
	head := p
	if k.keep != nil {
		head = p[:min(int64(len(p)), max(0, k.keep.Head-k.sent))]
	}
	if len(head) > 0 {
		k.sent += int64(len(head))
		k.pass(head)
	}
	if len(head) < len(p) {
		k.remember(p[len(head):])
	}
	return len(p), nil
}

// Close passes on the end of the stream and tells what there was of it.
func (k *Writer) Close() (backend.Counts, error) {
	if k.keep != nil {
		k.tail = last(k.tail, k.keep.Tail)
	}
	if len(k.tail) > 0 {
		k.pass(k.tail)
	}
	return backend.Counts{Total: k.total, Omitted: k.total - k.sent - int64(len(k.tail))}, k.err
}

func (k *Writer) pass(p []byte) {
	if k.err == nil {
		_, k.err = k.w.Write(p)
	}
}

func (k *Writer) remember(p []byte) {
	size := k.keep.Tail
	if int64(len(p)) >= size {
		k.tail = append(k.tail[:0], last(p, size)...)
		return
	}
	if int64(len(k.tail)+len(p)) > 2*size {
		kept := copy(k.tail, last(k.tail, size))
		k.tail = k.tail[:kept]
	}
	k.tail = append(k.tail, p...)
}

func last(p []byte, size int64) []byte { return p[max(0, int64(len(p))-size):] }
