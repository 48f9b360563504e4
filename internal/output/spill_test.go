package output

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// entries lists the cache.
func entries(t *testing.T, c *Cache) []string {
	t.Helper()
	list, err := os.ReadDir(c.Dir())
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestSpill(t *testing.T) {
	t.Run("B003 P80 P201 the whole text is kept", func(t *testing.T) {
		c := NewCache(t.TempDir())
		var text strings.Builder
		for i := range 20000 {
			text.WriteString(strings.Repeat(".", i%50))
			text.WriteString("line\n")
		}
		got := capture(Limits{Inline: 1000, Spill: 5e6}, nil, c, text.String(), 777)
		data, err := os.ReadFile(got.SpillPath)
		if err != nil || string(data) != text.String() || got.SpillTruncated {
			t.Fatalf("spill of %d bytes, want %d: %v", len(data), text.Len(), err)
		}
		sum := sha256.Sum256(data)
		if filepath.Base(got.SpillPath) != hex.EncodeToString(sum[:])+".txt" {
			t.Errorf("named %s", got.SpillPath)
		}
		for path, want := range map[string]fs.FileMode{got.SpillPath: 0o600, c.Dir(): 0o700 | fs.ModeDir} {
			if is, err := os.Stat(path); err != nil || is.Mode() != want {
				t.Errorf("%s: %v, %v", path, is.Mode(), err)
			}
		}
		again := capture(Limits{Inline: 1000, Spill: 5e6}, nil, c, text.String(), 1000)
		if names := entries(t, c); again.SpillPath != got.SpillPath || len(names) != 1 {
			t.Errorf("the same text again: %s; %v", again.SpillPath, names)
		}
	})
	t.Run("P202 short output makes no file", func(t *testing.T) {
		c := NewCache(t.TempDir())
		if got := capture(Limits{Inline: 1000, Spill: 5e6}, nil, c, strings.Repeat("x", 1000), 10); got.SpillPath != "" {
			t.Errorf("spill: %s", got.SpillPath)
		}
		if names := entries(t, c); names != nil {
			t.Errorf("left: %v", names)
		}
	})
	t.Run("P203 one huge line", func(t *testing.T) {
		text := `{"k":"` + strings.Repeat("v", 200000) + `"}`
		got := capture(Limits{Inline: 1000, Spill: 5e6}, nil, NewCache(t.TempDir()), text, 64<<10)
		if data, err := os.ReadFile(got.SpillPath); err != nil || string(data) != text {
			t.Errorf("spill of %d bytes: %v", len(data), err)
		}
	})
	t.Run("P204 secrets are masked", func(t *testing.T) {
		text := strings.Repeat("x", 990) + "hunter2-winter" + strings.Repeat("y", 1000) + "hunter2-winter"
		for piece := 1; piece < 40; piece++ {
			got := capture(Limits{Inline: 1000, Spill: 5e6}, NewSecrets("hunter2-winter"), NewCache(t.TempDir()), text, piece)
			data, err := os.ReadFile(got.SpillPath)
			if want := strings.ReplaceAll(text, "hunter2-winter", "***"); err != nil || string(data) != want {
				t.Fatalf("pieces of %d: %d bytes, want %d: %v", piece, len(data), len(want), err)
			}
		}
	})
}

func TestSpillLimit(t *testing.T) {
	const secret = "hunter2-winter"
	for _, tt := range []struct {
		name, unit, want string
		n                int
		limit            int64
	}{
		{"P205 bytes, at a border of characters", "é", strings.Repeat("é", 50), 200, 101},
		{"exactly", "ab", strings.Repeat("ab", 50), 200, 100},
		{"invalid bytes grow", "\xff", strings.Repeat("\ufffd", 33), 200, 100},
		{"half a secret at the end", secret, strings.Repeat("***", 8), 20, 7*14 + 7},
		{"the file is whole", "ab", strings.Repeat("ab", 200), 200, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Repeat(tt.unit, tt.n)
			for _, piece := range []int{1, 7, 1 << 20} {
				got := capture(Limits{Inline: 50, Spill: tt.limit}, NewSecrets(secret), NewCache(t.TempDir()), text, piece)
				data, err := os.ReadFile(got.SpillPath)
				if err != nil || string(data) != tt.want || !utf8.Valid(data) {
					t.Errorf("pieces of %d: %q, %v", piece, data, err)
				}
				if got.SpillTruncated != (int64(len(text)) > tt.limit) {
					t.Errorf("pieces of %d: truncated is %v", piece, got.SpillTruncated)
				}
			}
		})
	}
}

func TestSpillFailureDegrades(t *testing.T) {
	big := strings.Repeat("x", 2000)
	t.Run("P206 no room for the directory", func(t *testing.T) {
		home := t.TempDir()
		if err := os.WriteFile(filepath.Join(home, "cache"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		got := capture(Limits{Inline: 100, Spill: 5e6}, nil, NewCache(home), big, 10)
		if got.SpillPath != "" || got.SpillErr == nil || got.Captured != 100 || got.Total != 2000 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("P207 a symbolic link is not followed", func(t *testing.T) {
		for _, link := range []string{"cache", "cache/exec"} {
			home, elsewhere := t.TempDir(), t.TempDir()
			if err := os.MkdirAll(filepath.Dir(filepath.Join(home, link)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(elsewhere, filepath.Join(home, link)); err != nil {
				t.Fatal(err)
			}
			got := capture(Limits{Inline: 100, Spill: 5e6}, nil, NewCache(home), big, 10)
			if left, _ := os.ReadDir(elsewhere); got.SpillPath != "" || got.SpillErr == nil || len(left) != 0 {
				t.Errorf("%s: %s, %v, %v", link, got.SpillPath, got.SpillErr, left)
			}
		}
	})
	t.Run("the file vanishes", func(t *testing.T) {
		cache := NewCache(t.TempDir())
		c := NewCapture("OUTPUT", Limits{Inline: 100, Spill: 5e6}, nil, cache)
		_, _ = c.Write([]byte(big))
		for _, name := range entries(t, cache) {
			if err := os.Remove(filepath.Join(cache.Dir(), name)); err != nil {
				t.Fatal(err)
			}
		}
		if got := c.Finish(0); got.SpillPath != "" || got.SpillErr == nil || !got.Truncated {
			t.Errorf("got %+v", got)
		}
	})
}

func TestCacheStore(t *testing.T) {
	c := NewCache(t.TempDir())
	path, cut, err := c.Store("a page", 100, nil)
	if data, _ := os.ReadFile(path); err != nil || cut || string(data) != "a page" {
		t.Errorf("%q, %v, %v", data, cut, err)
	}
	path, cut, err = c.Store("", 100, nil)
	if data, rerr := os.ReadFile(path); err != nil || rerr != nil || cut || len(data) != 0 {
		t.Errorf("empty: %q, %v, %v", data, cut, err)
	}
}
