package transport

import (
	"context"
	"sync"
)

// Memory bounds the bytes of requests that are being read or answered, or of replies that are being
// made or written: each of the two has half of Options.MaxInFlight. One room for both could fill up
// with requests that wait for calls that wait to reply.
//
// Requests grow while they are read, and nobody knows how far: with a plain semaphore, many half-read
// ones could wait for each other for ever. So one request at a time may grow without asking, in room
// that is set aside for it. The same holds for replies. Memory is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	free    int64
	lane    bool          // the set-aside room is taken
	changed chan struct{} // closed when something was given back
}

// NewMemory returns the room that o allows to requests, or to replies. It is never less than one of
// them at the limit, and some room beside it, so that small calls do not wait for a large one.
func NewMemory(o Options) *Memory {
	o = o.withDefaults()
	return &Memory{free: max(o.MaxInFlight/8, o.MaxInFlight/2-int64(o.MaxLine)), changed: make(chan struct{})}
}

// Grant is what one request or reply holds. The zero value holds nothing. It is not safe for concurrent use.
type Grant struct {
	m    *Memory
	size int64
	lane bool
}

// Grow waits until the request or reply may occupy size bytes in all, or ctx ends. It never shrinks.
func (m *Memory) Grow(ctx context.Context, g *Grant, size int64) error {
	for {
		changed := m.try(g, size)
		if changed == nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// TryGrow is Grow without waiting; it tells whether the request has the room.
func (m *Memory) TryGrow(g *Grant, size int64) bool { return m.try(g, size) == nil }

// try grows the grant and returns nil, or what to wait for.
func (m *Memory) try(g *Grant, size int64) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	g.m = m
	switch more := size - g.size; {
	case g.lane || more <= 0:
	case more <= m.free:
		m.free -= more
		g.size = size
	case !m.lane:
		m.lane, g.lane = true, true
	default:
		return m.changed
	}
	return nil
}

// Release gives back what the request held. It may be called more than once.
func (g *Grant) Release() {
	if g.m == nil {
		return
	}
	g.m.mu.Lock()
	defer g.m.mu.Unlock()
	g.m.free += g.size
	if g.lane {
		g.m.lane = false
	}
	close(g.m.changed)
	g.m.changed = make(chan struct{})
	*g = Grant{}
}
