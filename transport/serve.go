package transport

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
)

// errGone is the cause of a handler's context when the caller has closed its connection.
var errGone = errors.New("the caller is gone")

// pipelined is how many requests of one connection wait while another one is answered.
const pipelined = 64

// Stream is an Endpoint over a listener: one JSON object a line. Requests of one connection are
// answered one after another, in order; connections are served concurrently. A peer that closes its
// sending side gives up its calls.
type Stream struct {
	wire   *Wire
	mem    *Memory
	ln     net.Listener
	env    map[string]string
	ctx    context.Context //nolint:containedctx // the life of the endpoint itself, ended by Close
	cancel context.CancelCauseFunc
	once   sync.Once
	err    error
}

var _ Endpoint = (*Stream)(nil)

// NewStream returns an endpoint that answers on ln, which it closes. Address is what the script
// finds in EnvSocket.
func NewStream(ln net.Listener, address string, o Options) *Stream {
	w := NewWire(o)
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Stream{
		wire: w, mem: NewMemory(o), ln: ln, ctx: ctx, cancel: cancel,
		env: map[string]string{EnvSocket: address, EnvToken: w.Token()},
	}
}

// Env implements Endpoint.
func (s *Stream) Env() map[string]string { return maps.Clone(s.env) }

// Close implements Endpoint.
func (s *Stream) Close() error {
	s.once.Do(func() {
		s.cancel(net.ErrClosed)
		if err := s.ln.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			s.err = fmt.Errorf("close listener: %w", err)
		}
	})
	return s.err
}

// Serve implements Endpoint.
func (s *Stream) Serve(ctx context.Context, h Handler) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	defer context.AfterFunc(ctx, func() { _ = s.ln.Close() })()
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		conn, err := s.accept(ctx)
		if err != nil {
			cancel(err)
			return context.Cause(ctx)
		}
		wg.Go(func() { s.serveConn(ctx, conn, h) })
	}
}

// accept returns the next connection. Running out of descriptors is no reason to stop: calls that
// are being answered will give some back.
func (s *Stream) accept(ctx context.Context) (net.Conn, error) {
	for {
		conn, err := s.ln.Accept()
		if err == nil {
			return conn, nil
		}
		if s.ctx.Err() != nil { // before ctx: Close ends the listener first
			return nil, context.Cause(s.ctx)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !outOfDescriptors(err) {
			return nil, fmt.Errorf("accept tool calls: %w: %w", backend.ErrUnavailable, err)
		}
		s.wire.Log().WarnContext(ctx, "cannot accept a connection for tool calls", "error", err)
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// pending is a request that waits for its answer.
type pending struct {
	request *Request
	grant   Grant
}

// serveConn answers the requests of one connection. Reading goes on while a call runs: that is how
// the death of its caller is seen.
func (s *Stream) serveConn(ctx context.Context, conn net.Conn, h Handler) {
	ctx, cancel := context.WithCancelCause(ctx)
	unblock := context.AfterFunc(ctx, func() { _ = conn.Close() })
	queue := make(chan pending, pipelined)
	var wg sync.WaitGroup
	wg.Go(func() { cancel(s.readConn(ctx, conn, queue)) })
	var buf []byte // of one reply after another
	for p := range queue {
		if ctx.Err() == nil {
			var err error
			if buf, err = s.answer(ctx, conn, h, p.request, buf); err != nil {
				cancel(errGone)
			}
		}
		p.grant.Release()
	}
	wg.Wait()
	if unblock() {
		_ = conn.Close()
	}
}

// readConn reads requests into the queue, which it closes, until the connection or ctx ends.
func (s *Stream) readConn(ctx context.Context, conn net.Conn, queue chan<- pending) error {
	defer close(queue)
	r := newLineReader(conn, s.wire, s.mem)
	for {
		request, grant, err := r.next(ctx)
		if err != nil {
			return errGone
		}
		select {
		case queue <- pending{request, grant}:
		case <-ctx.Done():
			grant.Release()
			return context.Cause(ctx)
		}
	}
}

// answer answers one request and returns buf, or a larger one, for the next reply. What a handler
// returned because its context has ended is no answer.
func (s *Stream) answer(ctx context.Context, conn net.Conn, h Handler, r *Request, buf []byte) ([]byte, error) {
	reply, grant := s.wire.Answer(ctx, h, r, buf)
	defer grant.Release()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	buf = reply[0]
	if len(reply) == 1 {
		_, err := conn.Write(buf)
		return buf, err
	}
	_, err := reply.WriteTo(conn)
	return buf, err
}
