package docker

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/docker/docker/api/types/mount"

	"github.com/hermes-exec/hermes-exec/backend"
)

// The temporary directory has half of the memory, but never less than what a run needs there.
func TestTemp(t *testing.T) {
	for memory, want := range map[int64]string{2 << 30: ",size=1073741824", 64 << 20: ",size=33554432", 20 << 20: ",size=16777216", 0: "mode=1777"} {
		got := Config{Memory: memory}.spec("python3", nil, nil).host.Tmpfs[temp]
		if !strings.HasPrefix(got, "rw,exec,") || !strings.HasSuffix(got, want) {
			t.Errorf("%d bytes of memory: %q, want %q", memory, got, want)
		}
	}
	mounted := Config{Memory: 64 << 20}.spec("python3", []mount.Mount{{Target: temp}}, nil)
	if mounted.host.Tmpfs != nil {
		t.Errorf("%v beside a directory that is mounted there", mounted.host.Tmpfs)
	}
}

// Who ran out of memory before anything was begun is told how much there was.
func TestNarrow(t *testing.T) {
	s := Config{Memory: 6 << 20}.spec("python3", nil, nil)
	starved := fmt.Errorf("start: %w", &backend.ExitError{Code: -9, Signal: backend.Kill, OOMKilled: true})
	if err := s.narrow(starved); !errors.Is(err, starved) || !strings.HasSuffix(err.Error(), "; it may use 6MiB of memory: --memory gives it more") {
		t.Errorf("%v", err)
	}
	for _, other := range []error{errors.New("no such image"), &backend.ExitError{Code: -9, Signal: backend.Kill}} {
		if err := s.narrow(other); err.Error() != other.Error() {
			t.Errorf("%v of %v", err, other)
		}
	}
}

// A container that was restarted does not remove itself: it is removed.
func TestRestartedContainerIsRemoved(t *testing.T) {
	var removals atomic.Int32
	e := fakeEngine(t, func(w http.ResponseWriter, r *http.Request) {
		gone := removals.Load() > 0
		switch {
		case r.Method == http.MethodDelete:
			removals.Add(1)
		case gone:
			http.Error(w, `{"message": "no such container"}`, http.StatusNotFound)
		case strings.HasSuffix(r.URL.Path, "/wait"):
			<-r.Context().Done()
		default:
			_, _ = io.WriteString(w, `{"Id": "x", "State": {"Running": true}}`)
		}
	})
	if err := e.awaitRemoval("x"); err != nil || removals.Load() != 1 {
		t.Errorf("%v, %d removals", err, removals.Load())
	}
}
