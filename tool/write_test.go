//go:build unix

package tool

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
)

// puts counts the files that are put.
type puts struct {
	backend.Backend
	n atomic.Int64
}

func (p *puts) Put(ctx context.Context, name string, r io.Reader, mode fs.FileMode) error {
	p.n.Add(1)
	return p.Backend.Put(ctx, name, r, mode)
}

// A file that is not large is prepared and written at once, where that saves a round trip.
func TestWriteAtOnce(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		counter := &puts{Backend: w.env.Backend}
		w.env.Backend = counter
		far := !counter.Info().SameHost
		for _, c := range []struct {
			name, content string
			put           bool
		}{
			{"new", "text é\n", !far},
			{"new", "", !far},
			{"deep/er", strings.Repeat("x", soleLimit), !far},
			{"deep/er", strings.Repeat("x", soleLimit+1), true},
		} {
			counter.n.Store(0)
			w.ok("write_file", object{"path": c.name, "content": c.content})
			if got, err := os.ReadFile(filepath.Join(w.dir, c.name)); err != nil || string(got) != c.content {
				t.Errorf("%s: %.20q, %v", c.name, got, err)
			}
			if put := counter.n.Load() > 0; put != c.put {
				t.Errorf("%s, %d bytes: put %t", c.name, len(c.content), put)
			}
		}
		if left, err := filepath.Glob(filepath.Join(w.dir, "deep", ".*")); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}

// Files that are written at the same time are all there.
func TestWriteSeveralAtOnce(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var work sync.WaitGroup
		for i := range 8 {
			work.Go(func() { w.ok("write_file", object{"path": strconv.Itoa(i), "content": "x"}) })
		}
		work.Wait()
		for i := range 8 {
			if got, err := os.ReadFile(filepath.Join(w.dir, strconv.Itoa(i))); err != nil || string(got) != "x" {
				t.Errorf("%d: %q, %v", i, got, err)
			}
		}
	})
}

// Who writes alone waits for nobody, and all others for him.
func TestLockAll(t *testing.T) {
	var p pathLocks
	unlock, ok := p.lockAll()
	if !ok {
		t.Fatal("nobody holds a path")
	}
	if _, ok := p.lockAll(); ok {
		t.Error("two are alone")
	}
	locked := make(chan func())
	go func() {
		one, err := p.lock(t.Context(), "a")
		if err != nil {
			t.Error(err)
		}
		locked <- one
	}()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.lock(ended, "b"); err == nil {
		t.Error("a path was locked beside who is alone")
	}
	unlock()
	one := <-locked
	if _, ok := p.lockAll(); ok {
		t.Error("alone beside another one")
	}
	one()
	if unlock, ok = p.lockAll(); !ok {
		t.Error("nobody holds a path any more")
	}
	unlock()
}
