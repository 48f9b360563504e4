package backendtest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// ErrCut is what both ends of a Link see after Cut.
var ErrCut = errors.New("the link was cut")

// Link is a fault that can be put into any byte stream between two sides: it is slow, comes in small
// pieces, freezes, or breaks. Wrap puts it there; the other methods act on all the streams that it
// was put into, now and later, and may be called concurrently. The zero value is a link without
// faults.
//
// A frozen stream keeps what is under way and accepts no more, as a network does that is silently
// gone: not even a Close comes through to the other side, until Thaw or Cut. End with one of them,
// or the other side stays.
type Link struct {
	Delay time.Duration // added to each transfer
	Chop  int           // bytes that one Read or Write moves at the most; 0 is any number

	mu      sync.Mutex
	frozen  chan struct{} // not nil while frozen; closed at Thaw
	cut     bool
	streams []*stream
}

// Stream is a byte stream whose direction to the other side can be ended alone.
type Stream interface {
	io.ReadWriteCloser
	CloseWrite() error // errors.ErrUnsupported if the stream inside cannot do that
}

// Wrap puts the link into a stream.
func (l *Link) Wrap(inner io.ReadWriteCloser) Stream {
	s := &stream{link: l, inner: inner, pieces: make(chan piece), closed: make(chan struct{}), done: make(chan struct{})}
	go s.pump()
	l.mu.Lock()
	l.streams = append(l.streams, s)
	cut := l.cut
	l.mu.Unlock()
	if cut {
		s.shut(ErrCut)
	}
	return s
}

// Freeze stops everything until Thaw.
func (l *Link) Freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.frozen == nil {
		l.frozen = make(chan struct{})
	}
}

// Thaw lets everything go on, with what was closed in the meantime.
func (l *Link) Thaw() {
	l.mu.Lock()
	if l.frozen != nil {
		close(l.frozen)
		l.frozen = nil
	}
	streams := l.streams
	l.mu.Unlock()
	for _, s := range streams {
		s.settle()
	}
}

// Cut breaks all streams for good: either side sees an error or the end, and nothing more arrives.
func (l *Link) Cut() {
	l.mu.Lock()
	l.cut = true
	streams := l.streams
	l.mu.Unlock()
	for _, s := range streams {
		s.shut(ErrCut)
	}
	l.Thaw()
}

// thawed returns nil, or what is closed when the link thaws.
func (l *Link) thawed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.frozen
}

// piece is what one Read of the inner stream returned.
type piece struct {
	data []byte
	err  error
}

// stream is one stream with a Link in it.
type stream struct {
	link   *Link
	inner  io.ReadWriteCloser
	pieces chan piece
	rest   piece         // what Read has not handed out yet
	half   atomic.Bool   // CloseWrite was called
	done   chan struct{} // closed when pump has ended

	once   sync.Once
	closed chan struct{} // closed by Close or Cut, after err is set
	err    error
}

// pump reads ahead by one piece, so that a Read of ours can be ended while the inner one blocks.
func (s *stream) pump() {
	defer close(s.done)
	for {
		buf := make([]byte, 1<<15)
		n, err := s.inner.Read(buf)
		select {
		case s.pieces <- piece{buf[:n], err}:
		case <-s.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// pass waits until something may come through.
func (s *stream) pass() error {
	for {
		select {
		case <-s.closed:
			return s.err
		default:
		}
		thawed := s.link.thawed()
		if thawed == nil {
			return nil
		}
		select {
		case <-thawed:
		case <-s.closed:
			return s.err
		}
	}
}

// travel is the time that a transfer takes.
func (s *stream) travel() error {
	if s.link.Delay > 0 {
		timer := time.NewTimer(s.link.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.closed:
			return s.err
		}
	}
	return s.pass()
}

func (s *stream) chop(p []byte) []byte {
	if s.link.Chop > 0 && len(p) > s.link.Chop {
		return p[:s.link.Chop]
	}
	return p
}

func (s *stream) Read(p []byte) (int, error) {
	if len(s.rest.data) == 0 && s.rest.err == nil {
		select {
		case s.rest = <-s.pieces:
		case <-s.closed:
			return 0, s.err
		}
		if err := s.travel(); err != nil {
			return 0, err
		}
	}
	if err := s.pass(); err != nil {
		return 0, err
	}
	if len(s.rest.data) == 0 {
		return 0, s.rest.err
	}
	n := copy(s.chop(p), s.rest.data)
	s.rest.data = s.rest.data[n:]
	return n, nil
}

func (s *stream) Write(p []byte) (int, error) {
	if err := s.travel(); err != nil {
		return 0, err
	}
	written := 0
	for written < len(p) {
		if err := s.pass(); err != nil {
			return written, err
		}
		n, err := s.inner.Write(s.chop(p[written:]))
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// CloseWrite ends the direction to the other side. As on a network it does not wait until that side
// learns it.
func (s *stream) CloseWrite() error {
	if _, ok := s.inner.(Stream); !ok {
		return fmt.Errorf("close write: %w", errors.ErrUnsupported)
	}
	s.half.Store(true)
	s.settle()
	return nil
}

// Close ends the stream on this side, and on the other unless the link is frozen.
func (s *stream) Close() error {
	s.shut(net.ErrClosed)
	return nil
}

// shut ends the stream with the error that its users will see.
func (s *stream) shut(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.closed)
	})
	s.settle()
}

// settle lets go of the inner stream as far as this side has, unless the link is frozen.
func (s *stream) settle() {
	s.link.mu.Lock()
	blocked := s.link.frozen != nil && !s.link.cut
	s.link.mu.Unlock()
	if blocked {
		return
	}
	select {
	case <-s.closed:
		_ = s.inner.Close()
		<-s.done
	default:
		if inner, ok := s.inner.(Stream); ok && s.half.Swap(false) {
			_ = inner.CloseWrite()
		}
	}
}
