//go:build unix

package server

import (
	"errors"
	"os"
	"strings"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend"
)

// A server that the Go runtime ends, as it does when it gets no thread, leaves its callers with the
// runtime's reason.
func TestCrash(t *testing.T) {
	h := newHouse(t)
	c := h.client("one")
	c.Start = Command(crash)
	r := c.Run(t.Context(), h.cell("s", "1"))
	if r.ErrorKind != hermes.KindBackend || r.ExitStatus() != 125 || !strings.Contains(r.Error, "fatal error: thread exhaustion)") {
		t.Errorf("%s %d %q", r.ErrorKind, r.ExitStatus(), r.Error)
	}
	c.Place.clear()
}

// A server that gets no thread when it starts has its runtime say so, in words alone.
func TestCrashedForWantOfThreads(t *testing.T) {
	h := newHouse(t)
	if err := h.place.make(); err != nil {
		t.Fatal(err)
	}
	said := "runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\n"
	if err := os.WriteFile(h.place.crashFile(), []byte(said), 0o600); err != nil {
		t.Fatal(err)
	}
	err := h.client("one").explained(ErrLost)
	if !errors.Is(err, ErrLost) || !errors.Is(err, backend.ErrExhausted) || !strings.Contains(err.Error(), "ulimit -u") {
		t.Errorf("%v", err)
	}
}

// What one server said is not said of the next, nor of one that was killed.
func TestCrashed(t *testing.T) {
	h := newHouse(t)
	if err := h.place.make(); err != nil {
		t.Fatal(err)
	}
	c := h.client("one")
	for text, want := range map[string]string{
		"": "", "\npanic: no\n\ngoroutine 1:": " (panic: no)", "one\ntwo\n": " (one; two)",
		strings.Repeat("x", 1000): " (" + strings.Repeat("x", maxCrash) + ")",
	} {
		if err := os.WriteFile(h.place.crashFile(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := c.explained(ErrLost).Error(); got != ErrLost.Error()+want {
			t.Errorf("%q is told as %q", text, got)
		}
		if got := c.explained(os.ErrClosed).Error(); got != os.ErrClosed.Error() {
			t.Errorf("another error became %q", got)
		}
	}
	_ = os.Remove(h.place.crashFile())
	if got := c.explained(ErrLost); got != ErrLost { //nolint:errorlint // it is the same
		t.Errorf("without a file: %v", got)
	}
}

// What a server prints when the next one runs already is not said of that.
func TestCrashedLate(t *testing.T) {
	h := newHouse(t)
	if err := h.place.make(); err != nil {
		t.Fatal(err)
	}
	before, err := h.place.openCrash()
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	now, err := h.place.openCrash()
	if err != nil {
		t.Fatal(err)
	}
	defer now.Close()
	_, err = before.WriteString("late")
	if said := h.place.crashed(); said != "" || err != nil {
		t.Errorf("%q, %v", said, err)
	}
	_, err = now.WriteString("well")
	if said := h.place.crashed(); said != "well" || err != nil {
		t.Errorf("%q, %v", said, err)
	}
}
