package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	hermes "github.com/hermes-exec/hermes-exec"
)

// Client talks to the server of a place. It is safe for concurrent use.
type Client struct {
	Place   Place
	Version string // of this program; a server of another is replaced when it has nothing to do

	// Wait is how long a server may take to answer before it counts as one that does not; 0 is
	// DefaultWait.
	Wait time.Duration

	// Start starts the server when a cell needs one. The listener is the one that it serves on.
	Start func(p Place, listener *os.File) error
}

// Cell is one cell to run.
type Cell struct {
	Session string
	Options hermes.Options // Openers, Tools and Log are the server's
	Script  hermes.Script  // its Code; File and Stdin are not carried
	Reset   bool

	LogLevel slog.Level        // of what the server logs about this cell
	Kill     <-chan struct{}   // closed: end an interrupted cell at once; may be nil
	Progress func(text string) // told of what takes time before the cell begins, and "" when that is over; may be nil
}

// Errors of a client.
var (
	// ErrNoServer means that no server runs, and so no session lives.
	ErrNoServer = errors.New("no session server runs")
	// ErrLost means that the server ended during a request.
	ErrLost = errors.New("the session server ended during the call")
	// ErrSilent means that a server is there and does not answer. Beside it there can be no other.
	ErrSilent = errors.New("the session server does not answer")
)

// DefaultWait is the default of Client.Wait. What a server is asked then needs no time: this is for
// a machine that has none.
const DefaultWait = 10 * time.Second

// attempts is how often a request is sent to servers that end before they accept it.
const attempts = 5

// List tells of the sessions. Without a server there are none.
func (c *Client) List(ctx context.Context) ([]hermes.SessionInfo, error) {
	list := []hermes.SessionInfo{}
	err := c.ask(ctx, request{Op: opList}, kindList, &list)
	if errors.Is(err, ErrNoServer) {
		return list, nil
	}
	return list, err
}

// Reset discards the state of a session. It tells whether there is one.
func (c *Client) Reset(ctx context.Context, name string) (found bool, err error) {
	return found, c.ask(ctx, request{Op: opReset, Name: name}, kindDone, &found)
}

// End ends a session. It tells whether there was one.
func (c *Client) End(ctx context.Context, name string) (found bool, err error) {
	return found, c.ask(ctx, request{Op: opEnd, Name: name}, kindDone, &found)
}

// Stop ends the server with all its sessions, whatever they do.
func (c *Client) Stop(ctx context.Context) error {
	return c.ask(ctx, request{Op: opStop}, kindDone, new(bool))
}

// ask sends a request that a server answers with one message. It starts none.
func (c *Client) ask(ctx context.Context, q request, want kind, into any) error {
	conn, err := c.request(ctx, q, false)
	if err != nil {
		return err
	}
	defer conn.close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })()
	k, payload, err := c.answer(ctx, conn)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case k != want:
		return fmt.Errorf("%w: %q", errFrame, k)
	}
	return conn.decode(payload, into)
}

// answer receives the answer, which may take as long as the server lives.
func (c *Client) answer(ctx context.Context, conn *conn) (kind, []byte, error) {
	life, end := context.WithCancel(ctx)
	due, expire := context.WithTimeout(ctx, c.wait())
	defer expire()
	silent := make(chan error, 1)
	go func() { silent <- c.watch(life, conn, due.Done()) }()
	k, payload, err := conn.receive()
	end()
	if given := <-silent; err != nil && given != nil {
		return 0, nil, given
	}
	if err != nil {
		err = c.explained(fmt.Errorf("%w: %w", ErrLost, err))
	}
	return k, payload, err
}

// request sends a request until a server has accepted it.
func (c *Client) request(ctx context.Context, q request, start bool) (*conn, error) {
	q.Protocol, q.Version = protocol, c.Version
	codec, err := newCodec()
	if err != nil {
		return nil, err
	}
	for range attempts {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		raw, err := c.connect(ctx, start)
		if errors.Is(err, errEnded) {
			continue
		}
		if err != nil {
			return nil, err
		}
		conn := &conn{Conn: raw, codec: codec}
		again, err := c.offer(ctx, conn, q)
		if err == nil && !again {
			return conn, nil
		}
		conn.close()
		if err != nil {
			return nil, err
		}
	}
	return nil, c.explained(fmt.Errorf("%w before it did anything, %d times: see hermes-exec logs", ErrLost, attempts))
}

