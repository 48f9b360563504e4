package web

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// limited fails where a stream is longer than it may be; io.LimitReader would end it, and half a
// page would look like a whole one.
type limited struct {
	r    io.Reader
	left int64
	what error
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, l.what
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left+1)])
	if l.left -= int64(n); l.left < 0 {
		return n, l.what
	}
	return n, err
}

func tooLarge(limit int64, how string) error {
	return fmt.Errorf("the page is larger than %d MiB%s", limit>>20, how)
}

// read reads a body. Release gives back the room that it took.
func (f *fetcher) read(ctx context.Context, resp *http.Response) (body []byte, release func(), err error) {
	l := f.client.limits
	release = func() {}
	if resp.ContentLength > l.wire {
		return nil, release, tooLarge(l.wire, "")
	}
	plain, err := l.decompress(&limited{wire{resp.Body, "page"}, l.wire, tooLarge(l.wire, "")}, resp.Header.Values("Content-Encoding"))
	if err != nil {
		return nil, release, err
	}
	var buf bytes.Buffer
	switch _, err := io.CopyN(&buf, plain, modest); {
	case errors.Is(err, io.EOF):
		return buf.Bytes(), release, nil
	case err != nil:
		return nil, release, readError(err)
	}
	select {
	case f.room.large <- struct{}{}:
		release = func() { <-f.room.large }
	case <-ctx.Done():
		return nil, release, context.Cause(ctx)
	}
	if _, err := io.Copy(&buf, plain); err != nil {
		return nil, release, readError(err)
	}
	return buf.Bytes(), release, nil
}

// decompress undoes encodings, the last one first. Each has the limit: what unpacks to much may, unpacked
// again, be nothing.
func (l limits) decompress(r io.Reader, headers []string) (io.Reader, error) {
	names := strings.Split(strings.ToLower(strings.Join(headers, ",")), ",")
	if len(names) > 3 {
		return nil, errors.New("the page is compressed more than three times")
	}
	for _, name := range slices.Backward(names) {
		var open func(*bufio.Reader) (io.Reader, error)
		switch name = strings.TrimSpace(name); name {
		case "", "identity":
			continue
		case "gzip", "x-gzip":
			open = gunzip
		case "deflate":
			open = inflate
		default:
			return nil, fmt.Errorf("the server compressed the page with %s, which it was not asked for", clip(name))
		}
		r = &limited{&lazy{open: open, src: r}, l.body, tooLarge(l.body, ", unpacked")}
	}
	return r, nil
}

// lazy opens a decompressor at the first byte; of an empty body it makes nothing.
type lazy struct {
	open func(*bufio.Reader) (io.Reader, error)
	src  io.Reader
	r    io.Reader
}

func (l *lazy) Read(p []byte) (int, error) {
	if l.r == nil {
		in := bufio.NewReader(l.src)
		if _, err := in.Peek(1); err != nil {
			return 0, err
		}
		r, err := l.open(in)
		if err != nil {
			return 0, err
		}
		l.r = r
	}
	return l.r.Read(p)
}

// gunzip reads streams of gzip behind each other. What follows them and is none, as some servers pad them,
// is passed over, as browsers do.
func gunzip(r *bufio.Reader) (io.Reader, error) {
	const begin = "\x1f\x8b\x08"
	head, err := r.Peek(len(begin))
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case !strings.HasPrefix(begin, string(head)): // gzip would say of a short one that it ends early
		return nil, gzip.ErrHeader
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &streams{z, r}, nil
}

type streams struct {
	z   *gzip.Reader
	src *bufio.Reader
}

func (s *streams) Read(p []byte) (int, error) {
	for {
		n, err := s.z.Read(p)
		if n > 0 && errors.Is(err, io.EOF) {
			return n, nil // it says so again
		}
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		head, err := s.src.Peek(2)
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return 0, err
		case string(head) != "\x1f\x8b":
			return 0, io.EOF
		}
		if err := s.z.Reset(s.src); err != nil {
			return 0, err
		}
		s.z.Multistream(false)
	}
}

// inflate reads what servers call deflate: zlib, or, of some, the bare stream.
func inflate(r *bufio.Reader) (io.Reader, error) {
	head, err := r.Peek(2)
	if err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(r)
	}
	return flate.NewReader(r), nil
}
