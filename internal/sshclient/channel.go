package sshclient

import (
	"context"
	"fmt"
	"io"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Channel is one session channel on a shared connection: the stdio of one command. The library lets no ctx
// end what it does, so that nobody waits for the goroutines that open a channel, ask for something on it and
// listen to it: they end with the host's answer, with the channel or with the connection. Whose caller has
// given up closes what it still gets.
type Channel struct {
	ssh.Channel
	Conn *Conn

	exited chan struct{} // closed when the command has ended, or the channel has
	status int           // valid afterwards
	leave  func()        // the connection
	beside func(ctx context.Context) (*Channel, error)
	once   sync.Once

	mu      sync.Mutex
	writing int  // Writes that are under way
	ending  bool // nothing more is to be written
}

// newChannel is bounded by ctx: a connection may have frozen.
func newChannel(ctx context.Context, c *Conn) (*Channel, error) {
	type opened struct {
		channel  ssh.Channel
		requests <-chan *ssh.Request
		err      error
	}
	done := make(chan opened, 1)
	go func() {
		channel, requests, err := c.OpenChannel("session", nil)
		done <- opened{channel, requests, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return nil, o.err
		}
		ch := &Channel{Channel: o.channel, Conn: c, exited: make(chan struct{}), status: -1}
		go ch.listen(o.requests)
		return ch, nil
	case <-ctx.Done():
		go func() {
			if o := <-done; o.err == nil {
				go ssh.DiscardRequests(o.requests)
				_ = o.channel.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// Write writes to the command.
func (c *Channel) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.ending {
		c.mu.Unlock()
		return 0, io.EOF
	}
	c.writing++
	c.mu.Unlock()
	n, err := c.Channel.Write(p)
	c.mu.Lock()
	c.writing--
	last := c.ending && c.writing == 0
	c.mu.Unlock()
	if last {
		_ = c.Channel.CloseWrite() // that it has ended already is no failure
	}
	return n, err
}

// CloseWrite passes on the end of what was written, once a Write that is under way has ended: the library
// wants no other beside it.
func (c *Channel) CloseWrite() error {
	c.mu.Lock()
	done := c.ending || c.writing > 0
	c.ending = true
	c.mu.Unlock()
	if done {
		return nil
	}
	return c.Channel.CloseWrite() // not under the lock: the connection may have frozen
}

// Beside opens another channel on the connection of this one, which is not closed yet, and on no other.
func (c *Channel) Beside(ctx context.Context) (*Channel, error) { return c.beside(ctx) }

// Subsystem starts a subsystem, and tells whether the host has it.
func (c *Channel) Subsystem(ctx context.Context, name string) (bool, error) {
	type answer struct {
		ok  bool
		err error
	}
	done := make(chan answer, 1)
	go func() {
		ok, err := c.SendRequest("subsystem", true, ssh.Marshal(struct{ Name string }{name}))
		done <- answer{ok, err}
	}()
	select {
	case a := <-done:
		return a.ok, a.err
	case <-ctx.Done():
		return false, context.Cause(ctx) // the request ends with the channel
	}
}

// Exec starts a command. It does not wait for the host's word on that, which costs a round trip: a
// command that is refused has ended at once.
func (c *Channel) Exec(command string) error {
	if _, err := c.SendRequest("exec", false, ssh.Marshal(struct{ Command string }{command})); err != nil {
		return fmt.Errorf("run a command on %s: %w", c.Conn.Host, err)
	}
	return nil
}

// listen takes what the host tells of the command.
func (c *Channel) listen(requests <-chan *ssh.Request) {
	defer close(c.exited)
	for r := range requests {
		var exit struct{ Status uint32 }
		if r.Type == "exit-status" && ssh.Unmarshal(r.Payload, &exit) == nil {
			c.status = int(exit.Status)
		}
		if r.WantReply {
			_ = r.Reply(false, nil)
		}
	}
}

// Exited is closed when the command has ended, or the channel has.
func (c *Channel) Exited() <-chan struct{} { return c.exited }

// Status is the command's exit status, −1 if none was delivered. Valid after Exited.
func (c *Channel) Status() int { return c.status }

// Close closes the channel, and the connection if nobody else uses it.
func (c *Channel) Close() error {
	c.once.Do(func() {
		_ = c.Channel.Close() // that it has ended already is no failure
		c.leave()
	})
	return nil
}
