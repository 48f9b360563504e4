package sshclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/crypto/ssh"
)

// Tunnel is a way to one Unix socket of a host.
type Tunnel struct {
	conn    *Conn
	release func()
	socket  string
	command string // prints and reads what goes over the socket, where sshd does not forward
}

// Tunnel opens the way to a socket of a host on a shared connection. Where sshd does not forward to
// sockets each connection is the stdio of a command.
func (p *Pool) Tunnel(ctx context.Context, o Options, socket, command string) (*Tunnel, error) {
	h, err := Resolve(ctx, o)
	if err != nil {
		return nil, err
	}
	key := o.key(h)
	s, err := p.take(ctx, key)
	if err != nil {
		return nil, err
	}
	defer s.give()
	list := p.living(s)
	if len(list) == 0 {
		c, err := dial(ctx, o, h, 0)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return &Tunnel{conn: list[0], release: p.use(s, key, list[0]), socket: socket, command: command}, nil
}

// Dial makes a connection to the socket.
func (t *Tunnel) Dial(ctx context.Context) (net.Conn, error) {
	c, err := t.conn.DialContext(ctx, "unix", t.socket)
	refused := (*ssh.OpenChannelError)(nil)
	if err == nil || !errors.As(err, &refused) || t.command == "" {
		return c, err
	}
	channel, err := newChannel(ctx, t.conn)
	if err == nil {
		channel.leave = func() {} // the tunnel has the connection
		err = channel.Exec(t.command)
	}
	if err != nil {
		return nil, fmt.Errorf("%w; nor can %q be run there: %w", refused, t.command, err)
	}
	return &commandConn{Channel: channel}, nil
}

// Close lets go of the connection.
func (t *Tunnel) Close() error {
	t.release()
	return nil
}

// commandConn is the stdio of a command as a connection. It has no deadlines: closing it unblocks whoever
// waits.
type commandConn struct{ *Channel }

var _ net.Conn = (*commandConn)(nil)

func (c *commandConn) LocalAddr() net.Addr              { return address{} }
func (c *commandConn) RemoteAddr() net.Addr             { return address{} }
func (c *commandConn) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (c *commandConn) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (c *commandConn) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }
