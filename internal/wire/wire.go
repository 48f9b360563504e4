// Package wire is a way to a TCP server that is as long as a network's: what is sent arrives later, and is
// counted. It bounds no rate, and it neither loses nor breaks anything. Benchmarks and tests measure round
// trips with it, for not every kernel can delay packets.
package wire

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Wire passes connections on to a server.
type Wire struct {
	to       string
	listener net.Listener
	work     sync.WaitGroup
	rtt      atomic.Int64
	up, down atomic.Int64 // bytes to the server, and from it
	deepest  atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	over  bool
}

// New returns a way to the server at an address, without any delay yet.
func New(to string) (*Wire, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &Wire{to: to, listener: l, conns: map[net.Conn]struct{}{}}
	w.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.work.Go(func() { w.carry(c) })
		}
	})
	return w, nil
}

// Port is where the way begins.
func (w *Wire) Port() int {
	return w.listener.Addr().(*net.TCPAddr).Port //nolint:errcheck,forcetypeassert // it is one
}

// SetRTT sets how long a byte takes to the server and another one back.
func (w *Wire) SetRTT(d time.Duration) { w.rtt.Store(int64(d)) }

// Reset forgets what was counted.
func (w *Wire) Reset() {
	w.up.Store(0)
	w.down.Store(0)
	w.deepest.Store(0)
}

// Bytes are how many went to the server, and came from it.
func (w *Wire) Bytes() (up, down int64) { return w.up.Load(), w.down.Load() }

// Trips are the round trips that followed one from another: a piece counts one more than the last piece
// that its sender had got from the other side. The connection itself takes one. What a sender says without
// having waited counts all the same, so that it is right only with a delay that is longer than anything
// that either side does.
func (w *Wire) Trips() int { return int(w.deepest.Load()) }

// Close breaks every connection and returns when none is left.
func (w *Wire) Close() error {
	err := w.listener.Close()
	w.mu.Lock()
	w.over = true
	for c := range w.conns {
		_ = c.Close()
	}
	w.mu.Unlock()
	w.work.Wait()
	return err
}

// keep closes c with the wire, until forget is called.
func (w *Wire) keep(c net.Conn) (forget func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		_ = c.Close()
	}
	w.conns[c] = struct{}{}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.conns, c)
		_ = c.Close()
	}
}

// carry passes on what comes in both directions. The client takes itself for connected at once: the round
// trip that a network needs for that is made up for before anything passes.
func (w *Wire) carry(client net.Conn) {
	defer w.keep(client)()
	rtt := time.Duration(w.rtt.Load())
	wait(rtt + rtt/2) // until the client's first words arrive
	server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", w.to)
	if err != nil {
		return
	}
	defer w.keep(server)()
	up := line{to: server, from: client, bytes: &w.up, waited: true}
	down := line{to: client, from: server, bytes: &w.down, more: 1}
	up.trips.Store(1)
	down.trips.Store(1)
	var both sync.WaitGroup
	both.Go(func() { w.pass(&up, &down) })
	both.Go(func() { w.pass(&down, &up) })
	both.Wait()
}

// line is one direction of a connection.
type line struct {
	to, from net.Conn
	bytes    *atomic.Int64 // counts what has arrived
	trips    atomic.Int64  // of the last piece that has arrived
	more     int64         // how many more an answer has than what it answers
	waited   bool          // its first piece has been under way for long enough
}

// parcel is what was read at once.
type parcel struct {
	data  []byte
	due   time.Time
	trips int64
}

// underway is how many parcels may be on the way in one direction.
const underway = 1 << 14

// pass takes pieces from one side and lets each arrive at the other in its time.
func (w *Wire) pass(is, other *line) {
	parcels := make(chan parcel, underway)
	go w.collect(is, other, parcels)
	defer func() {
		for range parcels { // they cannot be delivered any more
		}
	}()
	for p := range parcels {
		wait(time.Until(p.due))
		is.trips.Store(max(is.trips.Load(), p.trips))
		is.bytes.Add(int64(len(p.data)))
		w.deeper(p.trips)
		if _, err := is.to.Write(p.data); err != nil {
			_ = is.to.Close()
			_ = is.from.Close()
			return
		}
	}
	wait(time.Duration(w.rtt.Load() / 2)) // the end takes as long
	if half, ok := is.to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// collect reads what is to be passed on. A piece that follows one from the other side has as many trips.
func (w *Wire) collect(is, other *line, parcels chan<- parcel) {
	defer close(parcels)
	buf := make([]byte, 1<<16)
	for {
		n, err := is.from.Read(buf)
		due := time.Now()
		if !is.waited {
			due = due.Add(time.Duration(w.rtt.Load() / 2))
		}
		is.waited = false
		if n > 0 {
			parcels <- parcel{append([]byte(nil), buf[:n]...), due, other.trips.Load() + is.more}
		}
		if err != nil {
			return
		}
	}
}

func (w *Wire) deeper(trips int64) {
	for {
		old := w.deepest.Load()
		if old >= trips || w.deepest.CompareAndSwap(old, trips) {
			return
		}
	}
}