// offer sends a request as accepted does, to a server that has to accept it soon.
func (c *Client) offer(ctx context.Context, conn *conn, q request) (again bool, err error) {
	soon, cancel := context.WithTimeout(ctx, c.wait())
	defer cancel()
	again, err = accepted(soon, conn, q)
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		err = c.silent()
	}
	return again, err
}

// accepted sends a request. Again says that the server was about to end and has not begun with it.
func accepted(ctx context.Context, conn *conn, q request) (again bool, err error) {
	unwatch := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	k, payload, err := exchange(conn, q)
	switch {
	case !unwatch():
		return false, context.Cause(ctx)
	case err != nil:
		return true, nil //nolint:nilerr // the server has ended
	case k == kindAccepted:
		return false, nil
	case k != kindOther:
		return false, fmt.Errorf("%w: %q", errFrame, k)
	}
	var other otherVersion
	if err := conn.decode(payload, &other); err != nil || other.Leaving {
		return other.Leaving, err
	}
	if other.Failed != "" {
		return false, fmt.Errorf("start the session server: %s", other.Failed)
	}
	return false, fmt.Errorf("a session server of version %s holds %d sessions and does not understand version %s: "+
		"end them with that version, or kill it", other.Version, other.Sessions, q.Version)
}

// exchange sends a request and returns the first frame of the answer.
func exchange(conn *conn, q request) (kind, []byte, error) {
	if err := conn.send(kindRequest, q); err != nil {
		return 0, nil, err
	}
	return conn.receive()
}

// connect dials the server, and starts one if there is none and start is set.
func (c *Client) connect(ctx context.Context, start bool) (net.Conn, error) {
	if err := possible(); err != nil {
		if start {
			return nil, err
		}
		return nil, ErrNoServer
	}
	conn, err := c.dial(ctx)
	switch {
	case err == nil, !absent(err):
		return conn, err
	case !start:
		return nil, ErrNoServer
	}
	if err := c.Place.make(); err != nil {
		return nil, err
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if conn, err := c.dial(ctx); err == nil || !absent(err) {
		return conn, err // another caller was faster
	}
	if err := c.launch(); err != nil {
		return nil, fmt.Errorf("start the session server: %w", err)
	}
	conn, err = c.dial(ctx)
	if err != nil && absent(err) {
		return nil, errEnded
	}
	return conn, err
}

// lock waits until no other call is about to start a server.
func (c *Client) lock(ctx context.Context) (unlock func(), err error) {
	file := flock.New(c.Place.lockFile(), flock.SetPermissions(0o600))
	waiting, cancel := context.WithTimeout(ctx, c.wait())
	defer cancel()
	_, err = file.TryLockContext(waiting, 2*time.Millisecond)
	switch {
	case err == nil:
		return func() { _ = file.Close() }, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case waiting.Err() != nil:
		err = fmt.Errorf("another call has been about to for %v, or something else holds %s", c.wait(), c.Place.lockFile())
	}
	_ = file.Close()
	return nil, fmt.Errorf("start the session server: %w", err)
}

// errEnded means that a server ended before anybody could call it.
var errEnded = errors.New("the session server has ended")

// absent tells whether err of dial means that nobody serves.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, errEnded)
}

// dial connects to a server of this user.
func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	if err := c.Place.check(); err != nil {
		return nil, err
	}
	var dialer net.Dialer
	raw, err := dialer.DialContext(ctx, "unix", c.Place.Socket)
	switch {
	case errors.Is(err, syscall.EAGAIN): // so many have called already
		return nil, c.silent()
	case err != nil:
		return nil, err
	}
	if err := samePeer(raw); err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("session server at %s: %w", c.Place.Socket, err)
	}
	return raw, nil
}

// launch starts a server, whose socket is open before it runs: so nobody has to wait for it, and
// callers that come before it serves are served then. The caller holds the lock.
func (c *Client) launch() error {
	if err := c.Place.make(); err != nil { // once more: it may have been pruned before it was locked
		return err
	}
	_ = os.Remove(c.Place.ownerFile()) // else it could be pruned under the new server
	_ = os.Remove(c.Place.Socket)      // of a server that was killed
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: c.Place.Socket, Net: "unix"})
	if err != nil {
		return err
	}
	listener.SetUnlinkOnClose(false)
	defer listener.Close() //nolint:errcheck // the server has its own copy
	err = os.Chmod(c.Place.Socket, 0o600)
	if err == nil {
		err = c.hand(listener)
	}
	if err != nil {
		c.Place.clear()
	}
	return err
}

func (c *Client) hand(listener *net.UnixListener) error {
	f, err := listener.File()
	if err != nil {
		return err
	}
	defer f.Close()
	return c.Start(c.Place, f)
}
