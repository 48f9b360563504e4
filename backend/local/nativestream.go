package local

import (
	"bytes"
	"crypto/rand"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/keep"
)

const (
	pipeBuffer = 64 << 10        // bytes: what a pipe holds
	stuckWait  = 2 * time.Second // how long Close waits for a writer of the caller's
)

// stream is a pipe by which a process's output comes.
//
// When the process has ended, others may still hold the pipe, so that no end of it comes: those that may
// linger. What lies in it by then has to come all the same. Systems differ in how that can be asked, so
// it is not asked: a mark that nobody can guess is written into the pipe, behind everything else.
type stream struct {
	r, w *os.File // w is the process's end too
	out  *keep.Writer
	mark []byte

	ending atomic.Bool   // the mark may come
	taken  atomic.Int64  // bytes read
	done   chan struct{} // closed when all that the process wrote is with its writer

	counts backend.Counts // valid when done is closed
	err    error          // of the caller's writer; likewise
}

// markSize is how many random bytes a mark has.
const markSize = 16

func newStream(w io.Writer, k *backend.Keep) (*stream, error) {
	s := &stream{out: keep.New(w, k), mark: make([]byte, markSize), done: make(chan struct{})}
	_, _ = rand.Read(s.mark) // never fails
	var err error
	s.r, s.w, err = os.Pipe()
	return s, err
}

// read passes on the output until the mark comes, or the pipe ends or is closed.
func (s *stream) read() {
	defer close(s.done)
	defer func() { s.counts, s.err = s.out.Close() }()
	buf := make([]byte, pipeBuffer)
	held := 0 // bytes at the start of buf that may be a part of the mark
	for {
		n, err := s.r.Read(buf[held:])
		have := buf[:held+n]
		if s.ending.Load() { // before the mark was written: then it is seen here
			if at := bytes.Index(have, s.mark); at >= 0 {
				s.take(have[:at])
				return
			}
		}
		if err != nil {
			s.take(have)
			return
		}
		held = 0
		if s.ending.Load() {
			held = partial(have, s.mark)
		}
		s.take(have[:len(have)-held])
		copy(buf, have[len(have)-held:])
	}
}

// partial is how many bytes at the end of b may be the beginning of mark.
func partial(b, mark []byte) int {
	for n := min(len(b), len(mark)-1); n > 0; n-- {
		if bytes.HasPrefix(mark, b[len(b)-n:]) {
			return n
		}
	}
	return 0
}

func (s *stream) take(b []byte) {
	s.taken.Add(int64(len(b)))
	_, _ = s.out.Write(b) // never fails: the error comes at the end
}

// counted is how much was read: exact when done is closed.
func (s *stream) counted() backend.Counts {
	select {
	case <-s.done:
		return s.counts
	default:
		return backend.Counts{Total: s.taken.Load()}
	}
}

// finish takes what the process has left. Another one may still hold the pipe: what that writes is read
// and thrown away, so that it neither blocks nor meets a closed pipe.
func (s *stream) finish(over func()) {
	s.ending.Store(true)
	go func() { // a pipe that is full takes it when the reader comes to that
		_, _ = s.w.Write(s.mark)
		_ = s.w.Close()
	}()
	<-s.done
	go func() {
		_, _ = io.Copy(io.Discard, s.r)
		_ = s.r.Close()
		over()
	}()
}

// Close ends the reading. A writer that is stuck is its owner's to free.
func (s *stream) Close() error {
	_ = s.r.Close() // it may have ended by itself
	select {
	case <-s.done:
	case <-time.After(stuckWait):
	}
	return nil
}
