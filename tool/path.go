package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/hermes-exec/hermes-exec/backend"
)

// resolve returns the absolute path of a file that the caller named, which is not empty. It is not cleaned: only the
// environment knows what ".." means behind a symlink.
func (e *Env) resolve(name string) (string, error) {
	switch {
	case inHome(name):
		home := e.Environ["HOME"]
		if home == "" {
			return "", fmt.Errorf("the path %s needs HOME, which is not set", clipPath(name))
		}
		return home + name[1:], nil
	case path.IsAbs(name), filepath.IsAbs(name): // as the environment or, if that is Windows, as this host has it
		return name, nil
	default:
		return strings.TrimSuffix(e.Dir, "/") + "/" + name, nil
	}
}

// shown returns a name as results have it: as it was given, unless open() could not use it so.
func (e *Env) shown(name, resolved string) string {
	if inHome(name) {
		return resolved
	}
	return name
}

// fileError says what went wrong with a file, under the name that the caller gave it: the backend
// knows another one.
func fileError(name string, err error) error {
	if e := (*backend.Error)(nil); errors.As(err, &e) {
		err = e.Err
	}
	return fmt.Errorf("%s: %w", clipPath(name), err)
}

// put writes the file that a request is about. Its directory was there just before: it is missed only
// in a file system that takes no new files, such as /proc.
func (e *Env) put(ctx context.Context, r request, file prepared, data io.Reader) error {
	err := e.Backend.Put(ctx, file.Path, data, file.Mode)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		hint := ""
		if file.Mode == 0 { // it is there
			hint = "; open() can write to it"
		}
		return fmt.Errorf("%s: its directory takes no new files, or is gone%s", clipPath(r.Name), hint)
	default:
		return fileError(r.Name, err)
	}
}

func inHome(name string) bool { return name == "~" || strings.HasPrefix(name, "~/") }

// locate starts a request about the file that the caller named.
func (e *Env) locate(name string) (request, error) {
	resolved, err := e.resolve(name)
	if err != nil {
		return request{}, err
	}
	return request{Path: resolved, Name: e.shown(name, resolved), Dir: e.Dir, admit: e.admit}, nil
}

// isSpill tells whether a file is served from the host.
func (e *Env) isSpill(name string) bool { return e.Spills != nil && e.Spills(name) }

// pathLocks locks files by path. The zero value has no locks.
type pathLocks struct {
	mu    sync.Mutex
	locks map[string]*pathLock
	alone chan struct{} // closed when who is alone is done; nil: nobody is
}

type pathLock struct {
	held  chan struct{}
	users int
}

// lock waits until no other call holds the path, or ctx ends.
func (p *pathLocks) lock(ctx context.Context, name string) (unlock func(), err error) {
	p.mu.Lock()
	for p.alone != nil {
		done := p.alone
		p.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		p.mu.Lock()
	}
	l := p.locks[name]
	if l == nil {
		if p.locks == nil {
			p.locks = map[string]*pathLock{}
		}
		l = &pathLock{held: make(chan struct{}, 1)}
		p.locks[name] = l
	}
	l.users++
	p.mu.Unlock()

	select {
	case l.held <- struct{}{}:
		return func() { <-l.held; p.leave(name, l) }, nil
	case <-ctx.Done():
		p.leave(name, l)
		return nil, context.Cause(ctx)
	}
}

// lockAll locks every path if no call holds any.
func (p *pathLocks) lockAll() (unlock func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.alone != nil || len(p.locks) > 0 {
		return nil, false
	}
	done := make(chan struct{})
	p.alone = done
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.alone = nil
		close(done)
	}, true
}

func (p *pathLocks) leave(name string, l *pathLock) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(p.locks, name)
	}
}
