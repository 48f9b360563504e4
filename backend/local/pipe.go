//go:build unix

package local

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/keep"
)

// wideBuffer is what a pipe holds that fills up, in bytes: that means fewer wake-ups.
const wideBuffer = 256 << 10

// pipe is a FIFO by which a process's output comes without the agent in between: as fast as a pipe of
// the shell's.
type pipe struct {
	f    *os.File
	path string
	out  *keep.Writer
	done chan struct{} // closed when all that the process wrote is with its writer

	taken atomic.Int64 // bytes read

	mu       sync.Mutex
	requests []request

	counts backend.Counts // valid when done is closed
	err    error          // of the caller's writer; likewise
}

// request asks the reader to pass on what lies in the pipe now.
type request struct {
	passed chan struct{} // closed when it has
	last   bool          // nothing that comes later is wanted
}

// newPipe makes the FIFO and opens it for reading: its writer needs a reader. Read comes later, for
// a FIFO that never had a writer looks as if it had ended.
func newPipe(path string, w io.Writer, k *backend.Keep) (*pipe, error) {
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	if w == nil {
		k = &backend.Keep{}
	}
	return &pipe{f: f, path: path, out: keep.New(w, k), done: make(chan struct{})}, nil
}

// read passes on the output until it ends, is asked for no more, or the pipe is closed.
func (p *pipe) read() {
	defer close(p.done)
	defer func() { p.counts, p.err = p.out.Close() }()
	buf := make([]byte, pipeBuffer)
	for {
		n, err := p.f.Read(buf)
		p.take(buf[:n])
		if n == pipeBuffer && len(buf) == pipeBuffer && widen(p.f, wideBuffer) {
			buf = make([]byte, wideBuffer)
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if p.answer(buf) {
				return
			}
		case err != nil: // the end, or closed
			return
		}
	}
}

func (p *pipe) take(b []byte) {
	p.taken.Add(int64(len(b)))
	_, _ = p.out.Write(b) // never fails: the error comes at the end
}

// counted is how much was read: exact when done is closed.
func (p *pipe) counted() backend.Counts {
	select {
	case <-p.done:
		return p.counts
	default:
		return backend.Counts{Total: p.taken.Load()}
	}
}

// ask has the reader pass on what is there. It returns at once.
func (p *pipe) ask(last bool) <-chan struct{} {
	r := request{passed: make(chan struct{}), last: last}
	p.mu.Lock()
	p.requests = append(p.requests, r)
	p.mu.Unlock()
	_ = p.f.SetReadDeadline(time.Unix(1, 0)) // ends the Read that waits; closed: it has ended
	return r.passed
}

// answer passes on what is there, for everybody who asked before. True: nothing more is wanted.
func (p *pipe) answer(buf []byte) bool {
	_ = p.f.SetReadDeadline(time.Time{})
	p.mu.Lock()
	asked := p.requests
	p.requests = nil
	p.mu.Unlock()
	for left := p.waiting(); left > 0; {
		n, err := p.f.Read(buf[:min(left, len(buf))])
		p.take(buf[:n])
		left -= n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			_ = p.f.SetReadDeadline(time.Time{}) // somebody else asks, who comes next
		} else if err != nil {
			break
		}
	}
	last := false
	for _, r := range asked {
		close(r.passed)
		last = last || r.last
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.requests) > 0 {
		_ = p.f.SetReadDeadline(time.Unix(1, 0))
	}
	return last
}

// waiting is how many bytes lie in the pipe.
func (p *pipe) waiting() int {
	var n int
	raw, err := p.f.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), fionread) })
	}
	if err != nil {
		return 0
	}
	return n
}

// passOn waits until what the process has written by now is with its writer.
func (p *pipe) passOn() {
	select {
	case <-p.ask(false):
	case <-p.done:
	}
}

// finish takes what the process has left. Another one may still hold the pipe: what that writes is
// read and thrown away, so that it neither blocks nor meets a closed pipe.
func (p *pipe) finish(over func()) {
	p.ask(true)
	<-p.done
	_ = p.f.SetReadDeadline(time.Time{})
	go func() {
		_, _ = io.Copy(io.Discard, p.f)
		_ = p.f.Close()
		over()
	}()
}

// Close ends the reading. A writer that is stuck is its owner's to free.
func (p *pipe) Close() error {
	_ = p.f.Close() // it may have ended by itself
	select {
	case <-p.done:
	case <-time.After(stuckWait):
	}
	return nil
}
