package hermes

import (
	"fmt"
	"slices"

	"github.com/hermes-exec/hermes-exec/transport"
)

// A cell may start a program that runs a cell: the variables of the endpoint, which that inherits,
// tell from which session it comes. In its own session, or in one whose cell has called this one, it
// would wait for a cell that waits for it.

// caller is the cell that runs the process which calls; nil if no session's cell does. The caller
// holds mu.
func (s *Sessions) caller(o Options) *running {
	token := o.Environ[transport.EnvToken]
	if token == "" {
		return nil
	}
	for _, x := range s.byName {
		if x.running != nil && x.world != nil && x.world.meeting.Env()[transport.EnvToken] == token {
			return x.running
		}
	}
	return nil
}

// awaits tells whether c waits, or may wait, for the end of other.
func (c *running) awaits(other *running) bool {
	if c == nil {
		return false
	}
	return c == other || slices.ContainsFunc(c.calls, func(x *session) bool { return x.running.awaits(other) })
}

// call notes that a cell, which may be nil, has called x, unless that would wait for the cell. The
// caller holds mu.
func (c *running) call(x *session) error {
	switch {
	case c == nil:
		return nil
	case x.running.awaits(c):
		return usageError{fmt.Errorf("session %s: the cell that runs in it waits for this call, which would wait for that cell: "+
			"make the call when the cell has ended, or in another session", x.name)}
	}
	c.calls = append(c.calls, x)
	return nil
}

// returned notes the end of a call. The caller holds mu.
func (c *running) returned(x *session) {
	if c != nil {
		i := slices.Index(c.calls, x)
		c.calls = slices.Delete(c.calls, i, i+1)
	}
}
