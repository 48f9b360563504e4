package kernel

import (
	"io"
	"sync"

	"github.com/hermes-exec/hermes-exec/backend"
)

// maxLate bounds what is remembered of the output between two cells, in bytes. Of more than that
// the end is kept.
const maxLate = 256 << 10

// outlet is where a kernel's stdout or stderr goes: to the cell that runs. What comes while none
// does joins the next one, for a thread that prints late is a thread of the session.
type outlet struct {
	mu    sync.Mutex
	cell  io.Writer // nil: no cell runs
	keep  *backend.Keep
	sent  int64 // bytes that the cell got live
	tail  []byte
	total int64
	late  []byte
}

// Write never fails: a cell's writer that does is its owner's business, and must not stop the kernel.
func (o *outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cell == nil {
		o.late = lastBytes(append(o.late, p...), maxLate)
		return len(p), nil
	}
	o.pass(p)
	return len(p), nil
}

// attach gives the output to a cell until detach.
func (o *outlet) attach(w io.Writer, keep *backend.Keep) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w == nil {
		w = io.Discard
	}
	o.cell, o.keep = w, keep
	o.sent, o.total, o.tail = 0, 0, nil
	o.pass(o.late)
	o.late = nil
}

// detach ends the cell's output and counts it.
func (o *outlet) detach() backend.Counts {
	o.mu.Lock()
	defer o.mu.Unlock()
	counts := backend.Counts{Total: o.total, Omitted: o.total - o.sent - int64(len(o.tail))}
	if len(o.tail) > 0 {
		_, _ = o.cell.Write(o.tail)
	}
	o.cell, o.tail = nil, nil
	return counts
}

// text is what was printed outside any cell.
func (o *outlet) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.late)
}

func (o *outlet) pass(p []byte) {
	o.total += int64(len(p))
	head := p
	if o.keep != nil {
		head = p[:min(int64(len(p)), max(0, o.keep.Head-o.sent))]
	}
	if len(head) > 0 {
		o.sent += int64(len(head))
		_, _ = o.cell.Write(head)
	}
	if rest := p[len(head):]; len(rest) > 0 {
		o.tail = lastBytes(append(o.tail, rest...), int(o.keep.Tail))
	}
}

// lastBytes returns the end of p.
func lastBytes(p []byte, size int) []byte { return p[max(0, len(p)-size):] }
