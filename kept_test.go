package hermes

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/output"
)

// A run may read the files that it was given and those that its tools wrote, and later cells of the
// session those as well.
func TestKept(t *testing.T) {
	k := &kept{cache: output.NewCache(t.TempDir()), limit: 100, secrets: output.NewSecrets("a-secret-value"), named: []string{"/named"}}
	path, cut, err := k.store("text with a-secret-value")
	if err != nil || cut {
		t.Fatal(cut, err)
	}
	if again, _, err := k.store("text with a-secret-value"); err != nil || again != path {
		t.Errorf("%s, %v; want %s", again, err, path)
	}
	for name, want := range map[string]bool{"/named": true, path: true, path + "x": false, filepath.Dir(path): false, "": false} {
		if k.has(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
	if data, err := os.ReadFile(path); err != nil || string(data) == "text with a-secret-value" {
		t.Errorf("%q, %v: the secret is shown", data, err)
	}
	if !slices.Equal(k.written(), []string{path}) || (*kept)(nil).written() != nil {
		t.Errorf("written: %v", k.written())
	}
	s := NewSessions(nil)
	s.byName["s"] = &session{}
	s.remember("s", path, "", path)
	s.remember("none", path)
	if got := s.byName["s"].spills; !slices.Equal(got, []string{path}) {
		t.Errorf("remembered: %v", got)
	}
}

// All files of a run together have a limit; what is there already takes no more room.
func TestKeptIsBounded(t *testing.T) {
	k := &kept{cache: output.NewCache(t.TempDir()), limit: 100, secrets: output.NewSecrets()}
	text := func(i int) string { return strings.Repeat(strconv.Itoa(i%10), 150+i) }
	for i := range 3 * keptFiles {
		if _, cut, err := k.store(text(i % keptFiles)); err != nil || !cut {
			t.Fatalf("%d: %v, %v", i, cut, err)
		}
	}
	if path, _, err := k.store("more"); err == nil || !strings.Contains(err.Error(), "at most 1000 bytes in all") {
		t.Errorf("beyond: %q, %v", path, err)
	}
	if n := len(k.written()); n != keptFiles {
		t.Errorf("%d files", n)
	}
}
