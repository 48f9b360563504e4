// Package output takes what a script prints and keeps what a result needs of it: a head and a tail
// of bounded length, exact counts, and a file with the full text.
//
// It knows bytes, characters, terminal escapes and secrets. It does not know who prints.
package output

import (
	"fmt"
	"sync"

	"github.com/hermes-exec/hermes-exec/backend"
)

// sequence is how far around a cut a terminal escape is looked for, in bytes.
const sequence = 256

// Limits bound what a Capture keeps, in bytes.
type Limits struct {
	Inline int64 // of the text in the result; 40 % from the start, the rest from the end
	Spill  int64 // of the file with the full text; 0: none
}

// Capture takes one output stream. It is an io.Writer whose memory does not grow with the stream and
// whose Write never fails. It is safe for concurrent use, but bytes come in the order of its calls.
type Capture struct {
	mu      sync.Mutex
	label   string
	limits  Limits
	secrets *Secrets
	cache   *Cache

	fed      int64 // bytes written to it
	head     []byte
	tail     ring // holds the last bytes of all, those of head included
	spill    *spill
	spillErr error
	done     bool
}

// Text is what a Capture kept.
type Text struct {
	// Text is the stream as text: valid UTF-8, without terminal escapes, secrets masked. If it is
	// truncated a notice stands between head and tail.
	Text      string
	Truncated bool

	Total    int64 // bytes that the process wrote
	Captured int64 // of these, the bytes that Text shows
	Omitted  int64 // and those that it does not

	// SpillPath is the file with the full text, "" if there is none; SpillTruncated says that it
	// ends early. SpillErr is why there is none though one was wanted.
	SpillPath      string
	SpillTruncated bool
	SpillErr       error
}

// NewCapture returns a Capture. Label names the stream in the notice; a nil cache means no spill.
func NewCapture(label string, l Limits, s *Secrets, cache *Cache) *Capture {
	c := &Capture{label: label, limits: l, secrets: s, cache: cache}
	c.tail.size = int(l.Inline) - c.headCap() + c.look()
	if cache == nil {
		c.limits.Spill = 0
	}
	return c
}

// headCap is how many bytes from the start are shown when not all are.
func (c *Capture) headCap() int { return int(c.limits.Inline * 2 / 5) }

// look is how many bytes around a cut must be known to tell what it cuts through.
func (c *Capture) look() int { return max(sequence, c.secrets.longest()) }

// Keep returns how much of the stream must cross to the host for the capture to lose nothing.
func (c *Capture) Keep() backend.Keep {
	return backend.Keep{
		Head: max(int64(c.headCap()), c.limits.Spill, c.limits.Inline) + int64(c.look()),
		Tail: int64(c.tail.size),
	}
}

// Write takes the next bytes. It never fails.
func (c *Capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return len(p), nil // a late writer whose process could not be ended
	}
	if room := c.headCap() + c.look() - len(c.head); room > 0 {
		c.head = append(c.head, p[:min(room, len(p))]...)
	}
	c.spillNext(p)
	c.tail.write(p)
	c.fed += int64(len(p))
	return len(p), nil
}

// spillNext opens the spill when the text gets too long for the result, and feeds it. It is called
// before p is counted and before the tail has it.
func (c *Capture) spillNext(p []byte) {
	if c.limits.Spill == 0 || c.spillErr != nil || c.fed+int64(len(p)) <= c.limits.Inline {
		return
	}
	if c.spill == nil {
		c.spill, c.spillErr = c.cache.create(c.limits.Spill, c.secrets)
		if c.spillErr == nil {
			c.spillErr = c.spill.write(c.all())
		}
	}
	if c.spillErr == nil {
		c.spillErr = c.spill.write(p)
	}
	if c.spillErr != nil && c.spill != nil {
		c.spill.drop()
		c.spill = nil
	}
}

// all returns the stream while it is not longer than Limits.Inline.
func (c *Capture) all() []byte {
	n := min(int(c.fed), c.headCap())
	rest := c.tail.bytes()
	return append(append([]byte(nil), c.head[:n]...), rest[len(rest)-(int(c.fed)-n):]...)
}

// Finish ends the stream and returns what was kept. Omitted is how many bytes the environment kept
// back between the head and the tail of Keep. What is written afterwards is ignored.
func (c *Capture) Finish(omitted int64) Text {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = true
	t := Text{Total: c.fed + omitted, Truncated: c.fed > c.limits.Inline || omitted > 0}
	if !t.Truncated {
		all := c.all()
		t.Text, t.Captured = render(all, 0, len(all), c.secrets), t.Total
		return t
	}
	c.cut(&t, omitted)
	t.SpillErr = c.spillErr
	if c.spill != nil {
		t.SpillPath, t.SpillTruncated, t.SpillErr = c.spill.finish(omitted > 0)
		c.spill = nil
	}
	return t
}

// cut fills in the text of a stream that is too long.
func (c *Capture) cut(t *Text, omitted int64) {
	tail := c.tail.bytes()
	if omitted > 0 { // the bytes before the gap are no context of those behind it
		behind := max(0, c.fed-c.Keep().Head)
		tail = tail[len(tail)-min(len(tail), int(behind)):]
	}
	headEnd, _ := character(c.head, min(c.headCap(), len(c.head)))
	_, tailStart := character(tail, max(0, len(tail)-(int(c.limits.Inline)-c.headCap())))
	t.Captured = int64(headEnd + len(tail) - tailStart)
	t.Omitted = t.Total - t.Captured
	notice := fmt.Sprintf("\n\n... [%s TRUNCATED - %d bytes omitted out of %d total] ...\n\n",
		c.label, t.Omitted, t.Total)
	t.Text = render(c.head, 0, headEnd, c.secrets) + notice +
		render(tail, tailStart, len(tail), c.secrets)
}

// ring holds the last size bytes written to it.
type ring struct {
	size int
	buf  []byte
	next int // the oldest byte, once buf is full
}

func (r *ring) write(p []byte) {
	if len(p) >= r.size {
		r.buf, r.next = append(r.buf[:0], p[len(p)-r.size:]...), 0
		return
	}
	if room := r.size - len(r.buf); room > 0 {
		n := min(room, len(p))
		r.buf = append(r.buf, p[:n]...)
		p = p[n:]
	}
	n := copy(r.buf[r.next:], p)
	m := copy(r.buf, p[n:])
	if m > 0 {
		r.next = m
	} else if r.next += n; r.next == r.size {
		r.next = 0
	}
}

// bytes returns a copy of what the ring holds, in order.
func (r *ring) bytes() []byte {
	return append(append(make([]byte, 0, len(r.buf)), r.buf[r.next:]...), r.buf[:r.next]...)
}
