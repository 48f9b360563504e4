package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/owner"
)

// DefaultIdle is how long a server stays without sessions and requests.
const DefaultIdle = 5 * time.Minute

// Config is what a server needs to know. It does not look around for itself.
type Config struct {
	Place   Place
	Version string           // of this program
	Idle    time.Duration    // how long it stays without sessions and requests; 0 is DefaultIdle
	Inside  bool             // a run has started it, whose end it does not survive
	Temp    []string         // temporary directories to sweep at start, besides the system's own
	Pruners []backend.Pruner // of the places of backends, which are swept then too

	// Openers returns the backends for a caller.
	Openers func(c Caller) map[string]backend.Opener

	// Log returns what records of a level and above are written to. It must not be nil.
	Log func(slog.Level) *slog.Logger
}

// Caller is whose cell is to run.
type Caller struct {
	Env      map[string]string // its variables
	Dir      string            // its working directory
	Log      *slog.Logger
	Progress func(text string) // told of what takes time, and "" when that is over; nil: it does not want to know
}

// Server holds sessions and serves callers.
type Server struct {
	config   Config
	codec    codec
	log      *slog.Logger
	sessions *hermes.Sessions
	alive    *alive
	listener *net.UnixListener
	socket   os.FileInfo // of our own socket: another in its place is another server's

	leave   sync.Once
	life    context.Context //nolint:containedctx // the life of the server itself, ended by stop
	end     context.CancelCauseFunc
	serving sync.WaitGroup

	requests sync.WaitGroup // that have begun; none begins once it is retired

	mu      sync.Mutex
	active  int       // requests
	quiet   time.Time // since when there has been nothing to do; zero while there is
	retired bool      // no request may begin
}

// Inherited is the listener that Command passes to the program that it starts.
func Inherited() (*net.UnixListener, error) {
	const descriptor = 3
	f := os.NewFile(descriptor, "listener")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("listener on descriptor %d: %w", descriptor, err)
	}
	u, ok := l.(*net.UnixListener)
	if !ok {
		_ = l.Close()
		return nil, fmt.Errorf("listener on descriptor %d: it is of %s", descriptor, l.Addr().Network())
	}
	return u, nil
}

// Serve serves on the listener, which it closes, until there has been nothing to do for a while or
// ctx ends. All sessions have ended when it returns.
func Serve(ctx context.Context, c Config, l *net.UnixListener) error {
	s, err := newServer(ctx, c, l)
	if err != nil {
		refuse(c, l, err)
		return err
	}
	s.log.Info("session server: start", "version", c.Version, "socket", c.Place.Socket)
	s.serving.Go(s.keepTime)
	s.serving.Go(s.sweep)
	defer context.AfterFunc(ctx, func() { s.stop(endSignal) })()
	s.accept()
	err = s.close()
	s.log.Info("session server: end", "cause", context.Cause(s.life), "error", err)
	return err
}

// refuse tells callers why there is no server: where its disk is full nothing else can tell them. The
// first one is about to call, for it has started this; those who come after it start another.
func refuse(c Config, l *net.UnixListener, why error) {
	defer l.Close() //nolint:errcheck // nothing was to be kept
	codec, err := newCodec()
	first := acceptWithin(l, peerWait)
	c.Place.clear()
	for raw := first; raw != nil && err == nil; raw = acceptWithin(l, lastCalls) {
		caller := &conn{Conn: raw, codec: codec}
		_ = caller.SetDeadline(time.Now().Add(peerWait))
		if _, _, err := caller.receive(); err == nil {
			_ = caller.send(kindOther, otherVersion{Protocol: protocol, Version: c.Version, Failed: why.Error()})
		}
		caller.close()
	}
}

// lastCalls is how long those may take to be accepted who have called a server at its end.
const lastCalls = 100 * time.Millisecond

// acceptWithin returns the next connection; nil if none comes.
func acceptWithin(l *net.UnixListener, wait time.Duration) *net.UnixConn {
	_ = l.SetDeadline(time.Now().Add(wait))
	raw, err := l.AcceptUnix()
	if err != nil {
		return nil
	}
	return raw
}

