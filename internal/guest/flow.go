package guest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// buffers recycles the payloads of DATA frames: a flood of output then needs no more memory than
// its window. Frames come in all sizes, buffers in a few: as the host sends, as the agent does at most
// when much comes, and as the protocol allows.
type buffers [3]sync.Pool

func (b *buffers) sizes() [3]int { return [...]int{piece, 4 * piece, maxPayload} }

func (b *buffers) get(n int) []byte {
	if n <= piece/16 {
		return make([]byte, n) // short and many: the collector does this better
	}
	for i, size := range b.sizes() {
		if n > size {
			continue
		}
		if p, ok := b[i].Get().(*[]byte); ok {
			return (*p)[:n]
		}
		return make([]byte, n, size)
	}
	return make([]byte, n)
}

func (b *buffers) put(p []byte) {
	for i, size := range b.sizes() {
		if cap(p) == size {
			b[i].Put(&p)
		}
	}
}

// parcel is the payload of one DATA frame.
type parcel struct {
	data  []byte
	after func() // called before the data is used: waits for what must come first; nil: nothing
}

// inbox is the receiving end of a channel. The guest may fill it up to the window; the reader of
// the link never waits for whoever empties it.
type inbox struct {
	g       *Guest
	stream  uint32
	channel byte

	mu      sync.Mutex
	changed sync.Cond
	queue   []parcel
	pushed  int64 // bytes that came, ever
	done    int64 // of these, consumed
	held    int   // bytes in queue and with the consumer, for which no credit was given back
	owed    int   // bytes consumed since credit was last given
	err     error // why nothing more comes; io.EOF for the orderly end
}

func newInbox(g *Guest, stream uint32, channel byte) *inbox {
	in := &inbox{g: g, stream: stream, channel: channel}
	in.changed.L = &in.mu
	return in
}

// push takes over p. It fails when the guest sends more than it was allowed.
func (in *inbox) push(p parcel) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.err != nil {
		return nil // closed on this side: what still comes is dropped
	}
	n := len(p.data)
	if in.held+n > window {
		return fmt.Errorf("%w: more data than there was credit for", errProtocol)
	}
	in.held += n
	in.pushed += int64(n)
	in.queue = append(in.queue, p)
	in.changed.Broadcast()
	return nil
}

// end says that nothing more comes, and why. The first reason counts.
func (in *inbox) end(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.err == nil {
		in.err = err
	}
	in.changed.Broadcast()
}

// reopen lets more come to an inbox whose content went aside, and gives the credit that was held back.
func (in *inbox) reopen() {
	in.mu.Lock()
	if !errors.Is(in.err, errAside) {
		in.mu.Unlock()
		return
	}
	in.err = nil
	grant := in.owed
	in.owed = 0
	in.mu.Unlock()
	in.grant(grant)
}

func (in *inbox) grant(n int) {
	if n > 0 {
		// A link that broke tells everybody by itself.
		_ = in.g.send(kindCredit, in.channel, in.stream, binary.BigEndian.AppendUint32(nil, uint32(n)))
	}
}

// next waits for a piece, which the caller gives back to consumed.
func (in *inbox) next() ([]byte, error) {
	p, err := in.take()
	if p.after != nil {
		p.after()
	}
	return p.data, err
}

func (in *inbox) take() (parcel, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.queue) == 0 && in.err == nil {
		in.changed.Wait()
	}
	if len(in.queue) == 0 {
		return parcel{}, in.err
	}
	p := in.queue[0]
	in.queue[0] = parcel{}
	in.queue = in.queue[1:]
	return p, nil
}

// consumed recycles p and gives the guest credit for it.
func (in *inbox) consumed(p []byte) {
	n := len(p)
	in.g.buffers.put(p)
	in.mu.Lock()
	in.held -= n
	in.owed += n
	in.done += int64(n)
	in.changed.Broadcast()
	grant := 0
	if in.owed >= window/4 && in.err == nil {
		grant, in.owed = in.owed, 0
	}
	in.mu.Unlock()
	in.grant(grant)
}

// mark is how much has come by now.
func (in *inbox) mark() int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.pushed
}

// await waits until what had come at mark is consumed.
func (in *inbox) await(mark int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for in.done < mark {
		in.changed.Wait()
	}
}

// copyTo writes everything that comes to w. A writer that fails is not asked again, but the stream
// is drained all the same, so that the process does not meet a full pipe.
func (in *inbox) copyTo(w io.Writer) error {
	var failed error
	for {
		p, err := in.next()
		if errors.Is(err, io.EOF) {
			return failed
		}
		if err != nil {
			return err
		}
		if failed == nil {
			_, failed = w.Write(p)
		}
		in.consumed(p)
	}
}

// reader makes an inbox an io.Reader, for one goroutine.
type reader struct {
	in      *inbox
	current []byte // the piece being read
	rest    []byte
}

func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(r.rest) == 0 {
		next, err := r.in.next()
		if err != nil {
			return 0, err
		}
		r.current, r.rest = next, next
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	if len(r.rest) == 0 {
		r.in.consumed(r.current)
		r.current = nil
	}
	return n, nil
}

// outbox is the sending end of a channel.
type outbox struct {
	g       *Guest
	stream  uint32
	channel byte

	mu      sync.Mutex
	changed sync.Cond
	credit  int
	err     error
	ended   chan struct{} // closed with err
}

func newOutbox(g *Guest, stream uint32, channel byte) *outbox {
	out := &outbox{g: g, stream: stream, channel: channel, credit: window, ended: make(chan struct{})}
	out.changed.L = &out.mu
	return out
}

// Write sends p as far as there is credit, and waits for more. It is not safe for concurrent use.
func (out *outbox) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		n, err := out.reserve(min(len(p), piece))
		if err != nil {
			return written, err
		}
		if err := out.send(p[:n]); err != nil {
			return written, err
		}
		written += n
		p = p[n:]
	}
	return written, nil
}

// send gives up when the outbox ends.
func (out *outbox) send(p []byte) error {
	err := out.g.sendUntil(out.ended, kindData, out.channel, out.stream, p)
	if errors.Is(err, errGivenUp) {
		out.mu.Lock()
		defer out.mu.Unlock()
		return out.err
	}
	return err
}

func (out *outbox) reserve(want int) (int, error) {
	out.mu.Lock()
	defer out.mu.Unlock()
	for out.credit == 0 && out.err == nil {
		out.changed.Wait()
	}
	if out.err != nil {
		return 0, out.err
	}
	n := min(want, out.credit)
	out.credit -= n
	return n, nil
}

func (out *outbox) grant(payload []byte) {
	if len(payload) != 4 {
		return
	}
	out.mu.Lock()
	defer out.mu.Unlock()
	// A guest that gives too much harms its own memory only; the sum must not overflow, though.
	out.credit = min(out.credit+int(binary.BigEndian.Uint32(payload)), 1<<30)
	out.changed.Broadcast()
}

// end makes the pending and every later Write fail with err.
func (out *outbox) end(err error) {
	out.mu.Lock()
	defer out.mu.Unlock()
	if out.err == nil {
		out.err = err
		close(out.ended)
	}
	out.changed.Broadcast()
}
