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
	key := o.key(h)
	s, err := p.take(ctx, key)
	if err != nil {
		return nil, err
	}
	defer s.give()
	for _, c := range p.living(s) {
		leave := p.use(s, key, c) // its last user may go meanwhile
		ch, err := newChannel(ctx, c)
		if err == nil {
			ch = p.adopt(s, key, c, ch)
		}
		leave()
		if err == nil {
			return ch, nil
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

// key says whose connections may be shared: those of callers who would get the same.
func (o Options) key(h *Host) string { return fmt.Sprintf("%+v %s %t", *h, o.Key, o.AcceptNew) }

// take waits for the turn at the connections to a host.
func (p *Pool) take(ctx context.Context, key string) (*shared, error) {
	s := p.shared(key)
	select {
	case s.turn <- struct{}{}:
		return s, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *shared) give() { <-s.turn }

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

// adopt gives a channel its share of the connection.
func (p *Pool) adopt(s *shared, key string, c *Conn, ch *Channel) *Channel {
	ch.leave = p.use(s, key, c)
	ch.beside = func(ctx context.Context) (*Channel, error) {
		other, err := newChannel(ctx, c)
		if err != nil {
			return nil, err
		}
		return p.adopt(s, key, c, other), nil
	}
	return ch
}

// use counts in a user of a connection, until release is called.
func (p *Pool) use(s *shared, key string, c *Conn) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(s.conns, c) {
		s.conns = append(s.conns, c)
	}
	s.users[c]++
	return sync.OnceFunc(func() { p.leave(key, c) })
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
