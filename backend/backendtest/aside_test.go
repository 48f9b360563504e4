//go:build unix

package backendtest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend/backendtest"
	"github.com/hermes-exec/hermes-exec/internal/guest"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// sideway is another way to the files of this machine, which breaks in the way that a test wants.
type sideway struct {
	most   int64               // bytes that pass before everything fails
	before func(string)        // is called before a file is opened; nil: nothing
	lead   func(string) string // to another file; nil: to the same
	ends   error               // what reading tells once it fails

	moved atomic.Int64
	files atomic.Int64 // that are open
}

var errBroken = errors.New("this way is broken")

func (s *sideway) way() guest.Aside { return s }

func (s *sideway) Open(_ context.Context, name string, write bool) (guest.AsideFile, error) {
	if s.before != nil {
		s.before(name)
	}
	if s.lead != nil {
		name = s.lead(name)
	}
	flags := os.O_RDONLY
	if write {
		flags = os.O_WRONLY
	}
	f, err := os.OpenFile(name, flags, 0)
	if err != nil {
		return nil, err
	}
	s.files.Add(1)
	return &sideFile{f, s}, nil
}

type sideFile struct {
	*os.File
	s *sideway
}

func (f *sideFile) ReadAt(p []byte, at int64) (int, error) {
	if f.s.moved.Load() >= f.s.most {
		return 0, f.s.ends
	}
	n, err := f.File.ReadAt(p, at)
	f.s.moved.Add(int64(n))
	return n, err
}

func (f *sideFile) WriteAt(p []byte, at int64) (int, error) {
	if f.s.moved.Load() >= f.s.most {
		n, _ := f.File.WriteAt(p[:len(p)/2], at) // a part may have arrived
		return n, errBroken
	}
	f.s.moved.Add(int64(len(p)))
	return f.File.WriteAt(p, at)
}

func (f *sideFile) Close() error {
	f.s.files.Add(-1)
	return f.File.Close()
}

func (f *sideFile) Stat() (size, mtime int64, err error) {
	info, err := f.File.Stat()
	if err != nil {
		return 0, 0, err
	}
	return info.Size(), info.ModTime().Unix(), nil
}

// asidePipe is an environment whose large files have that way.
func asidePipe(t *testing.T, s *sideway) *guest.Guest {
	t.Helper()
	dir := testenv.TempDir(t)
	env := testenv.Environ()
	env["TMPDIR"] = dir
	g, err := backendtest.Pipe(t.Context(), backendtest.PipeConfig{Python: testenv.Python(t), Dir: dir, Env: env, Aside: s.way})
	if err != nil {
		t.Fatal(err)
	}
	testenv.CloseAfter(t, g)
	return g
}

// numbered is content in which every piece is another one.
func numbered(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i>>16) ^ byte(i>>8) ^ byte(i)
	}
	return b
}

const huge = 20<<20 + 12345

// What is moved aside is what would have been moved without it, however far that way carries.
func TestAside(t *testing.T) {
	t.Parallel()
	data := numbered(huge)
	elsewhere := filepath.Join(testenv.TempDir(t), "other")
	if err := os.WriteFile(elsewhere, data[1:], 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		way  *sideway
		put  bool // something of a PUT goes there
		gets bool
	}{
		"whole":            {&sideway{most: 1 << 40}, true, true},
		"breaks at once":   {&sideway{ends: errBroken}, false, false},
		"breaks":           {&sideway{most: 5 << 20, ends: errBroken}, true, true},
		"ends too early":   {&sideway{most: 5 << 20, ends: io.EOF}, true, true},
		"leads nowhere":    {&sideway{most: 1 << 40, lead: func(name string) string { return name + "x" }}, false, false},
		"leads to another": {&sideway{most: 1 << 40, lead: func(name string) string { return strings.Replace(name, filepath.Base(name), "../other", 1) }}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := asidePipe(t, test.way)
			file := g.Info().Scratch + "/sub/file"
			if err := g.Put(t.Context(), file, bytes.NewReader(data), 0o440); err != nil {
				t.Fatal(err)
			}
			if moved := test.way.moved.Load() > 0; moved != test.put {
				t.Errorf("put: %d bytes went aside", test.way.moved.Load())
			}
			got, err := os.ReadFile(file)
			info, statErr := os.Stat(file)
			if err != nil || statErr != nil || !bytes.Equal(got, data) || info.Mode() != 0o440 {
				t.Errorf("put %d bytes, %v, %v, %v", len(got), info, err, statErr)
			}
			test.way.moved.Store(0)
			r, err := g.Get(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if moved := test.way.moved.Load() > 0; moved != test.gets {
				t.Errorf("get: %d bytes went aside", test.way.moved.Load())
			}
			left, err := os.ReadDir(filepath.Dir(file))
			if err != nil || len(left) != 1 || test.way.files.Load() != 0 {
				t.Errorf("left %v, %v, and %d files open", left, err, test.way.files.Load())
			}
		})
	}
}

// Who reads a file that another one takes the place of gets the one that he has opened.
func TestAsideOfAReplacedFile(t *testing.T) {
	t.Parallel()
	way := &sideway{most: 1 << 40}
	g := asidePipe(t, way)
	file := g.Info().Scratch + "/file"
	data := numbered(huge)
	replace := func(with []byte) {
		if err := g.Put(t.Context(), file, bytes.NewReader(with), 0); err != nil {
			t.Error(err)
		}
	}
	replace(data)
	way.moved.Store(0)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	way.before = func(string) {
		if err := os.Rename(file, file+".old"); err != nil {
			t.Error(err)
		}
		if err := errors.Join(os.WriteFile(file, make([]byte, len(data)), 0o600), os.Chtimes(file, info.ModTime(), info.ModTime())); err != nil {
			t.Error(err)
		}
	}
	r, err := g.Get(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if n := way.moved.Load(); n != 0 {
		t.Errorf("%d bytes came from the other file", n)
	}
}

// A source that fails, or a ctx that ends, leaves the old file and nothing else, also in the middle of what
// goes aside.
func TestAsideIsBrokenOff(t *testing.T) {
	t.Parallel()
	way := &sideway{most: 1 << 40}
	g := asidePipe(t, way)
	file := g.Info().Scratch + "/sub/file"
	if err := g.Put(t.Context(), file, strings.NewReader("old"), 0); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	for name, test := range map[string]struct {
		ctx  context.Context //nolint:containedctx // of a table
		read func(p []byte) (int, error)
		want error
	}{
		"source": {t.Context(), func([]byte) (int, error) { return 0, errBroken }, errBroken},
		"ctx":    {ctx, func(p []byte) (int, error) { cancel(cause); return len(p), nil }, cause},
	} {
		way.moved.Store(0)
		err := g.Put(test.ctx, file, io.MultiReader(bytes.NewReader(numbered(huge)), readerFunc(test.read)), 0)
		if !errors.Is(err, test.want) || way.moved.Load() == 0 {
			t.Errorf("%s: %v, %d bytes went aside", name, err, way.moved.Load())
		}
		testenv.Eventually(t, "nothing is left of it", func() bool {
			left, err := os.ReadDir(filepath.Dir(file))
			return err == nil && len(left) == 1 && way.files.Load() == 0
		})
		if got, err := os.ReadFile(file); string(got) != "old" {
			t.Errorf("%s: the file has %d bytes, %v", name, len(got), err)
		}
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
