//go:build unix

package backendtest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/guest"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// open opens a Pipe that is closed with the test.
func open(t *testing.T, cfg PipeConfig) backend.Backend {
	t.Helper()
	b, err := Pipe(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	testenv.CloseAfter(t, b)
	return b
}

// openPipe opens a Pipe with a link in it, or none.
func openPipe(t *testing.T, link *Link) backend.Backend {
	t.Helper()
	cfg := PipeConfig{Python: testenv.Python(t), Dir: t.TempDir(), Env: testenv.Environ()}
	if link != nil {
		cfg.Wrap = func(inner guest.Link) guest.Link { return link.Wrap(inner) }
	}
	return open(t, cfg)
}

func TestPipe(t *testing.T) {
	TestBackend(t, Config{Open: func(t *testing.T) backend.Backend { return openPipe(t, nil) }})
}

// TestPipeInterpreters takes a part of the suite to every interpreter that carries the agent: what it
// uses of the standard library differs. Those that are too old say so.
func TestPipeInterpreters(t *testing.T) {
	for _, python := range testenv.Pythons(t) {
		t.Run(python.Version, func(t *testing.T) {
			t.Parallel()
			cfg := PipeConfig{Python: python.Path, Dir: t.TempDir(), Env: testenv.Environ()}
			if !python.Usable() {
				_, err := Pipe(t.Context(), cfg)
				if !errors.Is(err, backend.ErrNoPython) || !strings.Contains(err.Error(), " is older than 3.8") {
					t.Errorf("got %v", err)
				}
				return
			}
			some := map[string]bool{}
			for i, tc := range cases() {
				some[tc.name] = i%8 == python.Minor%8 || strings.HasPrefix(tc.name, "info")
			}
			TestBackend(t, Config{
				Open: func(t *testing.T) backend.Backend { return open(t, cfg) },
				only: func(name string) bool { return some[name] && slow(name) },
			})
		})
	}
}

// TestPipeLongTemp: below a temporary directory whose path is too long for a socket there are
// sockets all the same (and they go with the environment).
func TestPipeLongTemp(t *testing.T) {
	long := filepath.Join(testenv.TempDir(t), strings.Repeat("long", 40))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	vars := testenv.Environ()
	vars["TMPDIR"] = long
	b := open(t, PipeConfig{Python: testenv.Python(t), Dir: t.TempDir(), Env: vars})
	if b.Info().Temp != long {
		t.Errorf("the temporary directory is %s", b.Info().Temp)
	}
	l, err := b.Listen(t.Context(), "unix", "")
	if err != nil {
		t.Fatal(err)
	}
	socket := l.Addr().String()
	shut(l)
	if err := b.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := os.Lstat(filepath.Dir(socket)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s stays: %v", filepath.Dir(socket), err)
	}
	if left, err := os.ReadDir(long); err != nil || len(left) > 0 {
		t.Errorf("left in %s: %v, %v", long, left, err)
	}
}
