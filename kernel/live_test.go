//go:build unix

package kernel_test

import (
	"context"
	"maps"
	"path"
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
