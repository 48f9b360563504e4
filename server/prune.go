package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/marked"
	"github.com/hermes-exec/hermes-exec/internal/owner"
)

// unmarkedFor is the age from which PruneOptions.All removes what does not say whose it is.
const unmarkedFor = 24 * time.Hour

// PruneOptions say where to look, and how much to dare.
type PruneOptions struct {
	Place Place
	Temp  []string // temporary directories besides the system's own

	// All removes too what does not say whose it is and was not touched for a day.
	All bool
}

// Prune removes what processes of this user have left that are dead beyond doubt: scratch
// directories, sockets and what session servers no longer need. It never touches what the living
// use, nor what a server has left for the next one to tell.
func Prune(o PruneOptions) ([]backend.Pruned, error) {
	p := &pruner{all: o.All, seen: []backend.Pruned{}}
	for _, dir := range scratches(o.Temp) {
		p.directory(dir)
	}
	runs, _ := filepath.Glob(filepath.Join(escape(o.Place.Home), "run-*")) // the pattern is a good one
	for _, dir := range runs {
		p.run(placeIn(o.Place.Home, dir))
	}
	return p.seen, errors.Join(p.errs...)
}

// sweep removes the scratch directories of the dead, as a server does when it starts.
func sweep(temp []string) (removed int, err error) {
	p := &pruner{}
	for _, dir := range scratches(temp) {
		p.directory(dir)
	}
	return removals(p.seen), errors.Join(p.errs...)
}

// removals counts what was removed.
func removals(seen []backend.Pruned) (n int) {
	for _, s := range seen {
		if s.Removed {
			n++
		}
	}
	return n
}

// pruner looks at one directory after another and notes what it did.
type pruner struct {
	all  bool // as PruneOptions.All
	seen []backend.Pruned
	errs []error
}

// directory removes a directory if its owner is dead, and tells whether it is gone.
func (p *pruner) directory(dir string) (gone bool) {
	if private(dir) != nil {
		return false // another user's, or no directory
	}
	dead, reason := condition(dir, p.all)
	if !dead {
		return p.keep(dir, reason)
	}
	if _, err := owner.Read(dir); err == nil {
		marked.End(dir) // what is left of it, if its agent was killed together with all who watched
	}
	return p.remove(dir, reason)
}

// run removes what a server has left, unless somebody is about to start one there.
func (p *pruner) run(place Place) {
	if private(place.Dir) != nil {
		return
	}
	lock := flock.New(place.lockFile(), flock.SetPermissions(0o600))
	defer lock.Close() //nolint:errcheck // it was only locked
	if mine, err := lock.TryLock(); err != nil || !mine {
		p.keep(place.Dir, "a session server is being started")
		return
	}
	if exists(place.aliveFile()) && exists(place.ownerFile()) {
		p.leave(place)
	} else if p.directory(place.Dir) {
		place.clear()
	}
}

// leave removes what a dead server has left but for the list of its sessions: the next server is to
// tell what became of them. A list that no server has come for in a day has no mark any more and
// goes as other things without one do.
func (p *pruner) leave(place Place) {
	dead, reason := condition(place.Dir, p.all)
	if dead {
		p.remove(place.Socket, reason)
		p.remove(place.ownerFile(), reason)
		place.clear()
		reason = "its list of sessions says what the next calls are to be told"
	}
	p.keep(place.Dir, reason)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// keep notes what stays.
func (p *pruner) keep(path, reason string) (gone bool) {
	p.seen = append(p.seen, backend.Pruned{Path: path, Reason: reason})
	return false
}

// remove removes a file or a directory. What is not there is not mentioned.
func (p *pruner) remove(path, reason string) (gone bool) {
	if !exists(path) {
		return true
	}
	err := removeTree(path)
	if err != nil {
		p.errs = append(p.errs, fmt.Errorf("prune %s: %w", path, err))
	}
	p.seen = append(p.seen, backend.Pruned{Path: path, Removed: err == nil, Reason: reason})
	return err == nil
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

// condition tells whether a directory may go, and why.
func condition(dir string, all bool) (dead bool, reason string) {
	m, err := owner.Read(dir)
	if err == nil {
		return m.Fate()
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
