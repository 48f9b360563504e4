package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Interp is a Python interpreter: the binary itself, never a shim that looks for one.
type Interp struct {
	Path         string // absolute
	Version      string // "3.11.2"
	Major, Minor int
}

// Usable tells whether the interpreter is new enough to run the guest.
func (i Interp) Usable() bool { return i.Major == 3 && i.Minor >= 8 }

// Python returns an interpreter that is new enough. Tests that care for its age use Pythons.
func Python(t testing.TB) string {
	t.Helper()
	for _, path := range candidates() {
		if i, err := probe(t, path); err == nil && i.Usable() {
			return i.Path
		}
	}
	Missing(t, "python", "no Python 3.8 or newer in /usr/bin, on PATH or in ~/.pyenv")
	return ""
}

// Pythons returns every interpreter that works, also those too old for the guest, one per binary:
// from /usr/bin, PATH and pyenv's folder.
func Pythons(t testing.TB) []Interp {
	t.Helper()
	var found []Interp
	seen := map[string]bool{}
	for _, path := range candidates() {
		i, err := probe(t, path)
		if err != nil || seen[i.Path] {
			continue
		}
		seen[i.Path] = true
		found = append(found, i)
	}
	if len(found) == 0 {
		Missing(t, "python", "no interpreter works")
	}
	return found
}

// candidates lists names that may be interpreters, those that start fastest first.
func candidates() []string {
	dirs := append([]string{"/usr/bin"}, filepath.SplitList(os.Getenv("PATH"))...)
	if home, err := os.UserHomeDir(); err == nil {
		versions, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions/*/bin"))
		dirs = append(dirs, versions...)
	}
	var paths []string
	for _, dir := range dirs {
		for _, name := range []string{"python3", "python2", "python"} {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// probe asks an interpreter what it is. The realpath goes past symlinks, sys.executable past shims.
func probe(t testing.TB, path string) (Interp, error) {
	const ask = "import os,sys;print(os.path.realpath(sys.executable)+' %d.%d.%d'%sys.version_info[:3])"
	//nolint:forbidigo // Tests have to find interpreters before there is a backend.
	out, err := exec.CommandContext(t.Context(), path, "-E", "-S", "-c", ask).Output()
	if err != nil {
		return Interp{}, fmt.Errorf("probe %s: %w", path, err)
	}
	binary, version, ok := strings.Cut(strings.TrimSpace(string(out)), " ")
	i := Interp{Path: binary, Version: version}
	if _, err := fmt.Sscanf(version, "%d.%d", &i.Major, &i.Minor); err != nil || !ok {
		return Interp{}, fmt.Errorf("probe %s: answered %q", path, out)
	}
	return i, nil
}
