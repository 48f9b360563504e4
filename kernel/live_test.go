//go:build unix

package kernel_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/kernel"
	"github.com/hermes-exec/hermes-exec/kernel/kerneltest"
)

func TestKernel(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) backend.Backend{"local": openLocal, "pipe": openPipe} {
		t.Run(name, func(t *testing.T) {
			kerneltest.TestExecutor(t, kerneltest.Config{
				Open: func(t *testing.T, grace time.Duration) (kernel.Executor, backend.Backend) {
					b := open(t)
					oneShot := kernel.OneShot(b, kernel.Process{}) // unused: a kernel can be started here
					e := kernel.WithFallback(func(context.Context) (kernel.Executor, error) {
						return start(t, b, kernel.Process{Grace: grace}), nil
					}, oneShot)
					t.Cleanup(func() { _ = e.Close() })
					return e, b
				},
			})
		})
	}
}

// start starts a kernel as a session does.
func start(t *testing.T, b backend.Backend, p kernel.Process) *kernel.Kernel {
	t.Helper()
	p.Staging = path.Join(b.Info().Scratch, "staging")
	p.Env = maps.Clone(b.Info().Env)
	p.Env["PYTHONUTF8"], p.Env["PYTHONUNBUFFERED"], p.Env["PYTHONPATH"] = "1", "1", p.Staging
	k, err := kernel.Start(t.Context(), b, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	return k
}

// A kernel whose cell obeys an interrupt ends in order: it knows of temporary files that a killed one
// leaves behind.
func TestInterruptedKernelPutsAway(t *testing.T) {
	temp := t.TempDir()
	b := openLocal(t)
	b.Info().Env["TMPDIR"] = temp
	k := start(t, b, kernel.Process{Grace: time.Minute})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ready := writer(func(p []byte) {
		if strings.Contains(string(p), "ready") {
			if found := pools(t, temp); len(found) != 1 {
				t.Errorf("while it runs: %v", found)
			}
			cancel(&kernel.Interrupt{})
		}
	})
	o, err := k.Exec(ctx, kernel.Cell{Stdout: ready, Code: []byte(`import multiprocessing, time
with multiprocessing.get_context("forkserver").Pool(1) as pool:
    pool.map(abs, [1])
    print("ready")
    time.sleep(600)
`)})
	if o == nil || !o.Ended || err == nil {
		t.Errorf("%+v, %v", o, err)
	}
	if found := pools(t, temp); len(found) != 0 {
		t.Errorf("left: %v", found)
	}
}

// full is an environment with no room for files.
type full struct{ backend.Backend }

func (full) Put(context.Context, string, io.Reader, fs.FileMode) error { return syscall.ENOSPC }

// A kernel starts where cells have left no room for files, as long as one has started there before.
func TestKernelWithoutRoom(t *testing.T) {
	b := full{openLocal(t)}
	p := kernel.Process{Staging: path.Join(b.Info().Scratch, "staging"), Env: b.Info().Env}
	if k, err := kernel.Start(t.Context(), b, p); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v, %v; want %v", k, err, syscall.ENOSPC)
	}
	_ = start(t, b.Backend, p).Close()
	if o, err := start(t, b, p).Exec(t.Context(), kernel.Cell{Code: []byte("1")}); o == nil || !o.Delivered || err != nil {
		t.Errorf("%+v, %v", o, err)
	}
	if err := b.Backend.Put(t.Context(), path.Join(p.Staging, "kernel.py"), strings.NewReader("not it"), 0o600); err != nil {
		t.Fatal(err)
	}
	if k, err := kernel.Start(t.Context(), b, p); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v, %v; want %v", k, err, syscall.ENOSPC)
	}
}

// pools are the directories that multiprocessing keeps.
func pools(t *testing.T, temp string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(temp, "pymp-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}
