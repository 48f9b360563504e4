// Package guest is the host's side of the guest agent: one Python process in an environment that
// starts processes, moves files, listens and shares, all over its stdio.
//
// A backend that can start one process and hold its stdio has everything: it embeds *Guest and
// overrides what it can do better. The stream is described in docs/protocol.md.
package guest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/fields"
)

var _ backend.Backend = (*Guest)(nil)

// Link is the agent's stdio.
type Link interface {
	io.Reader          // the agent's stdout
	io.Writer          // its stdin
	CloseWrite() error // EOF on its stdin: the order to end everything
	Close() error      // lets go of it and makes sure that it is gone; unblocks all the others
}

// Options describe the environment to the agent and to the user.
type Options struct {
	Name   string // Info.Name
	Target string // Info.Target

	// Volatile is a temporary directory that goes with the environment by itself, so that the agent
	// need not say whose its scratch there is, nor remove it; "" is none.
	Volatile string

	// Lease is how long the agent lives without a sign of the host; 0 is for links that cannot
	// freeze. The host pings four times in that time and takes a link without any answer for dead.
	Lease time.Duration

	// Library is where the guest library lies in the environment already; "" sends it.
	Library string

	// Offer sends the library only if the environment has none itself, as images may: a round trip more
	// where it has not. Begin cannot be used with it.
	Offer bool

	// Aside returns another way for the content of large files, beside the link; nil: none yet, or
	// none at all. It must not block, and is not asked as long as files are small.
	Aside func() Aside

	// Begin, if not nil, is called when the agent was sent and nothing is known of it yet: what Dial,
	// AskLogin and Enter of an absolute directory send then follows at once, which saves a round trip. It
	// returns when they have, as they do where the agent does not start.
	Begin func(g *Guest)

	// Leave lets go of the link without a wait for the agent's end, which is a round trip, when there
	// is nothing for the agent to end but itself: all that was started has ended, by its own word.
	// Nil: its end is waited for all the same.
	Leave func()

	// Diagnose returns what the environment printed on the agent's stderr, for the error of an
	// agent that does not greet; nil: nothing.
	Diagnose func() string
}

// closeWait bounds how long Close waits for the agent to end everything: its own bound is 4 s.
const closeWait = 8 * time.Second

// outputWait bounds how long Close waits for the callers' writers.
const outputWait = 2 * time.Second

// stream is something that the guest sends frames for. Its methods are called by the link's reader,
// one at a time, and must not block.
type stream interface {
	// frame takes over payload. An error is a breach of protocol and ends the link.
	frame(k kind, channel byte, payload []byte) error
	// lost says that the link is gone.
	lost(err error)
}

// Guest is an environment behind an agent.
type Guest struct {
	link     Link
	opt      Options
	info     backend.Info
	sockets  string // a directory with room for a socket's path
	uid, gid int    // as whom the agent runs
	pid      int
	buffers  buffers

	socketCount atomic.Int64
	heard       atomic.Int64 // frames so far
	frames      chan []byte  // to the writer, which owns what it gets

	mu      sync.Mutex
	streams map[uint32]stream
	shares  map[*share]struct{}
	next    uint32
	err     error // why the link is over
	lingers bool  // something was started that may leave others running

	over   chan struct{} // closed when the link is over
	closed chan struct{} // closed when Close is done
	once   sync.Once
	work   sync.WaitGroup
	leave  func() *time.Timer // begins to part: what is left then is killed when the timer fires

	outputs sync.WaitGroup // processes whose output is not all written
}

// Open boots the agent on link, whose other end is an interpreter that was started with Argv. It
// takes over link even if it fails. Ctx bounds the opening alone.
func Open(ctx context.Context, link Link, opt Options) (*Guest, error) {
	g := &Guest{
		link: link, opt: opt, streams: map[uint32]stream{}, next: 1,
		shares: map[*share]struct{}{}, over: make(chan struct{}), frames: make(chan []byte), closed: make(chan struct{}),
	}
	g.leave = sync.OnceValue(func() *time.Timer {
		timer := time.AfterFunc(partWait, func() { _ = link.Close() }) // which frees a CloseWrite that is stuck
		_ = link.CloseWrite()
		return timer
	})
	stop := context.AfterFunc(ctx, func() { g.leave() })
	r := bufio.NewReaderSize(link, 1<<16)
	err := g.boot(r)
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		_, _ = g.end(err)
		g.part(r)
		g.work.Wait()
		return nil, err
	}
	g.work.Go(func() { g.read(r) })
	if opt.Lease > 0 {
		g.work.Go(g.ping)
	}
	return g, nil
}

// Info returns what the agent told when it was opened.
func (g *Guest) Info() backend.Info { return g.info }

// Examine has nothing to tell: all was found out at the start.
func (g *Guest) Examine(context.Context) []string { return nil }

// SocketDir is a private directory of the environment whose path leaves room for a socket's name.
func (g *Guest) SocketDir() string { return g.sockets }

// User is as whom the agent runs, in the environment's own numbers.
func (g *Guest) User() (uid, gid int) { return g.uid, g.gid }

// PID is the agent's process identifier, as the environment counts.
func (g *Guest) PID() int { return g.pid }

// Close ends everything and waits for it. It is idempotent.
func (g *Guest) Close() error {
	g.once.Do(func() {
		defer close(g.closed)
		idle := g.idle()
		_, _ = g.end(net.ErrClosed) // the agent may end in order
		g.closeShares()
		timer := time.AfterFunc(closeWait, func() { _ = g.link.Close() })
		_ = g.link.CloseWrite()
		if idle && g.opt.Leave != nil {
			g.opt.Leave()
		}
		g.work.Wait()
		timer.Stop()
		_ = g.link.Close()
		g.awaitOutputs()
	})
	<-g.closed
	return nil
}

