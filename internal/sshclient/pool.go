package sshclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Pool shares connections: to one host there is one, as long as it has room and somebody uses it. Its
// zero value is empty. It is safe for concurrent use.
type Pool struct {
	mu    sync.Mutex
	hosts map[string]*shared
}

// shared are the connections to one host for one caller. Dialling and looking for room go one after
// another, so that ten callers at once make one connection.
type shared struct {
	turn  chan struct{} // holds a value while somebody has it
	conns []*Conn
	users map[*Conn]int
}

// Open opens a session channel to a host, on a connection that has room for it, else on a new one.
func (p *Pool) Open(ctx context.Context, o Options) (*Channel, error) {
	h, err := Resolve(ctx, o)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%+v %s %t", *h, o.Key, o.AcceptNew)
	s := p.shared(key)
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for _, c := range p.living(s) {
		ch, err := newChannel(ctx, c)
		if err == nil {
			return p.adopt(s, key, c, ch), nil
		}
		if full := (*ssh.OpenChannelError)(nil); !errors.As(err, &full) {
			_ = c.Close() // it is broken, and known to be
		}
	}
	c, err := dial(ctx, o, h, 0)
	if err != nil {
		return nil, err
	}
	ch, err := newChannel(ctx, c)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open a session on %s: %w", h, err), c.Close())
	}
	return p.adopt(s, key, c, ch), nil
}

func (p *Pool) shared(key string) *shared {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hosts == nil {
		p.hosts = map[string]*shared{}
	}
	s := p.hosts[key]
	if s == nil {
		s = &shared{turn: make(chan struct{}, 1), users: map[*Conn]int{}}
		p.hosts[key] = s
	}
	return s
}

// living are the connections that have not ended.
func (p *Pool) living(s *shared) []*Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.conns = slices.DeleteFunc(s.conns, func(c *Conn) bool {
		select {
		case <-c.Over():
			return true
		default:
			return false
		}
	})
	return slices.Clone(s.conns)
}

// adopt counts in the user of a channel.
func (p *Pool) adopt(s *shared, key string, c *Conn, ch *Channel) *Channel {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(s.conns, c) {
		s.conns = append(s.conns, c)
	}
	s.users[c]++
	ch.leave = func() { p.leave(key, c) }
	return ch
}

// leave closes a connection that nobody uses any more.
func (p *Pool) leave(key string, c *Conn) {
	p.mu.Lock()
	s := p.hosts[key]
	s.users[c]--
	last := s.users[c] == 0
	if last {
		delete(s.users, c)
		s.conns = slices.DeleteFunc(s.conns, func(other *Conn) bool { return other == c })
	}
	p.mu.Unlock()
	if last {
		_ = c.Close()
	}
}
