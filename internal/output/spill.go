package output

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Cache is the directory on the host that keeps texts which are too long for a result, each named by
// its content: cache/exec below the home of the product. Nothing is touched before the first text
// comes. It is safe for concurrent use.
type Cache struct{ home string }

// NewCache returns the cache below home, which must be absolute.
func NewCache(home string) *Cache { return &Cache{home: home} }

// Dir returns the directory.
func (c *Cache) Dir() string { return filepath.Join(c.home, "cache", "exec") }

// open opens the directory, which it makes if need be, without following a symbolic link below home.
func (c *Cache) open() (*os.Root, error) {
	if err := os.MkdirAll(c.home, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(c.home)
	for _, name := range []string{"cache", "exec"} {
		if err != nil {
			return nil, err
		}
		parent := dir
		dir, err = openDir(parent, name)
		_ = parent.Close()
	}
	if err != nil {
		return nil, err
	}
	if err := dir.Chmod(".", 0o700); err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}

// openDir opens or makes the directory name in parent.
func openDir(parent *os.Root, name string) (*os.Root, error) {
	if err := parent.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	is, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !is.IsDir() {
		return nil, fmt.Errorf("%s is no directory", filepath.Join(parent.Name(), name))
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if opened, err := dir.Stat("."); err != nil || !os.SameFile(is, opened) {
		_ = dir.Close()
		return nil, fmt.Errorf("%s was replaced", filepath.Join(parent.Name(), name))
	}
	return dir, nil
}

// Store keeps one text as it is and returns its path.
func (c *Cache) Store(text string, limit int64, s *Secrets) (path string, truncated bool, err error) {
	f, err := c.create(limit, s)
	if err != nil {
		return "", false, err
	}
	if err := f.write([]byte(text)); err != nil {
		f.drop()
		return "", false, err
	}
	return f.finish(false)
}

// spill is a file of the cache while it is written: the first limit bytes of a stream, as valid
// UTF-8 with secrets masked.
type spill struct {
	dir     *os.Root
	path    string // the directory's
	temp    string
	file    *os.File
	out     *bufio.Writer
	sum     hash.Hash
	masker  masker
	decoder decoder
	limit   int64
	taken   int64 // bytes of the stream
	written int64 // bytes of the file
	cut     bool  // the stream goes on beyond the file
	full    bool  // the file has reached its limit, or the next character would pass it
}

func (c *Cache) create(limit int64, s *Secrets) (*spill, error) {
	dir, err := c.open()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", c.Dir(), err)
	}
	temp := ".spill-" + rand.Text()
	file, err := dir.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		_ = dir.Close()
		return nil, fmt.Errorf("create in %s: %w", c.Dir(), err)
	}
	f := &spill{
		dir: dir, path: c.Dir(), temp: temp, file: file, sum: sha256.New(), limit: limit,
		masker: masker{secrets: s, least: 1},
	}
	f.out = bufio.NewWriterSize(io.MultiWriter(file, f.sum), 64<<10)
	return f, nil
}

// write takes the next bytes of the stream; those beyond the limit are left out.
func (f *spill) write(p []byte) error {
	if room := f.limit - f.taken; int64(len(p)) > room {
		p, f.cut = p[:room], true
	}
	if len(p) == 0 {
		return nil
	}
	f.taken += int64(len(p))
	return f.put(f.decoder.next(f.masker.next(p)))
}

// put writes text up to the limit, which invalid bytes reach early: each becomes three.
func (f *spill) put(text []byte) error {
	if f.full {
		return nil
	}
	if room := f.limit - f.written; int64(len(text)) > room {
		n, _ := character(text, int(room))
		text, f.cut, f.full = text[:n], true, true
	}
	f.written += int64(len(text))
	_, err := f.out.Write(text)
	return err
}

// finish makes the file visible and returns its path. Cut says that the stream went on.
func (f *spill) finish(cut bool) (path string, truncated bool, err error) {
	defer func() { _ = f.dir.Close() }()
	f.cut = f.cut || cut
	if err := f.end(); err != nil {
		f.remove()
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err // its path is ours
		}
		return "", false, fmt.Errorf("write %s: %w", filepath.Join(f.path, f.temp), err)
	}
	name := hex.EncodeToString(f.sum.Sum(nil)) + ".txt"
	if err := f.dir.Rename(f.temp, name); err != nil {
		f.remove()
		return "", false, fmt.Errorf("rename to %s: %w", filepath.Join(f.path, name), err)
	}
	return filepath.Join(f.path, name), f.cut, nil
}

// end writes what was held back and closes the file. Of a stream that is cut, half a character is
// no text.
func (f *spill) end() error {
	var err error
	if f.cut {
		err = f.put(f.decoder.next(f.masker.cut()))
	} else {
		err = errors.Join(f.put(f.decoder.next(f.masker.flush())), f.put(f.decoder.flush()))
	}
	return errors.Join(err, f.out.Flush(), f.file.Close())
}

// drop gives the file up.
func (f *spill) drop() {
	f.file.Close()
	f.remove()
	_ = f.dir.Close()
}

// remove removes the temporary file. If that fails, prune finds it: nothing more can be done here.
func (f *spill) remove() { _ = f.dir.Remove(f.temp) }
