package tempfile_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/tempfile"
)

func TestNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	f, err := tempfile.New()
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 && runtime.GOOS != "windows" {
		t.Errorf("%s has a name", left[0].Name())
	}
	back := make([]byte, 3)
	if _, err := f.WriteAt([]byte("abc"), 5); err != nil {
		t.Error(err)
	}
	if _, err := f.ReadAt(back, 5); err != nil || string(back) != "abc" {
		t.Errorf("%q, %v", back, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%s is left", left[0].Name())
	}
}

func TestNoRoom(t *testing.T) {
	t.Setenv("TMPDIR", "/nonexistent")
	t.Setenv("TMP", "/nonexistent")
	if _, err := tempfile.New(); err == nil {
		t.Error("a file without a directory")
	}
}
