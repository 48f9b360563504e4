//go:build unix

package e2e

import (
	"path"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/backendtest"
	"github.com/hermes-exec/hermes-exec/backend/docker"
	"github.com/hermes-exec/hermes-exec/python"
)

// openDocker opens an environment that is closed at the end of the test. What cfg leaves out are the
// limits of a small machine, and this process's variables.
func openDocker(t *testing.T, cfg docker.Config) backend.Backend {
	t.Helper()
	if cfg.Env == nil {
		cfg.Env = environ()
	}
	cfg.Memory, cfg.CPUs, cfg.Pids = 2<<30, 2, 512
	b, err := docker.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// TestDockerBackend runs the contract of a backend in containers that are made for it.
func TestDockerBackend(t *testing.T) {
	e := engine(t)
	backendtest.TestBackend(t, backendtest.Config{Open: func(t *testing.T) backend.Backend {
		t.Helper()
		return openDocker(t, docker.Config{Image: e.Image})
	}})
}

// TestDockerExecBackend runs it in one container that is there already.
func TestDockerExecBackend(t *testing.T) {
	e := engine(t)
	id := e.Container(t, e.Image)
	backendtest.TestBackend(t, backendtest.Config{Open: func(t *testing.T) backend.Backend {
		t.Helper()
		return openDocker(t, docker.Config{Container: id})
	}})
}

// The image of this tree has the guest library of this tree, compiled, and the agent runs from there.
func TestDockerImageCarriesTheLibrary(t *testing.T) {
	t.Parallel()
	e := engine(t)
	_, name, err := python.Library()
	if err != nil {
		t.Fatal(err)
	}
	got := openDocker(t, docker.Config{Image: e.Image}).Info().Library
	if want := path.Join("/usr/local/lib/hermes-exec", name); got != want {
		t.Errorf("the agent runs from %s, want %s: is the image older than the library? make image", got, want)
	}
}
