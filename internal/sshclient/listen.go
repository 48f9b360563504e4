package sshclient

import (
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// The words of OpenSSH's protocol for sockets that are forwarded.
const (
	forwardSocket   = "streamlocal-forward@openssh.com"
	forgetSocket    = "cancel-streamlocal-forward@openssh.com"
	forwardedSocket = "forwarded-streamlocal@openssh.com"
)

// callers is how many connections to one socket may wait for Accept.
const callers = 128

// forwards are the sockets of a host whose connections come over one connection. What takes them, and what
// reads a connection's requests, ends with the connection: nobody else waits for it.
type forwards struct {
	once sync.Once

	mu      sync.Mutex
	sockets map[string]*forward
}

// forward is one of them.
type forward struct {
	conn  *Conn
	path  string
	queue chan ssh.NewChannel
	once  sync.Once
	over  chan struct{} // closed by Close
}

var _ net.Listener = (*forward)(nil)

// ListenUnix asks the host to listen on a socket there, whose connections come here. The library's own
// waits for the answer, which is a round trip; this does not: where the host refuses nobody can dial. What
// is said on any channel afterwards the host hears after this.
func (c *Conn) ListenUnix(path string) (net.Listener, error) {
	c.forwards.once.Do(func() {
		c.forwards.sockets = map[string]*forward{}
		go c.forwards.take(c.HandleChannelOpen(forwardedSocket))
	})
	f := &forward{conn: c, path: path, queue: make(chan ssh.NewChannel, callers), over: make(chan struct{})}
	c.forwards.mu.Lock()
	c.forwards.sockets[path] = f
	c.forwards.mu.Unlock()
	if err := f.ask(forwardSocket); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func (f *forward) ask(what string) error {
	_, _, err := f.conn.SendRequest(what, false, ssh.Marshal(struct{ Path string }{f.path}))
	return err
}

// take hands out the connections until there can be no more.
func (s *forwards) take(channels <-chan ssh.NewChannel) {
	for channel := range channels {
		var open struct{ Path, Reserved string }
		if err := ssh.Unmarshal(channel.ExtraData(), &open); err != nil {
			_ = channel.Reject(ssh.ConnectionFailed, "a message that cannot be read")
			continue
		}
		s.mu.Lock()
		f := s.sockets[open.Path]
		taken := f != nil && f.offer(channel) // with the lock, so that Close finds it in the queue
		s.mu.Unlock()
		if !taken {
			_ = channel.Reject(ssh.Prohibited, "nobody listens there")
		}
	}
}

func (f *forward) offer(channel ssh.NewChannel) bool {
	select {
	case <-f.over:
		return false
	default:
	}
	select {
	case f.queue <- channel:
		return true
	default:
		return false // too many wait already
	}
}

// Accept waits for a connection. When there can be no more it is io.EOF.
func (f *forward) Accept() (net.Conn, error) {
	for {
		select {
		case channel := <-f.queue:
			c, requests, err := channel.Accept()
			if err != nil {
				continue // it has hung up
			}
			go ssh.DiscardRequests(requests)
			return &forwardedConn{Channel: c, path: f.path}, nil
		case <-f.over:
			return nil, io.EOF
		case <-f.conn.over:
			return nil, io.EOF
		}
	}
}

// Addr is the path there.
func (f *forward) Addr() net.Addr { return &net.UnixAddr{Name: f.path, Net: "unix"} }

// Close asks the host to forget the socket, whose name stays there.
func (f *forward) Close() error {
	f.once.Do(func() {
		close(f.over)
		f.conn.forwards.mu.Lock()
		delete(f.conn.forwards.sockets, f.path)
		f.conn.forwards.mu.Unlock()
		_ = f.ask(forgetSocket) // without a connection it is forgotten
		for {
			select {
			case channel := <-f.queue:
				_ = channel.Reject(ssh.Prohibited, "nobody listens there any more")
			default:
				return
			}
		}
	})
	return nil
}

// forwardedConn is a connection to a socket there. It has no deadlines.
type forwardedConn struct {
	ssh.Channel
	path string
}

var _ net.Conn = (*forwardedConn)(nil)

func (c *forwardedConn) LocalAddr() net.Addr { return &net.UnixAddr{Name: c.path, Net: "unix"} }

func (c *forwardedConn) RemoteAddr() net.Addr             { return &net.UnixAddr{Name: "@", Net: "unix"} }
func (c *forwardedConn) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (c *forwardedConn) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (c *forwardedConn) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }
