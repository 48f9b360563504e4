//go:build unix

package local_test

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/backendtest"
	"github.com/hermes-exec/hermes-exec/backend/local"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBackend(t *testing.T) {
	backendtest.TestBackend(t, backendtest.Config{Open: func(t *testing.T) backend.Backend {
		t.Helper()
		b, err := local.Open(t.Context(), local.Config{Dir: t.TempDir(), Env: environ(), Python: testenv.Python(t)})
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

func environ() map[string]string {
	vars := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	return vars
}
