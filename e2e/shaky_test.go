//go:build unix

package e2e

import (
	"bytes"
	"net"
	"sync"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// shaky is a way to a server that breaks in the way that a test wants.
type shaky struct {
	host string // as DOCKER_HOST takes it
	port int    // where it is a TCP port

	dial             func() (net.Conn, error)
	network, address string
	work             sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener
	lines    map[*line]struct{}
	frozen   bool // new lines are
	holds    bool // the end of an attached stream is not passed on to the client
}

// line is one connection through it.
type line struct {
	client, server net.Conn
	flows          chan struct{} // closed unless it is frozen
	attach         bool          // it carries the stdio of a container or of an exec
}

// newShaky returns a way to the engine, at a Unix socket, where the engine counts as one of this machine,
// or at a TCP port, where it does not.
func newShaky(t *testing.T, network string) *shaky {
	t.Helper()
	e := testenv.Docker(t)
	return newShakyTo(t, network, func() (net.Conn, error) { return dialEngine(e) })
}

// newShakyTo returns a way that works.
func newShakyTo(t *testing.T, network string, dial func() (net.Conn, error)) *shaky {
	t.Helper()
	s := &shaky{dial: dial, network: network, address: "127.0.0.1:0", lines: map[*line]struct{}{}}
	if network == "unix" {
		s.address = testenv.TempDir(t) + "/docker.sock"
	}
	s.restore(t)
	s.address = s.listener.Addr().String()
	s.host = network + "://" + s.address
	if tcp, ok := s.listener.Addr().(*net.TCPAddr); ok {
		s.port = tcp.Port
	}
	t.Cleanup(func() {
		s.thaw()
		s.cut()
		s.work.Wait()
	})
	return s
}

// restore lets the server be reached again.
func (s *shaky) restore(t *testing.T) {
	t.Helper()
	l, err := net.Listen(s.network, s.address)
	if err != nil {
		t.Fatal(err)
	}
	s.listener = l
	s.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.work.Go(func() { s.carry(c) })
		}
	})
}

// cut breaks every connection and refuses new ones, as a server does that ends.
func (s *shaky) cut() {
	_ = s.listener.Close()
	s.each(func(l *line) { l.close() })
}

// reset breaks every connection in the middle of what is under way, and refuses new ones.
func (s *shaky) reset() {
	_ = s.listener.Close()
	s.each((*line).reset)
}

// cutAttached breaks the connections that carry somebody's stdio.
func (s *shaky) cutAttached() {
	s.each(func(l *line) {
		if l.attach {
			l.close()
		}
	})
}

// freeze lets nothing pass any more and breaks nothing, as a network does that lost its way.
func (s *shaky) freeze() {
	s.freezeOpen()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = true
}

// freezeOpen does it to the connections that there are, as a network does that forgot them.
func (s *shaky) freezeOpen() { s.each((*line).freeze) }

func (s *shaky) thaw() {
	s.each((*line).thaw)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = false
}

// hold keeps attached connections open that the server has ended.
func (s *shaky) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = true
}

func (s *shaky) each(do func(*line)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.lines {
		do(l)
	}
}

// carry passes on what comes in both directions.
func (s *shaky) carry(client net.Conn) {
	server, err := s.dial()
	if err != nil {
		_ = client.Close()
		return
	}
	l := &line{client: client, server: server}
	defer l.close()
	s.mu.Lock()
	l.freeze()
	if !s.frozen {
		l.thaw()
	}
	s.lines[l] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.lines, l)
		s.mu.Unlock()
	}()
	var work sync.WaitGroup
	work.Go(func() {
		s.pass(l, server, client, func(data []byte) {
			s.mu.Lock()
			defer s.mu.Unlock()
			request, _, _ := bytes.Cut(data, []byte(" HTTP/"))
			l.attach = l.attach || bytes.Contains(request, []byte("/attach?")) || bytes.Contains(request, []byte("/exec/")) && bytes.HasSuffix(request, []byte("/start"))
		})
		if half, ok := server.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	})
	s.pass(l, client, server, func([]byte) {})
	s.mu.Lock()
	held := l.attach && s.holds
	s.mu.Unlock()
	if !held {
		_ = client.Close()
	}
	work.Wait()
}

func (s *shaky) pass(l *line, to, from net.Conn, look func([]byte)) {
	buf := make([]byte, 1<<15)
	for {
		n, err := from.Read(buf)
		look(buf[:n])
		s.mu.Lock()
		flows := l.flows
		s.mu.Unlock()
		<-flows
		if _, failed := to.Write(buf[:n]); failed != nil || err != nil {
			return
		}
	}
}

// freeze and thaw are called with the lock.
func (l *line) freeze() {
	if l.flows == nil || isClosed(l.flows) {
		l.flows = make(chan struct{})
	}
}

func (l *line) thaw() {
	if !isClosed(l.flows) {
		close(l.flows)
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// reset breaks it at once and has both sides hear of that.
func (l *line) reset() {
	for _, c := range []net.Conn{l.client, l.server} {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	}
	l.close()
}

func (l *line) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}
