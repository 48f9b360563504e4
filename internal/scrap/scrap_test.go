package scrap_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/scrap"
)

// TestRemove: what makes a removal hard, and what must stay.
func TestRemove(t *testing.T) {
	for name, fill := range map[string]func(t *testing.T, dir string){
		"nothing":  func(*testing.T, string) {},
		"closed":   func(t *testing.T, dir string) { closed(t, dir) },
		"all shut": func(t *testing.T, dir string) { closed(t, dir); must(t, os.Chmod(dir, 0)) },
		"deep":     deep,
		"names of its own": func(t *testing.T, dir string) {
			must(t, os.MkdirAll(filepath.Join(dir, "scrap1", "scrap2", "scrap1"), 0o700))
			closed(t, filepath.Join(dir, "scrap1", "scrap2"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			outside := t.TempDir()
			kept := filepath.Join(outside, "kept")
			must(t, os.WriteFile(kept, []byte("x"), 0o600))
			dir := filepath.Join(t.TempDir(), "dir")
			must(t, os.Mkdir(dir, 0o700))
			must(t, os.Symlink(outside, filepath.Join(dir, "link")))
			fill(t, dir)
			if err := scrap.Remove(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the directory stays: %v", err)
			}
			if text, err := os.ReadFile(kept); err != nil || string(text) != "x" {
				t.Errorf("what a link led to is %q, %v", text, err)
			}
		})
	}
	if err := scrap.Remove(filepath.Join(t.TempDir(), "gone")); err != nil {
		t.Errorf("what is not there: %v", err)
	}
}

// closed makes a directory that its owner may not look into, as far as the owner is not root.
func closed(t *testing.T, dir string) {
	t.Helper()
	inner := filepath.Join(dir, "closed")
	must(t, os.MkdirAll(filepath.Join(inner, "in"), 0o700))
	must(t, os.WriteFile(filepath.Join(inner, "file"), nil, 0o600))
	must(t, os.Chmod(inner, 0))
}

// deep makes directories in each other, more than there are descriptors.
func deep(t *testing.T, dir string) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	must(t, err)
	for range 5000 {
		must(t, root.Mkdir("d", 0o700))
		next, err := root.OpenRoot("d")
		must(t, err)
		must(t, root.Close())
		root = next
	}
	must(t, root.Close())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
