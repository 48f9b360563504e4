//go:build unix

package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hermes-exec/hermes-exec/python"
)

// unusedFor is the age at which the library of another version is removed. A process of that
// version may still run and load the rest of it.
const unusedFor = 30 * 24 * time.Hour

// library puts the guest library into the caller's cache, where interpreters keep its bytecode:
// compiling it takes half the time of a start. The directory must be the caller's alone.
func library(env map[string]string) (string, error) {
	home := env["HERMES_HOME"]
	if home == "" && env["HOME"] != "" {
		home = filepath.Join(env["HOME"], ".hermes")
	}
	if !filepath.IsAbs(home) {
		return "", errors.New("no HERMES_HOME and no HOME")
	}
	files, name, err := python.Files()
	if err != nil {
		return "", err
	}
	cache := filepath.Join(home, "cache", "guest")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", err
	}
	dir := filepath.Join(cache, name)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := install(cache, dir, files); err != nil {
			return "", err
		}
		removeUnused(cache)
	}
	return dir, errors.Join(ours(cache), ours(dir))
}

// install makes the directory under another name, so that nobody ever sees half of it.
func install(cache, dir string, files map[string][]byte) error {
	temp, err := os.MkdirTemp(cache, ".new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	if err := os.Mkdir(filepath.Join(temp, python.Package), 0o700); err != nil {
		return err
	}
	for name, code := range files {
		if err := os.WriteFile(filepath.Join(temp, name), code, 0o600); err != nil {
			return err
		}
	}
	if err := os.Rename(temp, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err // fs.ErrExist: another process was first
	}
	return nil
}

// ours refuses code that others may have written.
func ours(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is not this user's alone", dir)
	}
	return nil
}

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
