package guest

import (
	"errors"
	"io"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
)

// Abandon gives up an agent that does not answer: everybody who waits for it is told, and the link is
// let go.
func (g *Guest) Abandon() {
	_ = g.fail(&backend.GoneError{Reason: errors.New("the guest agent does not answer")})
}

// fail ends the link for everybody, and lets go of it; the first reason counts and is returned.
func (g *Guest) fail(err error) error {
	first, reason := g.end(err)
	if first {
		_ = g.link.Close()
	}
	return reason
}

// end says that the link is over to everybody who waits for something; the first reason counts.
func (g *Guest) end(err error) (first bool, reason error) {
	g.mu.Lock()
	if g.err != nil {
		defer g.mu.Unlock()
		return false, g.err
	}
	g.err = err
	lost := make([]stream, 0, len(g.streams))
	for _, s := range g.streams {
		lost = append(lost, s)
	}
	clear(g.streams)
	close(g.over)
	g.mu.Unlock()
	for _, s := range lost {
		s.lost(err)
	}
	return true, err
}

// partWait bounds how long an agent that is not to be used has for removing what it has made.
const partWait = 2 * time.Second

// part lets an agent go that is not to be used, in order: nobody else knows what it has made by now.
func (g *Guest) part(r io.Reader) {
	timer := g.leave()
	_, _ = io.Copy(io.Discard, r)
	timer.Stop()
	_ = g.link.Close()
}
