package ssh

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// proveForward finds out whether sshd forwards Unix sockets to here.
func (b *Backend) proveForward(ctx context.Context) {
	l, err := b.forwarded(ctx)
	if err == nil {
		err = l.Close()
	}
	note := "tool calls come over channels that sshd forwards"
	if err != nil {
		b.forward = err.Error()
		note = "tool calls are relayed by the guest agent, for sockets are not forwarded: " + b.forward
	}
	b.info.Notes = append(b.info.Notes, note)
}

// forwarded opens a socket of sshd's that was dialled from there.
func (b *Backend) forwarded(ctx context.Context) (net.Listener, error) {
	raw, err := b.listenUnix(ctx, b.NewSocketPath())
	if err != nil {
		return nil, err
	}
	l := &forwarding{Listener: raw}
	if l.release, err = b.Prove(ctx, l); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// listenUnix is bounded by ctx: the connection may have frozen.
func (b *Backend) listenUnix(ctx context.Context, name string) (net.Listener, error) {
	type opened struct {
		l   net.Listener
		err error
	}
	done := make(chan opened, 1)
	go func() {
		l, err := b.link.Conn.ListenUnix(name)
		done <- opened{l, err}
	}()
	select {
	case o := <-done:
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
	if network != "unix" || address != "" || b.forward != "" || b.Err() != nil {
		return b.Guest.Listen(ctx, network, address)
	}
	l, err := b.forwarded(ctx)
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
