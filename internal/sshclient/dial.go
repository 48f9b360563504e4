package sshclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/terse"
)

// mostJumps bounds a chain of hosts: a configuration may jump in a circle.
const mostJumps = 8

// aliveEvery is how often a host is asked whether it is there, where the configuration does not say;
// aliveMisses is how many answers may fail to come.
const (
	aliveEvery  = 15 * time.Second
	aliveMisses = 2
)

// Conn is a connection to a host. It is safe for concurrent use.
type Conn struct {
	*ssh.Client
	Host *Host

	below    *Conn // the connection that this one goes through
	forwards forwards
	once     sync.Once
	over     chan struct{} // closed when the connection is
}

// Dial connects to a host, through those that its configuration names. Ctx bounds the dialling alone.
func Dial(ctx context.Context, o Options) (*Conn, error) {
	h, err := Resolve(ctx, o)
	if err != nil {
		return nil, err
	}
	return dial(ctx, o, h, 0)
}

func dial(ctx context.Context, o Options, h *Host, depth int) (*Conn, error) {
	if depth > mostJumps {
		return nil, fmt.Errorf("%s: more than %d hosts to jump over", h.Alias, mostJumps)
	}
	below, err := o.jump(ctx, h, depth)
	if err != nil {
		return nil, err
	}
	wire, err := o.open(ctx, h, below)
	if err != nil {
		err = h.unreached(err)
	} else {
		var c *Conn
		if c, err = o.handshake(ctx, h, wire); err == nil {
			c.below = below
			go c.watch()
			return c, nil
		}
		_ = wire.Close()
	}
	if below != nil {
		_ = below.Close()
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return nil, fmt.Errorf("connect to %s: %w", h, err)
}

// unreached says what to do about a host that no connection leads to.
func (h *Host) unreached(err error) error {
	dialled := errors.As(err, new(*net.OpError))
	err = terse.Dial(err, h.Address())
	unknown, ok := errors.AsType[*net.DNSError](err)
	switch {
	case ok && unknown.IsNotFound:
		return backend.Advise(err, "check the name, or give the address as HostName of %s in ~/.ssh/config", h.Alias)
	case dialled:
		return backend.Advise(err, "check that this gets there: ssh -p %d %s true", h.Port, h.Alias)
	}
	return err
}

// jump connects to the last of the hosts to go through; nil if there is none.
func (o Options) jump(ctx context.Context, h *Host, depth int) (*Conn, error) {
	var below *Conn
	for i, name := range h.Jumps {
		next := Options{Env: o.Env, Prompt: o.Prompt, AcceptNew: o.AcceptNew}
		var err error
		if next.User, next.Host, next.Port, err = splitJump(name); err != nil {
			return nil, err
		}
		jump, err := Resolve(ctx, next)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			jump.Jumps, jump.Command = nil, "" // it is reached through the one before
		}
		over, err := next.over(ctx, jump, below, depth+1)
		if err != nil {
			if below != nil {
				_ = below.Close()
			}
			return nil, fmt.Errorf("jump host %s: %w", name, err)
		}
		below = over
	}
	return below, nil
}

// over connects to a jump host, through the one before if there is one.
func (o Options) over(ctx context.Context, h *Host, below *Conn, depth int) (*Conn, error) {
	if below == nil {
		return dial(ctx, o, h, depth)
	}
	wire, err := o.open(ctx, h, below)
	if err != nil {
		return nil, err
	}
	c, err := o.handshake(ctx, h, wire)
	if err != nil {
		return nil, errors.Join(err, wire.Close())
	}
	c.below = below
	go c.watch()
	return c, nil
}

// splitJump reads [user@]host[:port], or an ssh:// URL of it.
func splitJump(text string) (user, host string, port int, err error) {
	rest := strings.TrimPrefix(strings.TrimSpace(text), "ssh://")
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		user, rest = rest[:i], rest[i+1:]
	}
	host = strings.Trim(rest, "[]")
	if name, number, splitErr := net.SplitHostPort(rest); splitErr == nil {
		host = name
		if port, err = strconv.Atoi(number); err != nil {
			return "", "", 0, fmt.Errorf("jump host %q: %q is no port", text, number)
		}
	}
	return user, host, port, nil
}

// open opens a byte stream to the host: through another one, by a program, or directly.
func (o Options) open(ctx context.Context, h *Host, below *Conn) (net.Conn, error) {
	switch {
	case below != nil:
		return below.DialContext(ctx, "tcp", h.Address())
	case h.Command != "":
		return o.runProxy(h)
	default:
		return (&net.Dialer{Timeout: h.ConnectTimeout}).DialContext(ctx, "tcp", h.Address())
	}
}

// handshake makes a connection of a stream. It proves the host's key before anything is said.
func (o Options) handshake(ctx context.Context, h *Host, wire net.Conn) (*Conn, error) {
	known, err := newHostKeys(h)
	if err != nil {
		return nil, err
	}
	known.acceptNew = o.AcceptNew || slices.Contains([]string{"accept-new", "no", "off"}, h.Checking)
	keys, err := newKeyring(ctx, h, o)
	if err != nil {
		return nil, err
	}
	defer keys.close()
	defer context.AfterFunc(ctx, func() { _ = wire.Close() })()
	checked := func(_ string, remote net.Addr, key ssh.PublicKey) error { return known.check(ctx, remote, key) }
	c, channels, requests, err := ssh.NewClientConn(wire, h.Address(), &ssh.ClientConfig{
		User: h.User, Auth: keys.methods(), HostKeyCallback: checked, HostKeyAlgorithms: known.algorithms(),
		ClientVersion: "SSH-2.0-hermes-exec",
	})
	if err != nil {
		return nil, keys.explain(err)
	}
	return &Conn{Client: ssh.NewClient(c, channels, requests), Host: h, over: make(chan struct{})}, nil
}

// watch waits for the end of the connection, and makes one of a host that has gone silent.
func (c *Conn) watch() {
	defer close(c.over)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait()
	}()
	every := time.NewTicker(cmp.Or(c.Host.AliveInterval, aliveEvery))
	defer every.Stop()
	answers := make(chan struct{}, 1)
	asked, missed := false, 0
	for {
		select {
		case <-ended:
			_ = c.Close()
			return
		case <-answers:
			asked, missed = false, 0
		case <-every.C:
			if asked {
				if missed++; missed >= max(aliveMisses, c.Host.AliveCount-1) {
					_ = c.Close()
				}
				continue
			}
			asked = true
			go func() {
				_, _, _ = c.SendRequest("keepalive@openssh.com", true, nil) // a refusal is an answer too
				answers <- struct{}{}
			}()
		}
	}
}

// Over is closed when the connection is.
func (c *Conn) Over() <-chan struct{} { return c.over }

// Close ends the connection, and those that it goes through.
func (c *Conn) Close() error {
	var err error
	c.once.Do(func() {
		err = c.Client.Close()
		if errors.Is(err, net.ErrClosed) {
			err = nil
		}
		if c.below != nil {
			err = errors.Join(err, c.below.Close())
		}
	})
	return err
}
