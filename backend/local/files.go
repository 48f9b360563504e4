package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// put writes a file by temporary name and rename.
func (g *ground) put(ctx context.Context, name string, r io.Reader, mode fs.FileMode) error {
	err := g.alive()
	switch {
	case err != nil:
	case mode.IsDir():
		err = os.MkdirAll(g.abs(name), 0o700)
	default:
		err = put(g.abs(name), &opReader{ctx, g, r}, mode.Perm())
	}
	if err != nil {
		return wrap("put "+name, bare(err))
	}
	return nil
}

func put(name string, r io.Reader, mode fs.FileMode) error {
	target, old, err := resolve(name)
	if err != nil {
		return err
	}
	if mode == 0 {
		mode = 0o600
		if old != nil {
			mode = old.Mode().Perm()
		}
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(target), ".hermes-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err == nil {
		err = own(f, old, mode)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), target)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// resolve follows symlinks, also to a file that does not exist yet, and checks what is there.
func resolve(name string) (target string, old fs.FileInfo, err error) {
	target = name
	for range 40 { // as many links as Linux follows
		link, err := os.Readlink(target)
		if err != nil {
			break
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(target), link)
		}
		target = link
	}
	old, err = os.Stat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return target, nil, nil
	case err != nil:
		return "", nil, err
	case old.IsDir():
		return "", nil, fmt.Errorf("%w: it is a directory", fs.ErrInvalid)
	case !old.Mode().IsRegular():
		return "", nil, fmt.Errorf("%w: it is no regular file", fs.ErrInvalid)
	}
	// The rename would replace a file that may not be written: the mode is the user's word.
	if err := mayWrite(target, old); err != nil {
		return "", nil, err
	}
	return target, old, nil
}

// opReader ends a copy when its context or the environment does.
type opReader struct {
	ctx context.Context //nolint:containedctx // an io.Reader has no other place for it
	g   *ground
	r   io.Reader
}

func (o *opReader) Read(p []byte) (int, error) {
	if o.ctx.Err() != nil {
		return 0, context.Cause(o.ctx)
	}
	if err := o.g.alive(); err != nil {
		return 0, err
	}
	return o.r.Read(p)
}

// get opens a regular file.
func (g *ground) get(ctx context.Context, name string) (io.ReadCloser, error) {
	err := g.alive()
	if err == nil {
		var f *os.File
		if f, err = get(g.abs(name)); err == nil {
			return &file{opReader{ctx, g, f}, f}, nil
		}
	}
	return nil, wrap("get "+name, bare(err))
}

func get(name string) (*os.File, error) {
	// To open a FIFO wakes its writer, to open a tape rewinds it.
	if err := regular(os.Stat(name)); err != nil {
		return nil, err
	}
	// It may be another one by now, which must not block at least.
	f, err := os.OpenFile(name, os.O_RDONLY|neverBlock, 0)
	if err != nil {
		return nil, err
	}
	if err := regular(f.Stat()); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// regular checks what Stat returned.
func regular(info fs.FileInfo, err error) error {
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%w: it is a directory", fs.ErrInvalid)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: it is no regular file", fs.ErrInvalid)
	}
	return nil
}

type file struct {
	opReader
	f *os.File
}

func (f *file) Close() error { return f.f.Close() }

func (g *ground) abs(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(g.info.Dir, name)
}

// bare takes off a PathError, whose operation and name the wrapping repeats.
func bare(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}
