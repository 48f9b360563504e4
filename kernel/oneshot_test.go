//go:build unix

package kernel_test

import (
	"context"
	"maps"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/backendtest"
	"github.com/hermes-exec/hermes-exec/backend/local"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
	"github.com/hermes-exec/hermes-exec/kernel"
	"github.com/hermes-exec/hermes-exec/kernel/kerneltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOneShot(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) backend.Backend{"local": openLocal, "pipe": openPipe} {
		t.Run(name, func(t *testing.T) {
			kerneltest.TestExecutor(t, kerneltest.Config{
				Fresh: true,
				Open: func(t *testing.T, grace time.Duration) (kernel.Executor, backend.Backend) {
					b := open(t)
					vars := maps.Clone(b.Info().Env)
					vars["PYTHONUTF8"], vars["PYTHONUNBUFFERED"] = "1", "1"
					staging := path.Join(b.Info().Scratch, "staging")
					e := kernel.OneShot(b, kernel.Process{Staging: staging, Env: vars, Grace: grace})
					t.Cleanup(func() { _ = e.Close() })
					return e, b
				},
			})
		})
	}
}

func TestOneShotInPlace(t *testing.T) {
	b := openLocal(t)
	file := path.Join(b.Info().Dir, "my script.py")
	if err := b.Put(t.Context(), file, strings.NewReader("print(__file__)"), 0); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	e := kernel.OneShot(b, kernel.Process{Env: b.Info().Env})
	_, err := e.Exec(t.Context(), kernel.Cell{File: file, Stdout: &out})
	if err != nil || out.String() != file+"\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestOneShotInMissingDirectory(t *testing.T) {
	e := kernel.OneShot(openLocal(t), kernel.Process{Staging: t.TempDir()})
	o, err := e.Exec(t.Context(), kernel.Cell{Code: []byte("1"), Dir: "/nowhere at all"})
	if o != nil || err == nil || !strings.Contains(err.Error(), "/nowhere at all") {
		t.Errorf("%+v, %v", o, err)
	}
}

func openLocal(t *testing.T) backend.Backend {
	return closing(t)(local.Open(t.Context(), local.Config{Dir: t.TempDir(), Env: environ(), Python: testenv.Python(t)}))
}

func openPipe(t *testing.T) backend.Backend {
	return closing(t)(backendtest.Pipe(context.WithoutCancel(t.Context()),
		backendtest.PipeConfig{Python: testenv.Python(t), Dir: t.TempDir(), Env: environ()}))
}

// closing has what was opened closed at the end of the test.
func closing(t *testing.T) func(b backend.Backend, err error) backend.Backend {
	return func(b backend.Backend, err error) backend.Backend {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		testenv.CloseAfter(t, b)
		return b
	}
}

func environ() map[string]string {
	return map[string]string{"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME"), "LC_ALL": "POSIX"}
}