// idle tells whether nothing that was started runs, nor what it may have left alone.
func (g *Guest) idle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.streams {
		if _, runs := s.(*process); runs {
			return false
		}
	}
	return g.err == nil && !g.lingers
}

// awaitOutputs waits until the callers' writers have got what came, but not for ever: one may be
// stuck, as a terminal is after Ctrl-S, and only its owner can end that.
func (g *Guest) awaitOutputs() {
	written := make(chan struct{})
	go func() {
		g.outputs.Wait()
		close(written)
	}()
	waitFor(written, outputWait)
}

// Err is why the environment cannot be used any more: nil as long as it can.
func (g *Guest) Err() error { return g.failed() }

// Done is closed when the link is over.
func (g *Guest) Done() <-chan struct{} { return g.over }

// errGivenUp is what sendUntil returns when the sender stops waiting: nothing was sent.
var errGivenUp = errors.New("given up")

// send hands one frame to the writer. It blocks as long as the link does.
func (g *Guest) send(k kind, channel byte, id uint32, payload []byte) error {
	return g.sendUntil(nil, k, channel, id, payload)
}

// sendUntil is send that gives up when stop is closed: a link may freeze for longer than the sender
// has time.
func (g *Guest) sendUntil(stop <-chan struct{}, k kind, channel byte, id uint32, payload []byte) error {
	if err := g.failed(); err != nil {
		return err
	}
	head := header{kind: k, channel: channel, stream: id, length: uint32(len(payload))}
	frame := append(head.append(g.buffers.get(headerSize + len(payload))[:0]), payload...)
	select {
	case g.frames <- frame:
		return nil
	case <-g.over:
		return g.failed()
	case <-stop:
		return errGivenUp
	}
}

// reset tells the guest that a stream is given up, without waiting for the link. Nothing follows it on
// that stream.
func (g *Guest) reset(id uint32) {
	g.begin(func() { _ = g.send(kindReset, 0, id, nil) })
}

// begin does something that ends with the link, beside all else, unless that is over.
func (g *Guest) begin(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.work.Go(do)
	}
}

// write writes the frames, one after another, until the link is over.
func (g *Guest) write() {
	for {
		select {
		case frame := <-g.frames:
			if _, err := g.link.Write(frame); err != nil {
				_ = g.fail(&backend.GoneError{Reason: fmt.Errorf("write to the guest agent: %w", err)})
				return
			}
			g.buffers.put(frame)
		case <-g.over:
			return
		}
	}
}

// open sends the first frame of a new stream, which register makes for the stream's number. When it
// fails, as it does when ctx ends before, the guest has not heard of it.
func (g *Guest) open(ctx context.Context, k kind, payload []byte, register func(id uint32) stream) error {
	if len(payload) > maxPayload {
		return fmt.Errorf("%w: arguments and environment of %d bytes; %d is the most", backend.ErrNotExecutable, len(payload), maxPayload)
	}
	g.mu.Lock()
	if g.err != nil {
		defer g.mu.Unlock()
		return g.err
	}
	id := g.next
	g.next += 2
	g.streams[id] = register(id)
	g.mu.Unlock()
	err := g.sendUntil(ctx.Done(), k, 0, id, payload)
	if errors.Is(err, errGivenUp) {
		err = context.Cause(ctx)
	}
	if err != nil {
		g.forget(id)
	}
	return err
}

func (g *Guest) forget(id uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.streams, id)
}

func (g *Guest) lookup(id uint32) stream {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.streams[id]
}

func (g *Guest) failed() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// read hands out frames until the link ends. After Close it only waits for the agent's end.
func (g *Guest) read(r *bufio.Reader) {
	for {
		err := g.readFrame(r)
		if err == nil {
			continue
		}
		switch {
		case errors.Is(err, errProtocol), errors.Is(err, fields.ErrShort):
			err = fmt.Errorf("%w (%w)", errBroken, err)
		default:
			err = fmt.Errorf("the guest agent is gone: %w", err)
		}
		_ = g.fail(&backend.GoneError{Reason: err})
		_, _ = io.Copy(io.Discard, r)
		return
	}
}

func (g *Guest) readFrame(r *bufio.Reader) error {
	h, err := readHeader(r)
	if err != nil {
		return err
	}
	g.heard.Add(1)
	payload := g.buffers.get(int(h.length))
	if _, err := io.ReadFull(r, payload); err != nil {
		return err
	}
	switch h.kind {
	case kindAccept, kindFile:
		return g.adopt(h, payload)
	case kindRefused:
		return fmt.Errorf("%w: it says that %.200q", errProtocol, payload)
	}
	if s := g.lookup(h.stream); s != nil {
		return s.frame(h.kind, h.channel, payload)
	}
	return nil // unknown, or over: both are to be expected
}

// adopt opens a stream that the guest has begun: a connection or a file of one that is open here.
func (g *Guest) adopt(h header, payload []byte) error {
	f, err := fields.Parse(payload)
	if err != nil {
		return err
	}
	if h.stream%2 != 0 || h.stream == 0 {
		return fmt.Errorf("%w: stream %d is not the guest's to open", errProtocol, h.stream)
	}
	parent := f.Int("listener") + f.Int("share") // one of them is absent
	var child stream
	if p, ok := g.lookup(uint32(parent)).(interface {
		accept(id uint32, f fields.Fields) stream
	}); ok {
		child = p.accept(h.stream, f)
	}
	if child == nil {
		return nil // its parent has just closed; the guest learns that by itself
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.streams[h.stream] = child
	}
	return nil
}
