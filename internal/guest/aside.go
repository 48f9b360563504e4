package guest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/hermes-exec/hermes-exec/internal/fields"
)

// asideFrom is from which of its bytes on the content of a file goes beside the link. To change over costs up
// to four round trips, in which a channel of SSH moves so many bytes: a smaller file is through by then.
const asideFrom = 8 << 20

// What goes aside goes in pieces of that many bytes, and so many of them are on their way at a time: that is
// more than a channel of SSH takes in a round trip.
const (
	asidePiece  = 1 << 20
	asidePieces = 3
)

// Aside is another way to the content of files, beside the link. What cannot be done there is done over
// the link, so that its errors are never told, but its delays are: ctx bounds what is done with a file,
// too.
type Aside interface {
	// Open opens a file that exists, by its absolute path.
	Open(ctx context.Context, name string, write bool) (AsideFile, error)
}

// AsideFile is a file that was opened there. Pieces of it are read, or written, concurrently. Close need not
// wait for them.
type AsideFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Stat() (size, mtime int64, err error) // mtime in seconds
}

var (
	// errAside ends an inbox whose stream goes on aside.
	errAside = errors.New("the content goes another way")

	// errNoAside says that a file cannot be reached aside, or is another one there.
	errNoAside = errors.New("not the same file there")
)

// aside is the other way, nil if there is none.
func (g *Guest) aside() Aside {
	if g.opt.Aside == nil {
		return nil
	}
	return g.opt.Aside()
}

// place is what the guest tells of a file whose content is to go aside.
type place struct {
	path        string
	size, mtime int64
}

// where takes the guest's answer, behind all content that it has sent.
func (t *transfer) where(payload []byte) error {
	f, err := fields.Parse(payload)
	if err != nil {
		return err
	}
	select {
	case t.places <- place{f.Text("path"), f.Int("size"), f.Int("mtime")}:
	default: // nobody has asked
	}
	t.in.end(errAside)
	return nil
}

// ask asks the guest where the file lies.
func (t *transfer) ask(ctx context.Context) (place, error) {
	if err := t.g.send(kindAside, 0, t.id, nil); err != nil {
		return place{}, err
	}
	return t.answered(ctx)
}

func (t *transfer) answered(ctx context.Context) (place, error) {
	select {
	case p := <-t.places:
		if p.path == "" {
			return p, errNoAside
		}
		return p, nil
	case <-t.out.ended:
		return place{}, net.ErrClosed // which is told by whoever uses the stream
	case <-ctx.Done():
		return place{}, context.Cause(ctx)
	}
}

// back has the stream go on over the link, from there in the file.
func (t *transfer) back(at int64) error {
	t.in.reopen()
	return t.g.send(kindBack, 0, t.id, binary.BigEndian.AppendUint64(nil, uint64(at)))
}

// write sends the content of a file over the link, and what is beyond asideFrom by the other way as soon as
// there is one.
func (t *transfer) write(ctx context.Context, r io.Reader) error {
	out, buf := struct{ io.Writer }{t.out}, make([]byte, piece)
	at, err := io.CopyBuffer(out, io.LimitReader(r, asideFrom), buf)
	if err != nil || at < asideFrom {
		return err
	}
	for {
		if way := t.g.aside(); way != nil {
			rest, err := t.writeAside(ctx, way, r, at)
			if err != nil || rest == nil {
				return err
			}
			_, err = io.CopyBuffer(out, struct{ io.Reader }{rest}, buf)
			return err
		}
		n, err := io.CopyBuffer(out, io.LimitReader(r, window), buf)
		if at += n; err != nil || n < window {
			return err
		}
	}
}

// writeAside writes what r has into the file that the guest has begun. Rest is what it could not write
// there, nil if it could.
func (t *transfer) writeAside(ctx context.Context, way Aside, r io.Reader, at int64) (rest io.Reader, err error) {
	f, err := t.openAside(ctx, way)
	if err != nil {
		return r, nil // the guest goes on where it was
	}
	defer f.Close()
	var line []*flight
	defer func() { behind(line, nil) }()
	for {
		buf := make([]byte, asidePiece)
		n, err := io.ReadFull(r, buf)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		p := &flight{at: at, buf: buf[:n], done: make(chan struct{})}
		p.start(func() (int, error) { return f.WriteAt(p.buf, p.at) })
		line, at = append(line, p), at+int64(n)
		for len(line) > 0 && (len(line) >= asidePieces || err != nil) {
			if first := line[0]; first.wait() != nil {
				return behind(line, r), t.back(first.at)
			}
			line = line[1:]
		}
		if gone := t.lostReason(); gone != nil || err != nil {
			return nil, gone
		}
	}
}

