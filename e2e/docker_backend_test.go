package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/backendtest"
	"github.com/hermes-exec/hermes-exec/backend/docker"
)

func environ() map[string]string {
	vars := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	return vars
}

func TestBackend(t *testing.T) {
	backendtest.TestBackend(t, backendtest.Config{Open: func(t *testing.T) backend.Backend {
		t.Helper()
		b, err := docker.Open(t.Context(), docker.Config{Image: "hermes-exec/python:3", Env: environ(), Memory: 2 << 30, CPUs: 2, Pids: 512})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := b.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		return b
	}})
}
