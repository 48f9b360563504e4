//go:build unix

package hermes_test

import (
	"cmp"
	"context"
	"net/url"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/backendtest"
	"github.com/hermes-exec/hermes-exec/backend/local"
	"github.com/hermes-exec/hermes-exec/internal/scripttest"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// TestScripts runs one table on every backend and over every transport.
func TestScripts(t *testing.T) {
	native := scripttest.Place{
		Name: "native", Options: func(t *testing.T) hermes.Options { return options(t, "native") }, Transports: []string{"tcp", "file"},
	}
	scripttest.Everywhere(t, scripttest.TestScripts, append(places(), native)...)
}

// TestCells runs one table of sessions on every backend and over every transport.
func TestCells(t *testing.T) {
	scripttest.Everywhere(t, scripttest.TestCells, places()...)
}

// places are the backends of this machine.
func places() []scripttest.Place {
	var list []scripttest.Place
	for _, name := range []string{"local", "pipe"} {
		list = append(list, scripttest.Place{Name: name, Options: func(t *testing.T) hermes.Options { return options(t, name) }})
	}
	return list
}

// options are those of a fresh environment in a directory of its own.
func options(t testing.TB, backendName string) hermes.Options {
	t.Helper()
	o := scripttest.Options(t)
	o.Openers = openers(o.Environ, o.Dir)
	o.Settings.Backend, o.Settings.Python = backendName, testenv.Python(t)
	return o
}

// openers are the real local backend, the one that Windows has, and one that is reached through the guest
// agent alone.
func openers(vars map[string]string, dir string) map[string]backend.Opener {
	return map[string]backend.Opener{
		"local":  local.Opener(vars, dir),
		"native": local.NativeOpener(vars, dir),
		"pipe": func(ctx context.Context, u *url.URL) (backend.Backend, error) {
			return backendtest.Pipe(ctx, backendtest.PipeConfig{Python: u.Query().Get("python"), Dir: cmp.Or(u.Path, dir), Env: vars})
		},
	}
}
