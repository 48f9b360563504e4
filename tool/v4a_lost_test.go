//go:build unix

package tool

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
)

// spied is a backend whose helpers are watched: asked is called when one is asked to rearrange, and an
// answer to that is kept back, and the helper killed, as often as lose says.
type spied struct {
	backend.Backend
	asked func()
	mu    sync.Mutex
	lose  int
}

func (b *spied) Start(ctx context.Context, cmd backend.Cmd) (backend.Process, error) {
	if cmd.Stdin == nil || cmd.Stdout == nil {
		return b.Backend.Start(ctx, cmd)
	}
	s := &spy{b: b, in: cmd.Stdin, out: cmd.Stdout, started: make(chan struct{})}
	cmd.Stdin, cmd.Stdout = readerFunc(s.read), writerFunc(s.write)
	var err error
	s.process, err = b.Backend.Start(ctx, cmd)
	close(s.started)
	return s.process, err
}

// spy stands between the host and one helper.
type spy struct {
	b       *spied
	in      io.Reader
	out     io.Writer
	started chan struct{}
	process backend.Process
	mu      sync.Mutex
	asked   bool
}

func (s *spy) read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	if bytes.Contains(p[:n], []byte(`"op":"rearrange"`)) {
		s.mu.Lock()
		s.asked = true
		s.mu.Unlock()
		s.b.asked()
	}
	return n, err
}

func (s *spy) write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	if !s.asked || s.b.lose == 0 {
		return s.out.Write(p)
	}
	s.asked = false
	s.b.lose--
	<-s.started
	return len(p), s.process.Signal(context.Background(), backend.Kill)
}

type (
	readerFunc func([]byte) (int, error)
	writerFunc func([]byte) (int, error)
)

func (f readerFunc) Read(p []byte) (int, error)  { return f(p) }
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A patch whose files are moved already is not undone by half, whatever becomes of the call and the helper.
func TestV4ALostAnswer(t *testing.T) {
	patch := object{"mode": "patch", "patch": strings.Join([]string{
		v4aBegin, "*** Update File: a", "-one", "+1", "*** Update File: b", "*** Move to: c", "-two", "+2", "*** Delete File: gone", v4aEnd,
	}, "\n")}
	for name, tt := range map[string]struct {
		lose  int
		ends  bool // the call, when the files are about to be moved
		fails string
	}{
		"the call ends":          {0, true, ""},
		"the helper breaks":      {1, false, ""},
		"both":                   {1, true, ""},
		"the helper breaks ever": {2, false, "whether files were moved and removed is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b := &spied{Backend: w.env.Backend, lose: tt.lose, asked: func() {
				if tt.ends {
					cancel()
				}
			}}
			files := NewFiles(b, w.env.Environ)
			defer func() {
				if err := files.Close(); err != nil {
					t.Error(err)
				}
			}()
			w.env.Files = files
			w.put("a", "one\n")
			w.put("b", "two\n")
			w.put("gone", "")
			_, err := w.try(ctx, "patch", patch)
			if tt.fails == "" && err != nil || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
				t.Errorf("%v, want %q", err, tt.fails)
			}
			if w.get("a") != "1\n" || w.get("c") != "2\n" {
				t.Errorf("%q, %q", w.get("a"), w.get("c"))
			}
			for _, gone := range []string{"b", "gone"} {
				if _, err := os.Lstat(filepath.Join(w.dir, gone)); err == nil {
					t.Errorf("%s is there", gone)
				}
			}
			if left, _ := filepath.Glob(w.dir + "/.hermes_removed_*"); left != nil {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// full is a backend that takes no content for one file.
type full struct {
	backend.Backend
	name string
}

func (b full) Put(ctx context.Context, name string, r io.Reader, mode fs.FileMode) error {
	if path.Base(name) == b.name {
		return syscall.ENOSPC
	}
	return b.Backend.Put(ctx, name, r, mode)
}

// What could not be written is as it was, and need not be put back.
func TestV4AFileThatIsNotWritten(t *testing.T) {
	w := newWorld(t)
	w.env.Backend = full{w.env.Backend, "b"}
	w.put("a", "one\n")
	w.put("b", "two\n")
	_, err := w.try(t.Context(), "patch", object{"mode": "patch", "patch": strings.Join([]string{
		v4aBegin, "*** Update File: a", "-one", "+1", "*** Update File: b", "-two", "+2", v4aEnd,
	}, "\n")})
	if err == nil || err.Error() != "patch: b: no space left on device" || w.get("a") != "one\n" || w.get("b") != "two\n" {
		t.Errorf("%v; %q, %q", err, w.get("a"), w.get("b"))
	}
}

// A call that has ended before its files are moved changes nothing.
func TestV4AEndedBefore(t *testing.T) {
	w := newWorld(t)
	w.put("a", "one\n")
	e := &edits{env: w.env}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := e.last(ctx, request{Removes: []place{{w.dir + "/a", "a"}}})
	if err == nil || w.get("a") != "one\n" {
		t.Errorf("%v", err)
	}
}
