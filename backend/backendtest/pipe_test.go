//go:build unix

package backendtest

import (
	"os"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/guest"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// pipeEnv is the environment of the tests, as an environment has it.
func pipeEnv() map[string]string {
	vars := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	return vars
}

// openPipe opens a Pipe with a link in it, or none.
func openPipe(t *testing.T, link *Link) backend.Backend {
	t.Helper()
	cfg := PipeConfig{Python: testenv.Python(t), Dir: t.TempDir(), Env: pipeEnv()}
	if link != nil {
		cfg.Wrap = func(inner guest.Link) guest.Link { return link.Wrap(inner) }
	}
	b, err := Pipe(t.Context(), cfg)
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

func TestPipe(t *testing.T) {
	TestBackend(t, Config{Open: func(t *testing.T) backend.Backend { return openPipe(t, nil) }})
}
