//go:build unix

package local

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hermes-exec/hermes-exec/python"
)

// unusedFor is how long a library was not used that is removed: one of another version, of which a
// process may still run and load the rest of it.
const unusedFor = 30 * 24 * time.Hour

// usedEvery is how often a use is written down, as the directory's time.
const usedEvery = 24 * time.Hour

// library puts the guest library into the caller's cache, where interpreters keep its bytecode:
// compiling it takes half the time of a start. The code is compared with what it should be each time;
// what others may write to is not used. The bytecode beside it is the interpreters' own, as everywhere:
// what this user's own programs write there nobody tells from it.
func library(env map[string]string) (string, error) {
	cache, err := cacheDir(env)
	if err != nil {
		return "", err
	}
	files, name, err := python.Files()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, name)
	if intact(dir, files) {
		keepUsed(dir)
		return dir, nil
	}
	if err := install(cache, dir, files); err != nil {
		return "", err
	}
	removeUnused(cache)
	if !intact(dir, files) {
		return "", fmt.Errorf("%s does not hold what was put there", dir)
	}
	return dir, nil
}

// cacheDir makes the directory. A home that does not exist is not made: it is a mistake, or meant.
func cacheDir(env map[string]string) (string, error) {
	home := env["HERMES_HOME"]
	if home == "" {
		if info, err := os.Stat(env["HOME"]); err != nil || !info.IsDir() {
			return "", errors.New("no HERMES_HOME and no HOME")
		}
		home = filepath.Join(env["HOME"], ".hermes")
	}
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("HERMES_HOME %s is not absolute", home)
	}
	cache := filepath.Join(home, "cache", "guest")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", err
	}
	for _, dir := range []string{filepath.Dir(cache), cache} {
		if !private(dir) {
			return "", fmt.Errorf("%s is not this user's alone", dir)
		}
	}
	return cache, nil
}

// intact tells whether dir is this user's alone and holds exactly the code of files.
func intact(dir string, files map[string][]byte) bool {
	pkg := filepath.Join(dir, python.Package)
	bytecode := filepath.Join(pkg, "__pycache__")
	if !private(dir) || !private(pkg) {
		return false
	}
	if _, err := os.Lstat(bytecode); err == nil && !private(bytecode) {
		return false
	}
	for name, code := range files {
		if have, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(have, code) {
			return false
		}
	}
	return true
}

// private tells whether dir is a directory that nobody else may write to.
func private(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o022 != 0 {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// install makes the directory under another name and moves it into place, so that nobody ever sees
// half of it. One that is there and not as it should be makes way.
func install(cache, dir string, files map[string][]byte) error {
	temp, err := os.MkdirTemp(cache, ".new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	fresh := filepath.Join(temp, "library")
	if err := os.MkdirAll(filepath.Join(fresh, python.Package), 0o700); err != nil {
		return err
	}
	for name, code := range files {
		if err := os.WriteFile(filepath.Join(fresh, name), code, 0o600); err != nil {
			return err
		}
	}
	if err := os.Rename(dir, filepath.Join(temp, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err // fs.ErrExist: another process was first
	}
	return nil
}

// forget removes a library that no interpreter could load: its bytecode may be damaged.
func forget(dir string) { _ = os.RemoveAll(dir) }

// keepUsed writes down that a library is used.
func keepUsed(dir string) {
	if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > usedEvery {
		_ = os.Chtimes(dir, time.Time{}, time.Now()) // else it is installed again one day
	}
}

// removeUnused removes libraries that nobody has used for long.
func removeUnused(cache string) {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > unusedFor {
			_ = os.RemoveAll(filepath.Join(cache, entry.Name()))
		}
	}
}
