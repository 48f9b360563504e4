package guest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/hermes-exec/hermes-exec/internal/fields"
)

// transfer is a PUT, a GET, a LISTEN or a SHARE until it is open, and a PUT or GET after that.
type transfer struct {
	g      *Guest
	id     uint32
	opened chan error // one value: nil at DONE
	in     *inbox     // a GET's content
	out    *outbox    // a PUT's
	places chan place // where it lies, for content that goes aside
	size   int64      // of a GET's file; valid when it is open
}

func newTransfer(g *Guest) *transfer {
	return &transfer{g: g, opened: make(chan error, 1), places: make(chan place, 1)}
}

func (t *transfer) register(id uint32) stream {
	t.id = id
	t.in = newInbox(t.g, id, 0)
	t.out = newOutbox(t.g, id, 0)
	return t
}

// request opens the stream by its first frame and waits for the guest's answer. When it fails, as it does
// when ctx ends before, the stream is given up.
func (t *transfer) request(ctx context.Context, k kind, payload []byte, register func(id uint32) stream) error {
	if err := t.g.open(ctx, k, payload, register); err != nil {
		return err
	}
	select {
	case err := <-t.opened:
		return err
	case <-ctx.Done():
		t.reset(context.Cause(ctx))
		return context.Cause(ctx)
	}
}

func (t *transfer) frame(k kind, _ byte, payload []byte) error {
	switch k {
	case kindDone:
		return t.done(payload)
	case kindAside:
		return t.where(payload)
	case kindFailed:
		t.lost(failure(payload))
		t.g.forget(t.id)
	case kindData:
		return t.in.push(parcel{data: payload})
	case kindEOF:
		t.in.end(io.EOF)
		t.g.forget(t.id)
	case kindCredit:
		t.out.grant(payload)
	}
	return nil
}

func (t *transfer) done(payload []byte) error {
	f, err := fields.Parse(payload)
	if err == nil {
		t.size = f.Int("size")
		t.answer(nil)
	}
	return err
}

func (t *transfer) answer(err error) {
	select {
	case t.opened <- err:
	default:
	}
}

func (t *transfer) lost(err error) {
	t.answer(err)
	t.in.end(err)
	t.out.end(err)
}

// reset gives the stream up on both sides.
func (t *transfer) reset(err error) {
	t.g.forget(t.id)
	t.lost(err)
	t.g.reset(t.id)
}

// Put writes a file through the agent.
func (g *Guest) Put(ctx context.Context, name string, r io.Reader, mode fs.FileMode) error {
	return g.put(ctx, name, r, fields.AppendInt(nil, "mode", wireMode(mode)))
}

// wireMode is a mode as the agent takes it: POSIX has another bit for a directory.
func wireMode(mode fs.FileMode) int64 {
	if mode.IsDir() {
		return 0o40000
	}
	return int64(mode.Perm())
}

func (g *Guest) put(ctx context.Context, name string, r io.Reader, options []byte) error {
	op := "put " + name
	t := newTransfer(g)
	if err := g.open(ctx, kindPut, fields.Append(options, "path", g.abs(name)), t.register); err != nil {
		return g.wrap(op, err)
	}
	stop := context.AfterFunc(ctx, func() { t.reset(context.Cause(ctx)) })
	defer stop()
	err := t.write(ctx, struct{ io.Reader }{r})
	if err != nil {
		if failed := t.failed(); failed != nil {
			err = failed
		} else {
			t.reset(err)
		}
		return g.wrap(op, err)
	}
	if err := g.send(kindEOF, 0, t.id, nil); err != nil {
		return g.wrap(op, err)
	}
	if err := <-t.opened; err != nil {
		return g.wrap(op, err)
	}
	g.forget(t.id)
	return nil
}

// failed returns the guest's refusal, if that is why a write ended.
func (t *transfer) failed() error {
	select {
	case err := <-t.opened:
		return err
	default:
		return nil
	}
}

// Get opens a file through the agent.
func (g *Guest) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	op := "get " + name
	t := newTransfer(g)
	if err := t.request(ctx, kindGet, fields.Append(nil, "path", g.abs(name)), t.register); err != nil {
		return nil, g.wrap(op, err)
	}
	f := &file{content: content{reader: reader{in: t.in}, t: t, size: t.size}, op: op}
	f.open = func(way Aside) (AsideFile, error) { return t.readAside(ctx, way) }
	f.stop = context.AfterFunc(ctx, func() { t.reset(context.Cause(ctx)) })
	return f, nil
}

// Enter makes dir the working directory, if it is one as CanEnter has it. It is called before anything else
// is.
func (g *Guest) Enter(ctx context.Context, dir string) error {
	err := g.CanEnter(ctx, dir)
	if err == nil {
		g.WorkIn(dir)
	}
	return err
}

// WorkIn makes a directory that can be entered the working directory. It is called before anything else is.
func (g *Guest) WorkIn(dir string) { g.info.Dir = dir }

// CanEnter finds out whether dir, an absolute path, can be the working directory. What is no directory is
// fs.ErrNotExist or fs.ErrInvalid, what may not be entered fs.ErrPermission.
func (g *Guest) CanEnter(ctx context.Context, dir string) error {
	f, err := g.Get(ctx, strings.TrimSuffix(dir, "/")+"/.") // which only who may enter it can find
	if err == nil {
		_ = f.Close()
		return g.wrap("enter "+dir, fs.ErrInvalid)
	}
	if remote := (*remoteError)(nil); errors.As(err, &remote) && remote.errno == "EISDIR" {
		return nil
	}
	return g.wrap("enter "+dir, errors.Unwrap(err))
}

// file is a GET under way.
type file struct {
	content
	op   string
	stop func() bool
}

func (f *file) Read(p []byte) (int, error) {
	n, err := f.content.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = f.t.g.wrap(f.op, err)
	}
	return n, err
}

func (f *file) Close() error {
	f.stop()
	if f.file != nil {
		_ = f.file.Close() // it was only read
	}
	if f.t.g.lookup(f.t.id) != nil {
		f.t.reset(fs.ErrClosed)
	}
	return nil
}

func (g *Guest) abs(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join(g.info.Dir, name)
}