func newServer(ctx context.Context, c Config, l *net.UnixListener) (*Server, error) {
	if c.Idle <= 0 {
		c.Idle = DefaultIdle
	}
	l.SetUnlinkOnClose(false) // by then the path may be another server's
	if err := c.Place.make(); err != nil {
		return nil, err
	}
	socket, err := os.Lstat(c.Place.Socket)
	if err != nil {
		return nil, fmt.Errorf("socket of the session server: %w", err)
	}
	codec, err := newCodec()
	if err != nil {
		return nil, err
	}
	log := c.Log(slog.LevelInfo)
	if err := owner.Self().Write(c.Place.Dir); err != nil {
		return nil, fmt.Errorf("mark the directory of the session server: %w", err)
	}
	s := &Server{
		config: c, codec: codec, log: log, sessions: hermes.NewSessions(log), listener: l, socket: socket,
		quiet: time.Now(),
	}
	s.alive = loadAlive(c.Place.aliveFile(), codec, s.sessions, s.ours)
	s.life, s.end = context.WithCancelCause(context.WithoutCancel(ctx))
	return s, nil
}

// accept takes connections until the listener is closed.
func (s *Server) accept() {
	for {
		raw, err := s.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many open files, for example
			s.log.Warn("session server: accept", "error", err)
			s.pause()
			continue
		}
		s.serving.Go(func() {
			c := &conn{Conn: raw, codec: s.codec}
			defer c.close()
			if err := samePeer(raw); err != nil {
				s.log.Warn("session server: connection refused", "error", err)
				return
			}
			if err := s.answer(c); err != nil {
				s.log.Debug("session server: connection", "error", err)
			}
		})
	}
}

// pause lets what is short come back.
func (s *Server) pause() {
	const long = 100 * time.Millisecond
	select {
	case <-time.After(long):
	case <-s.life.Done():
	}
}

// sweep removes what servers and runs that were killed have left.
func (s *Server) sweep() {
	removed, err := sweep(s.config.Temp)
	for _, prune := range s.config.Pruners {
		seen, failed := prune(s.life)
		removed, err = removed+removals(seen), errors.Join(err, failed)
	}
	if removed > 0 || err != nil {
		s.log.Info("session server: sweep", "removed", removed, "error", err)
	}
}

// graceWait bounds how long the cells of a server that ends have for their own end, whatever grace their
// callers would give them.
const graceWait = 10 * time.Second

// close ends what is left when no more connections come.
func (s *Server) close() error {
	s.alive.finish()
	ended := make(chan struct{})
	s.serving.Go(func() {
		s.requests.Wait()
		close(ended)
	})
	select {
	case <-ended:
	case <-time.After(graceWait):
	}
	err := s.sessions.Close()
	s.serving.Wait()
	return err
}

// retire takes the server out of the way of the next one. It is idempotent.
func (s *Server) retire() {
	s.leave.Do(func() {
		s.mu.Lock()
		s.retired = true
		s.mu.Unlock()
		if s.ours() { // which cannot be told any more when the listener is closed
			s.config.Place.clear()
		}
		_ = s.listener.Close()
	})
}

// ours tells whether the path of the socket still leads here.
func (s *Server) ours() bool {
	there, err := os.Lstat(s.config.Place.Socket)
	return err == nil && os.SameFile(there, s.socket)
}

// Why a server ends, as its cells are told.
const (
	endIdle     = "the session server had nothing to do"
	endReplaced = "a session server of another version takes over"
	endSignal   = "the session server was told to end"
	endAsked    = "the session server was asked to end"
	endCutOff   = "the socket of the session server is gone"
)

// stop ends the server and the cells that run, which hear of it before anything else can end them.
func (s *Server) stop(reason string) {
	s.end(&hermes.Interrupt{Reason: reason})
	s.retire()
}

// beat is how often the server looks at its sessions and its socket.
const beat = 2 * time.Second

// keepTime ends the server when nobody needs it.
func (s *Server) keepTime() {
	tick := time.NewTicker(min(beat, max(s.config.Idle/4, 10*time.Millisecond)))
	defer tick.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-tick.C:
		}
		s.note(s.alive.look())
		switch {
		case !s.ours():
			s.stop(endCutOff)
		case s.unused(s.config.Idle):
			s.stop(endIdle)
		}
	}
}

// note logs that the list of sessions could not be written, which is no reason to run nothing.
func (s *Server) note(err error) {
	if err != nil {
		s.log.Warn("session server: remember sessions", "error", err)
	}
}

// unused tells whether there has been nothing to do for so long; if so, no request begins any more.
func (s *Server) unused(long time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.active > 0 || !s.sessions.Idle():
		s.quiet = time.Time{}
	case s.quiet.IsZero():
		s.quiet = time.Now()
	}
	if s.quiet.IsZero() || time.Since(s.quiet) < long {
		return false
	}
	s.retired = true
	return true
}

// begin counts a request in, unless the server is about to end.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return false
	}
	s.active++
	s.requests.Add(1)
	s.quiet = time.Time{}
	return true
}

func (s *Server) done() {
	s.requests.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active--; s.active == 0 && s.sessions.Idle() {
		s.quiet = time.Now()
	}
}
