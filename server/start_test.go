//go:build unix

package server

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

func TestNotPrivate(t *testing.T) {
	for name, test := range map[string]struct {
		arrange func(dir string) error
		want    string
	}{
		"open to others": {func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o750)) }, "is open to others: chmod 700 "},
		"a link":         {func(dir string) error { return errors.Join(os.Mkdir(dir+"-real", 0o700), os.Symlink(dir+"-real", dir)) }, "is no directory: remove it"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			if err := test.arrange(h.place.Dir); err != nil {
				t.Fatal(err)
			}
			r := h.client("one").Run(t.Context(), h.cell("s", "1"))
			if r.Status != hermes.Failure || r.ErrorKind != hermes.KindBackend || !strings.Contains(r.Error, h.place.Dir+" "+test.want) || len(h.started) > 0 {
				t.Errorf("%+v, started %q", r, h.started)
			}
		})
	}
}

func TestNotPrivateForeign(t *testing.T) {
	if os.Geteuid() != 0 {
		testenv.Missing(t, "a directory of somebody else", "only root can give one away")
	}
	h := newHouse(t)
	if err := errors.Join(os.Mkdir(h.place.Dir, 0o700), os.Chown(h.place.Dir, 12345, -1)); err != nil {
		t.Fatal(err)
	}
	if err := h.place.check(); err == nil || !strings.Contains(err.Error(), "is not this user's: remove it") {
		t.Error(err)
	}
}

// Whose directory was opened to others while a server lives in it is told how to get there again.
func TestOpenedToOthers(t *testing.T) {
	h := newHouse(t)
	c := h.client("one")
	h.run(c, "x = 1")
	if err := os.Chmod(h.place.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := c.List(t.Context()); err == nil || !strings.Contains(err.Error(), "chmod 700 "+h.place.Dir) {
		t.Error(err)
	}
	if err := os.Chmod(h.place.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if r := h.run(c, "print(x)"); r.Output != "1\n" {
		t.Errorf("%+v", r)
	}
}

// Who cannot start a server because something else holds the lock has not been interrupted.
func TestStartLockHeld(t *testing.T) {
	h := newHouse(t)
	if err := h.place.make(); err != nil {
		t.Fatal(err)
	}
	held := flock.New(h.place.lockFile())
	defer held.Close() //nolint:errcheck // it was only locked
	if ok, err := held.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	c := h.client("one")
	c.Wait = 50 * time.Millisecond
	r := c.Run(t.Context(), h.cell("s", "1"))
	if r.Status != hermes.Failure || r.ErrorKind != hermes.KindBackend || r.ExitStatus() != 125 || !strings.Contains(r.Error, "holds "+h.place.lockFile()) {
		t.Errorf("%+v", r)
	}
	if len(h.started) > 0 {
		t.Errorf("started %q", h.started)
	}
}

// A caller's own deadline is an interrupt, here as where there is no server.
func TestCallersDeadline(t *testing.T) {
	h := newHouse(t)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if r := h.client("one").Run(ctx, h.cell("s", "1")); r.ErrorKind != hermes.KindInterrupted {
		t.Errorf("%+v", r)
	}
}

// A server that cannot begin, for want of space for example, says why to all that wait for it.
func TestServerThatCannotBegin(t *testing.T) {
	h := newHouse(t)
	if err := h.place.make(); err != nil {
		t.Fatal(err)
	}
	h.refused = "mark the directory of the session server"
	c := h.client("one")
	c.Start = func(start func(Place, *os.File) error) func(Place, *os.File) error {
		return func(p Place, f *os.File) error {
			if err := os.MkdirAll(p.ownerFile()+"/in the way", 0o700); err != nil {
				return err
			}
			return start(p, f)
		}
	}(c.Start)
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			r := c.Run(t.Context(), h.cell("s", "1"))
			if r.ErrorKind != hermes.KindBackend || !strings.Contains(r.Error, "start the session server: "+h.refused) || r.Kernel.StateLost {
				t.Errorf("%+v", r)
			}
		})
	}
	calls.Wait()
}

// P198: a server that ends before it accepts a request is replaced, but not for ever; nothing has run.
func TestServerThatEndsAtOnce(t *testing.T) {
	h := newHouse(t)
	c := h.client("one")
	starts := 0
	c.Start = func(Place, *os.File) error { starts++; return nil } // whose copy of the listener is closed
	r := c.Run(t.Context(), h.cell("s", "1"))
	if r.Status != hermes.Failure || r.ErrorKind != hermes.KindBackend || !strings.Contains(r.Error, "before it did anything") || starts != attempts ||
		r.Kernel == nil || r.Kernel.StateLost {
		t.Errorf("%+v, %d starts", r, starts)
	}
	c.Place.clear()
}
