// Package keep applies a backend.Keep on the host, for output that comes whole.
package keep

import (
	"bytes"
	"io"

	"github.com/hermes-exec/hermes-exec/backend"
)

// inMemory is how many bytes of a tail are kept in memory. More goes to a file.
const inMemory = 1 << 20

// Writer passes on the first bytes of a stream as they come and the last ones at its end. What lies
// between it counts. It is not safe for concurrent use.
type Writer struct {
	w      io.Writer
	keep   *backend.Keep
	total  int64
	sent   int64
	tail   []byte // at most twice what is kept, so that a byte is moved rarely
	ring   *ring  // instead of tail, if that is large
	noRing bool   // there is no room for one
	err    error
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
	kept := k.flushRing()
	if k.keep != nil {
		k.tail = last(k.tail, k.keep.Tail)
	}
	if len(k.tail) > 0 {
		k.pass(k.tail)
	}
	kept += int64(len(k.tail))
	return backend.Counts{Total: k.total, Omitted: k.total - k.sent - kept}, k.err
}

// flushRing passes on what the ring has, and how much that is.
func (k *Writer) flushRing() int64 {
	if k.ring == nil {
		return 0
	}
	r := k.ring
	k.ring = nil
	defer func() { _ = r.f.Close() }()
	if k.err == nil {
		_, k.err = io.Copy(k.w, r.reader(0))
	}
	return r.held()
}

func (k *Writer) pass(p []byte) {
	if k.err == nil {
		_, k.err = k.w.Write(p)
	}
}

func (k *Writer) remember(p []byte) {
	size := k.keep.Tail
	if k.ring == nil && !k.noRing && size > inMemory && len(k.tail)+len(p) > inMemory {
		k.startRing()
	}
	if k.ring != nil {
		if k.ring.write(p) == nil {
			return
		}
		k.leaveRing(int64(len(p)))
	}
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

// startRing moves the tail to a file, if there is room for one.
func (k *Writer) startRing() {
	r, err := newRing(k.keep.Tail, k.tail)
	if err != nil {
		k.noRing = true
		return
	}
	k.ring, k.tail = r, nil
}

// leaveRing moves the tail back, because the file takes no more. The oldest bytes, lost by the write
// that failed, are those that would have to go for it anyway.
func (k *Writer) leaveRing(more int64) {
	r := k.ring
	k.ring, k.noRing = nil, true
	var back bytes.Buffer
	lost := max(0, r.held()+more-r.size)
	_, err := back.ReadFrom(r.reader(lost))
	k.tail = back.Bytes()
	if err != nil && k.err == nil {
		k.err = err
	}
	_ = r.f.Close()
}

func last(p []byte, size int64) []byte { return p[max(0, int64(len(p))-size):] }