// behind waits for pieces that were on their way. It returns what is to be sent again of them, and what comes
// after them.
func behind(line []*flight, r io.Reader) io.Reader {
	all := []io.Reader{}
	for _, p := range line {
		_ = p.wait() // or it would write beside the guest
		all = append(all, bytes.NewReader(p.buf))
	}
	return io.MultiReader(append(all, r)...)
}

// flight is a piece of a file that is on its way aside.
type flight struct {
	at   int64 // in the file
	buf  []byte
	n    int   // bytes of buf that were moved
	err  error // why not all were; both are valid when it is done
	done chan struct{}
}

// start does something with it beside all else.
func (p *flight) start(do func() (int, error)) {
	go func() {
		defer close(p.done)
		p.n, p.err = do()
	}()
}

// wait waits for its end.
func (p *flight) wait() error {
	<-p.done
	return p.err
}

// lostReason is why the stream is over, nil if it is not.
func (t *transfer) lostReason() error {
	t.out.mu.Lock()
	defer t.out.mu.Unlock()
	return t.out.err
}

// openAside opens the file that the guest writes: its name was made up, so that there is no other one.
func (t *transfer) openAside(ctx context.Context, way Aside) (AsideFile, error) {
	p, err := t.ask(ctx)
	if err != nil {
		return nil, err
	}
	return way.Open(ctx, p.path, true)
}

// readAside opens the file that the guest reads, once it has sent all that it had on its way. The guest is
// asked again afterwards: only if the file lay there all the time was it opened.
func (t *transfer) readAside(ctx context.Context, way Aside) (AsideFile, error) {
	p, err := t.answered(ctx)
	if err != nil {
		return nil, err
	}
	f, err := way.Open(ctx, p.path, false)
	if err != nil {
		return nil, err
	}
	size, mtime, err := f.Stat()
	if err == nil && (size != p.size || mtime != p.mtime) {
		err = errNoAside
	}
	if err == nil {
		var again place
		if again, err = t.ask(ctx); err == nil && again != p {
			err = errNoAside
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("open %s aside: %w", p.path, err)
	}
	return f, nil
}

// content is what is read of a file, over the link and then aside if that can be.
type content struct {
	reader
	t    *transfer
	size int64                              // when it was opened
	at   int64                              // what was read
	open func(way Aside) (AsideFile, error) // with the caller's ctx
	way  Aside                              // once the guest was asked to stop

	file  AsideFile // nil: over the link
	line  []*flight // what was asked for there, in order
	next  int64     // from where on more is to be
	rest  []byte    // what has come of it
	ended bool      // no more comes from there
}

// Read changes over where it is worth it.
func (c *content) Read(p []byte) (int, error) {
	if c.way == nil && c.at >= asideFrom && c.size-c.at >= asideFrom {
		if c.way = c.t.g.aside(); c.way != nil {
			if err := c.t.g.send(kindAside, 0, c.t.id, nil); err != nil {
				return 0, err
			}
		}
	}
	if c.file != nil {
		return c.readAside(p)
	}
	n, err := c.reader.Read(p)
	c.at += int64(n)
	if errors.Is(err, errAside) {
		if c.file, err = c.open(c.way); err != nil {
			err = c.t.back(c.at)
		}
		c.next = c.at
	}
	if n == 0 && err == nil && len(p) > 0 {
		return c.Read(p)
	}
	return n, err
}

// readAside reads from the other way, and comes back from it where that ends or fails: the guest knows which
// of them it was.
func (c *content) readAside(b []byte) (int, error) {
	if len(c.rest) > 0 {
		n := copy(b, c.rest)
		c.rest = c.rest[n:]
		c.at += int64(n)
		return n, nil
	}
	if c.ended {
		_ = c.file.Close() // it was only read
		c.file, c.line = nil, nil
		if err := c.t.back(c.at); err != nil {
			return 0, err
		}
		return c.Read(b)
	}
	c.ask()
	p := c.line[0]
	_ = p.wait() // the guest knows better why there is no more
	if gone := c.t.lostReason(); gone != nil {
		return 0, gone
	}
	c.line, c.rest, c.ended = c.line[1:], p.buf[:p.n], p.n < len(p.buf)
	return c.Read(b)
}

// ask asks for more of the file, and for something in any case: it may have grown.
func (c *content) ask() {
	for len(c.line) == 0 || len(c.line) < asidePieces && c.next < c.size {
		f, p := c.file, &flight{at: c.next, buf: make([]byte, asidePiece), done: make(chan struct{})}
		p.start(func() (int, error) { return f.ReadAt(p.buf, p.at) })
		c.line, c.next = append(c.line, p), c.next+asidePiece
	}
}
