//go:build unix

package hermes_test

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"os"
	"testing"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/backendtest"
	"github.com/hermes-exec/hermes-exec/backend/local"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/scripttest"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// TestScripts runs one table on every backend and over every transport.
func TestScripts(t *testing.T) {
	var first scripttest.Results
	for _, name := range []string{"local", "pipe"} {
		for _, transport := range []string{"uds", "tcp", "file"} {
			t.Run(name+"/"+transport, func(t *testing.T) {
				got := scripttest.TestScripts(t, scripttest.Config{
					Options:   func(t *testing.T) hermes.Options { return options(t, name) },
					Transport: transport,
				})
				if first == nil {
					first = got
				}
				scripttest.Same(t, first, got)
			})
		}
	}
}

// options are those of a fresh environment in a directory of its own.
func options(t testing.TB, backendName string) hermes.Options {
	t.Helper()
	vars := environ(t)
	dir := t.TempDir()
	o := hermes.Options{Settings: config.Defaults(), Environ: vars, Dir: dir, Openers: openers(vars, dir)}
	o.Settings.Home, o.Settings.Backend = t.TempDir(), backendName
	o.Settings.Python = testenv.Python(t)
	o.Settings.Timeout = time.Minute
	return o
}

// environ are the variables of a caller.
func environ(t testing.TB) map[string]string {
	t.Helper()
	vars := map[string]string{"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "LANG": "C.UTF-8", "TMPDIR": os.TempDir()}
	maps.Copy(vars, scripttest.Variables())
	return vars
}

// openers are the real local backend, and one that is reached through the guest agent alone.
func openers(vars map[string]string, dir string) map[string]backend.Opener {
	return map[string]backend.Opener{
		"local": local.Opener(vars, dir),
		"pipe": func(ctx context.Context, u *url.URL) (backend.Backend, error) {
			return backendtest.Pipe(ctx, backendtest.PipeConfig{Python: u.Query().Get("python"), Dir: cmp.Or(u.Path, dir), Env: vars})
		},
	}
}

// TestCells runs one table of sessions on every backend and over every transport.
func TestCells(t *testing.T) {
	var first scripttest.Results
	for _, name := range []string{"local", "pipe"} {
		for _, transport := range []string{"uds", "tcp", "file"} {
			t.Run(name+"/"+transport, func(t *testing.T) {
				got := scripttest.TestCells(t, scripttest.Config{
					Options:   func(t *testing.T) hermes.Options { return options(t, name) },
					Transport: transport,
				})
				if first == nil {
					first = got
				}
				scripttest.Same(t, first, got)
			})
		}
	}
}
