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

// asideFrom is from which of its bytes on the content of a file goes beside the link. To change over costs
// about four round trips, and that is what these take on the link: a channel's window each.
const asideFrom = 4 * window

// asidePiece is how much goes aside at once, in bytes. Only what has arrived makes room for more.
const asidePiece = 2 << 20

// Aside is another way to the content of files, beside the link. What cannot be done there is done over
// the link, so that its errors are never told, but its delays are: ctx bounds what is done with a file,
// too.
type Aside interface {
	// Open opens a file that exists, by its absolute path.
	Open(ctx context.Context, name string, write bool) (AsideFile, error)
}

// AsideFile is a file that was opened there. It is not used concurrently.
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
	buf := make([]byte, asidePiece)
	for {
		n, err := io.ReadFull(r, buf)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		if gone := t.lostReason(); gone != nil {
			return nil, gone
		}
		if _, failed := f.WriteAt(buf[:n], at); n > 0 && failed != nil {
			return io.MultiReader(bytes.NewReader(buf[:n]), r), t.back(at)
		}
		if at += int64(n); err != nil {
			return nil, nil
		}
	}
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

	file AsideFile // nil: over the link
	buf  []byte
	rest []byte // of buf
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
	}
	if n == 0 && err == nil && len(p) > 0 {
		return c.Read(p)
	}
	return n, err
}

// readAside reads from the other way, and comes back from it where that ends or fails: the guest knows which
// of them it was.
func (c *content) readAside(p []byte) (int, error) {
	if len(c.rest) > 0 {
		n := copy(p, c.rest)
		c.rest = c.rest[n:]
		c.at += int64(n)
		return n, nil
	}
	if c.buf == nil {
		c.buf = make([]byte, asidePiece)
	}
	n, err := c.file.ReadAt(c.buf, c.at)
	if gone := c.t.lostReason(); gone != nil {
		return 0, gone
	}
	if c.rest = c.buf[:n]; n == 0 && err != nil {
		_ = c.file.Close() // it was only read
		c.file = nil
		if err := c.t.back(c.at); err != nil {
			return 0, err
		}
	}
	return c.Read(p)
}
