package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/gofrs/flock"

	"github.com/hermes-exec/hermes-exec/internal/owner"
)

// unmarkedFor is the age from which PruneAll removes what does not say whose it is.
const unmarkedFor = 24 * time.Hour

// Pruned is something that Prune looked at.
type Pruned struct {
	Path    string `json:"path"`
	Removed bool   `json:"removed"`
	Reason  string `json:"reason"` // why, or why not
}

// PruneOptions say where to look, and how much to dare.
type PruneOptions struct {
	Place Place
	Temp  []string // temporary directories besides the system's own

	// All removes too what does not say whose it is and was not touched for a day.
	All bool
}

// Prune removes what processes of this user have left that are dead beyond doubt: scratch
// directories, sockets and the state of session servers. It never touches what the living use.
func Prune(o PruneOptions) ([]Pruned, error) {
	seen := []Pruned{}
	var errs []error
	for _, dir := range scratches(o.Temp) {
		seen, errs = prune(dir, o.All, seen, errs)
	}
	runs, _ := filepath.Glob(filepath.Join(escape(o.Place.Home), "run-*")) // the pattern is a good one
	for _, dir := range runs {
		p := Place{Home: o.Place.Home, Dir: dir, Socket: filepath.Join(dir, "sock")}
		if len(p.Socket) > maxSocketPath {
			p.Socket = filepath.Join(shortRoot(), digest(p.Dir)[:16], "sock")
		}
		seen, errs = pruneRun(p, o.All, seen, errs)
	}
	return seen, errors.Join(errs...)
}

// pruneRun removes what a server has left, unless somebody is about to start one there.
func pruneRun(p Place, all bool, seen []Pruned, errs []error) ([]Pruned, []error) {
	if private(p.Dir) != nil {
		return seen, errs
	}
	lock := flock.New(p.lockFile(), flock.SetPermissions(0o600))
	defer lock.Close() //nolint:errcheck // it was only locked
	if mine, err := lock.TryLock(); err != nil || !mine {
		return append(seen, Pruned{Path: p.Dir, Reason: "a session server is being started"}), errs
	}
	before := len(seen)
	seen, errs = prune(p.Dir, all, seen, errs)
	if len(seen) > before && seen[before].Removed {
		p.clear()
	}
	return seen, errs
}

// sweep removes the scratch directories of the dead, as a server does when it starts.
func sweep(temp []string) (removed int, err error) {
	var seen []Pruned
	var errs []error
	for _, dir := range scratches(temp) {
		seen, errs = prune(dir, false, seen, errs)
	}
	for _, p := range seen {
		if p.Removed {
			removed++
		}
	}
	return removed, errors.Join(errs...)
}

// scratches lists the scratch directories of the guest agent where it may have made them.
func scratches(temp []string) []string {
	var list []string
	for _, dir := range append(slices.Clone(temp), "/tmp", "/var/tmp", "/dev/shm") {
		if filepath.IsAbs(dir) {
			found, _ := filepath.Glob(filepath.Join(escape(dir), "hermes_sandbox_*")) // the pattern is a good one
			list = append(list, found...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// escape makes a path match itself alone.
func escape(path string) string {
	var b []byte
	for i := range len(path) {
		if c := path[i]; c == '*' || c == '?' || c == '[' || c == '\\' && os.PathSeparator == '/' {
			b = append(b, '\\')
		}
		b = append(b, path[i])
	}
	return string(b)
}

// prune removes a directory if its owner is dead.
func prune(dir string, all bool, seen []Pruned, errs []error) ([]Pruned, []error) {
	if private(dir) != nil {
		return seen, errs // another user's, or no directory
	}
	dead, reason := condition(dir, all)
	p := Pruned{Path: dir, Reason: reason}
	if dead {
		if err := removeTree(dir); err != nil {
			errs = append(errs, fmt.Errorf("prune %s: %w", dir, err))
		} else {
			p.Removed = true
		}
	}
	return append(seen, p), errs
}

// condition tells whether a directory may go, and why.
func condition(dir string, all bool) (dead bool, reason string) {
	m, err := owner.Read(dir)
	switch {
	case err == nil && m.Dead():
		return true, "process " + strconv.Itoa(m.PID) + " has ended"
	case err == nil:
		return false, "process " + strconv.Itoa(m.PID) + " uses it, or cannot be told to have ended"
	}
	info, err := os.Lstat(dir)
	if err == nil && all && time.Since(info.ModTime()) > unmarkedFor {
		return true, "it does not say whose it is, and nobody has touched it for a day"
	}
	return false, "it does not say whose it is"
}

// removeTree removes a directory, also where a script has taken rights away below it.
func removeTree(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // what stays closed makes the second attempt tell why
		}
		if err != nil {
			return fs.SkipDir
		}
		return nil
	})
	return os.RemoveAll(dir)
}
