package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
)

const (
	smallBuffer = 32 << 10 // what a connection keeps for reading
	quickGrowth = 8 << 20  // up to here a buffer grows fourfold, beyond twofold
)

// lineReader splits a stream into requests. A line that is not ended is never a request: its
// sender may have died in the middle.
type lineReader struct {
	src        io.Reader
	wire       *Wire
	mem        *Memory
	buf        []byte
	start, end int // what was read and not yet returned
	seen       int // up to where there is no newline
}

func newLineReader(src io.Reader, w *Wire, m *Memory) *lineReader {
	return &lineReader{src: src, wire: w, mem: m, buf: make([]byte, smallBuffer)}
}

// next returns the next request and what it holds of the memory. The error is that of the stream,
// or the cause of ctx.
func (l *lineReader) next(ctx context.Context) (*Request, Grant, error) {
	for {
		var grant Grant
		line, err := l.line(ctx, &grant)
		if refusal := (*refusal)(nil); errors.As(err, &refusal) {
			grant.Release()
			r, err := l.drain(refusal)
			return r, Grant{}, err
		}
		if err != nil {
			grant.Release()
			return nil, Grant{}, err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return l.wire.Check(line), grant, nil
		}
		grant.Release()
	}
}

// refusal says that the line in the buffer is not worth reading to its end.
type refusal struct {
	request *Request
}

func (*refusal) Error() string { return "line refused" }

// line returns the next line, without its newline, in memory of its own.
func (l *lineReader) line(ctx context.Context, grant *Grant) ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.seen:l.end], '\n'); i >= 0 {
			return l.take(ctx, grant, l.seen+i)
		}
		l.seen = l.end
		if l.end == len(l.buf) {
			if err := l.room(ctx, grant); err != nil {
				return nil, err
			}
		}
		n, err := l.src.Read(l.buf[l.end:])
		l.end += n
		if n == 0 && err != nil {
			return nil, err
		}
	}
}

// take cuts the line that ends before newline out of the buffer. A small line is copied; for a
// large one the buffer is given away.
func (l *lineReader) take(ctx context.Context, grant *Grant, newline int) ([]byte, error) {
	line := l.buf[l.start:newline:newline]
	l.start, l.seen = newline+1, newline+1
	if len(l.buf) == smallBuffer {
		err := l.mem.Grow(ctx, grant, int64(len(line)))
		return bytes.Clone(line), err
	}
	rest := l.buf[l.start:l.end]
	l.buf = make([]byte, max(smallBuffer, len(rest)))
	l.start, l.seen, l.end = 0, 0, copy(l.buf, rest)
	return line, nil
}

// room makes room for more of a line that fills the buffer, if it is worth it.
func (l *lineReader) room(ctx context.Context, grant *Grant) error {
	if l.start > 0 {
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.start, l.seen = 0, l.end
		return nil
	}
	limit := max(smallBuffer, l.wire.MaxLine()+1)
	switch {
	case !l.wire.Authorized(l.buf[:l.end]):
		return &refusal{l.wire.Refused(l.buf[:l.end], ErrUnauthorized)}
	case len(l.buf) >= limit:
		return &refusal{l.wire.TooLong(l.buf[:l.end])}
	}
	size := 2 * len(l.buf)
	if size <= quickGrowth {
		size *= 2
	}
	size = min(size, limit)
	if err := l.mem.Grow(ctx, grant, int64(size)); err != nil {
		return err
	}
	grown := make([]byte, size)
	copy(grown, l.buf[:l.end])
	l.buf = grown
	return nil
}

// drain passes over the rest of a refused line, so that the next one works.
func (l *lineReader) drain(why *refusal) (*Request, error) {
	if len(l.buf) != smallBuffer {
		l.buf = make([]byte, smallBuffer)
	}
	for {
		n, err := l.src.Read(l.buf)
		if i := bytes.IndexByte(l.buf[:n], '\n'); i >= 0 {
			l.start, l.seen, l.end = i+1, i+1, n
			return why.request, nil
		}
		if n == 0 && err != nil {
			return nil, err
		}
	}
}
