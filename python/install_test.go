package python_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
	"github.com/hermes-exec/hermes-exec/python"
)

// What install.py puts into an image has the name that the bootstrap looks for there.
func TestInstalledName(t *testing.T) {
	_, want, err := python.Library()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), testenv.Python(t), "install.py", "hermes", t.TempDir()).CombinedOutput()
	if got := filepath.Base(strings.TrimSpace(string(out))); err != nil || got != want {
		t.Errorf("installed as %q, want %q: %v", got, want, err)
	}
}
