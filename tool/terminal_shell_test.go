//go:build unix

package tool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// onWindows is an environment that calls itself one of Windows.
type onWindows struct{ backend.Backend }

func (b onWindows) Info() backend.Info {
	info := b.Backend.Info()
	info.OS = "windows"
	return info
}

// TestTerminalOnWindows: bash is not taken for a shell there, which may be that of a Linux beside it, and
// a command that is too long for the arguments of Windows is not among them.
func TestTerminalOnWindows(t *testing.T) {
	w := newWorld(t)
	w.env.Backend = onWindows{w.env.Backend}
	bin := filepath.Join(w.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bash", "cat", "rm", "tr"} {
		if err := os.Symlink(testenv.Require(t, name), filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	vars := map[string]string{"PATH": bin}
	w.env.Environ = vars
	w.fails("terminal", object{"command": "true"}, "no shell was found: sh, which Git for Windows has, is not in PATH, which is '"+bin+"'")
	if err := os.Symlink(testenv.Require(t, "sh"), filepath.Join(bin, "sh")); err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{10, winInline + 1} {
		o := w.ok("terminal", object{"command": "tr '\\0' ' ' </proc/$$/cmdline # " + strings.Repeat("x", length)})
		text, _ := o["output"].(string)
		if !strings.HasPrefix(text, "sh -c ") || len(text) > winInline {
			t.Errorf("%d characters: the arguments are %.100q, %d bytes", length, text, len(text))
		}
	}
}
