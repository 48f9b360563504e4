package guest

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"sync"
	"time"

	"github.com/hermes-exec/hermes-exec/internal/fields"
)

// backlog is how many connections may wait for Accept; the kernel's own queue in the guest comes
// before it.
const backlog = 128

// listener is a socket of the guest whose connections come over the link.
type listener struct {
	*transfer
	address net.Addr // set before the listener is opened
	network string
	queue   chan *conn
	once    sync.Once
	over    chan struct{}
	err     error // valid when over is closed
}

// Listen opens a listener in the guest.
func (g *Guest) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	op := fmt.Sprintf("listen on %s %s", network, address)
	if network == "unix" && address == "" {
		address = g.NewSocketPath()
	}
	l := &listener{
		transfer: newTransfer(g), queue: make(chan *conn, backlog),
		over: make(chan struct{}), network: network,
	}
	payload := fields.Append(fields.Append(nil, "network", network), "address", address)
	if err := l.request(ctx, kindListen, payload, l.register); err != nil {
		return nil, g.wrap(op, err)
	}
	return l, nil
}

// NewSocketPath returns a path for a new socket of this environment.
func (g *Guest) NewSocketPath() string {
	return path.Join(g.sockets, fmt.Sprintf("s%d.sock", g.socketCount.Add(1)))
}

func (l *listener) register(id uint32) stream {
	l.transfer.register(id)
	return l
}

func (l *listener) frame(k kind, channel byte, payload []byte) error {
	if k == kindDone {
		f, err := fields.Parse(payload)
		if err != nil {
			return err
		}
		if l.address == nil {
			l.address = addr{l.network, f.Text("address")}
		}
	}
	return l.transfer.frame(k, channel, payload)
}

func (l *listener) lost(err error) {
	l.transfer.lost(err)
	l.end(err)
}

func (l *listener) end(err error) {
	l.once.Do(func() {
		l.err = err
		close(l.over)
	})
}

// accept is called by the link's reader for a connection that the guest has accepted.
func (l *listener) accept(id uint32, _ fields.Fields) stream {
	c := &conn{g: l.g, id: id, address: l.address, in: newInbox(l.g, id, 0), out: newOutbox(l.g, id, 0)}
	c.reader = reader{in: c.in}
	select {
	case <-l.over:
		return nil
	default:
	}
	select {
	case l.queue <- c:
		return c
	default:
		l.g.reset(id) // too many wait already
		return nil
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.over:
		return nil, l.g.wrap("accept", l.err)
	}
}

func (l *listener) Addr() net.Addr { return l.address }

func (l *listener) Close() error {
	l.end(net.ErrClosed)
	if l.g.lookup(l.id) != nil {
		l.reset(net.ErrClosed)
	}
	for {
		select {
		case c := <-l.queue:
			_ = c.Close()
		default:
			return nil
		}
	}
}

// conn is one relayed connection. It has no deadlines: closing it unblocks whoever waits.
type conn struct {
	reader
	g       *Guest
	id      uint32
	address net.Addr
	in      *inbox
	out     *outbox
	writing sync.Mutex
	once    sync.Once
}

func (c *conn) frame(k kind, _ byte, payload []byte) error {
	switch k {
	case kindData:
		return c.in.push(parcel{data: payload})
	case kindCredit:
		c.out.grant(payload)
	case kindEOF:
		c.in.end(io.EOF)
	case kindReset:
		c.g.forget(c.id)
		c.lost(net.ErrClosed)
	}
	return nil
}

func (c *conn) lost(err error) {
	c.in.end(err)
	c.out.end(err)
}

func (c *conn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.out.Write(p)
}

// CloseWrite passes on the end of what was written; reading goes on.
func (c *conn) CloseWrite() error {
	c.out.end(net.ErrClosed)
	return c.g.send(kindEOF, 0, c.id, nil)
}

// Close lets the guest deliver what was written and then close its socket.
func (c *conn) Close() error {
	c.once.Do(func() {
		c.g.forget(c.id)
		c.lost(net.ErrClosed)
		c.g.reset(c.id)
	})
	return nil
}

func (c *conn) LocalAddr() net.Addr              { return c.address }
func (c *conn) RemoteAddr() net.Addr             { return c.address }
func (c *conn) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (c *conn) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (c *conn) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

type addr struct{ network, address string }

func (a addr) Network() string { return a.network }
func (a addr) String() string  { return a.address }
