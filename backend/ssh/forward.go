package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/hermes-exec/hermes-exec/internal/guest"
)

// proveForward finds out whether sshd forwards Unix sockets to here. What has proved it is the first that
// Listen gives.
func (b *Backend) proveForward(ctx context.Context) {
	l, err := b.first.take(b.Guest), error(nil)
	if l == nil {
		l, err = b.forwarded(ctx)
	}
	if err == nil {
		b.ready.Store(l)
	}
	note := "tool calls come over channels that sshd forwards"
	if err != nil {
		b.noForward = err.Error()
		note = "tool calls are relayed by the guest agent, for sockets are not forwarded: " + b.noForward
	}
	b.info.Notes = append(b.info.Notes, note)
}

// forwarded opens a socket of sshd's that was dialled from there. It lies in a directory of the agent's,
// so that the agent can have reached no other one, and takes one round trip.
func (b *Backend) forwarded(ctx context.Context) (*forwarding, error) {
	return b.link.forwarded(ctx, b.Guest, b.NewSocketPath())
}

// forwarded may leave a goroutine behind when ctx ends. It closes what it still gets, and ends at the latest
// with the connection.
func (l *link) forwarded(ctx context.Context, g *guest.Guest, path string) (*forwarding, error) {
	type opened struct {
		l   *forwarding
		err error
	}
	done := make(chan opened, 1)
	go func() { // the connection may have frozen
		raw, err := l.Conn.ListenUnix(path)
		done <- opened{&forwarding{Listener: raw}, err}
	}()
	select {
	case o := <-done:
		if o.err == nil {
			o.err = o.l.prove(ctx, g)
		}
		return o.l, o.err
	case <-ctx.Done():
		go func() {
			if o := <-done; o.err == nil {
				_ = o.l.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// Listen opens a socket there that sshd forwards, where it does, else one that the agent relays.
func (b *Backend) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	if network != "unix" || address != "" || b.noForward != "" || b.Err() != nil {
		return b.Guest.Listen(ctx, network, address)
	}
	l, err := b.ready.Swap(nil), error(nil)
	if l == nil {
		l, err = b.forwarded(ctx)
	}
	if err != nil {
		b.log.WarnContext(ctx, "ssh: listen by forwarding", "error", err)
		return b.Guest.Listen(ctx, network, address)
	}
	ours, err := b.opened.Listener(l)
	if err != nil {
		return nil, wrap("listen on unix", err)
	}
	return ours, nil
}

// forwarding is a listener at sshd.
type forwarding struct {
	net.Listener
	release func() // nil until it is proved
	once    sync.Once
	err     error
}

// calledWait bounds the wait for a call that the agent has made.
const calledWait = 10 * time.Second

// prove has the agent dial the socket. Where that is refused, or does not lead here, it is closed.
func (f *forwarding) prove(ctx context.Context, g *guest.Guest) error {
	called, said := make(chan error, 1), make(chan struct{})
	go func() {
		c, err := f.Accept()
		called <- err
		if err == nil {
			<-said // who hung up before would be an error there
			_ = c.Close()
		}
	}()
	release, err := g.Dial(ctx, f.Addr())
	close(said)
	if err == nil {
		f.release = release
		late := time.AfterFunc(calledWait, func() { _ = f.Listener.Close() })
		defer late.Stop()
	} else {
		_ = f.Listener.Close() // so that Accept returns
	}
	if calledErr := <-called; err == nil && calledErr != nil {
		err = fmt.Errorf("hear of a call to %s: %w", f.Addr(), calledErr)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return nil
}

// Accept waits for a connection.
func (f *forwarding) Accept() (net.Conn, error) {
	raw, err := f.Listener.Accept()
	if errors.Is(err, io.EOF) {
		return nil, net.ErrClosed // the way a listener of this library ends
	}
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, pieces: make(chan []byte), written: make(chan result), closed: make(chan struct{})}
	go c.write()
	return c, nil
}

// Close ends it, and removes the socket, which sshd leaves there.
func (f *forwarding) Close() error {
	f.once.Do(func() {
		if f.release != nil {
			f.release()
		}
		f.err = ignoreEOF(f.Listener.Close())
	})
	return f.err
}

// ignoreEOF takes the end of what both sides close for no error.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// noDeadlines says that there are none: closing a connection unblocks whoever waits.
func noDeadlines(time.Time) error { return os.ErrNoDeadline }
