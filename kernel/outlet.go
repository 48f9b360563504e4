package kernel

import (
	"io"
	"sync"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/keep"
)

// maxLate bounds what is remembered of the output between two cells, in bytes. Of more than that
// the end is kept.
const maxLate = 256 << 10

// outlet is where a kernel's stdout or stderr goes: to the cell that runs. What comes while none
// does joins the next one, for a thread that prints late is a thread of the session.
type outlet struct {
	mu   sync.Mutex
	cell *keep.Writer // nil: no cell runs
	late []byte
}

var _ io.Writer = (*outlet)(nil)

// Write never fails: a cell's writer that does is its owner's business, and must not stop the kernel.
func (o *outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cell != nil {
		return o.cell.Write(p)
	}
	o.late = append(o.late, p...)
	o.late = o.late[max(0, len(o.late)-maxLate):]
	return len(p), nil
}

// attach gives the output to a cell until detach.
func (o *outlet) attach(w io.Writer, k *backend.Keep) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cell = keep.New(w, k)
	_, _ = o.cell.Write(o.late)
	o.late = nil
}

// detach ends the cell's output and counts it.
func (o *outlet) detach() backend.Counts {
	o.mu.Lock()
	defer o.mu.Unlock()
	counts, _ := o.cell.Close() // its writer's errors are its owner's business
	o.cell = nil
	return counts
}

// text is what was printed outside any cell.
func (o *outlet) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.late)
}
