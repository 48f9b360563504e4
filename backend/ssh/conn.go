package ssh

import (
	"net"
	"sync"
	"time"
)

// conn is a forwarded connection. A channel's Close does not end a Write that waits for the other side to
// read: sshd answers a close only when what it has was read, and that may be never. So writes are made
// beside their callers.
type conn struct {
	net.Conn
	writing sync.Mutex // one Write at a time
	pieces  chan []byte
	written chan result
	closed  chan struct{}
	once    sync.Once
}

type result struct {
	n   int
	err error
}

// write makes the writes until the connection is closed.
func (c *conn) write() {
	for {
		select {
		case piece := <-c.pieces:
			n, err := c.Conn.Write(piece)
			select {
			case c.written <- result{n, err}:
			case <-c.closed:
				return
			}
		case <-c.closed:
			return
		}
	}
}

// Write writes a copy of p, for it may return before that is done with.
func (c *conn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	select {
	case c.pieces <- append([]byte(nil), p...):
	case <-c.closed:
		return 0, net.ErrClosed
	}
	select {
	case r := <-c.written:
		return r.n, r.err
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

// CloseWrite passes on the end of what was written; reading goes on. It waits for a Write that is under
// way.
func (c *conn) CloseWrite() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return net.ErrClosed
	}
	return half.CloseWrite()
}

// Close ends reading and writing.
func (c *conn) Close() error {
	var err error
	c.once.Do(func() {
		close(c.closed)
		err = ignoreEOF(c.Conn.Close())
	})
	return err
}

// SetDeadline refuses.
func (c *conn) SetDeadline(t time.Time) error { return noDeadlines(t) }

// SetReadDeadline refuses.
func (c *conn) SetReadDeadline(t time.Time) error { return noDeadlines(t) }

// SetWriteDeadline refuses.
func (c *conn) SetWriteDeadline(t time.Time) error { return noDeadlines(t) }
