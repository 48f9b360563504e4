// Package logfile writes a log that many processes share and that does not grow without end.
//
// Every record is one write to a file opened for appending, so records of several processes do not
// mix. When the file has reached its size it is renamed to NAME.1, what was NAME.1 to NAME.2, and
// so on. Libraries for this keep a goroutine that never ends and rename under each other's feet;
// here the rename happens under a lock that all processes respect.
package logfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Defaults of the zero File.
const (
	DefaultMaxSize = 5 << 20 // bytes
	DefaultBackups = 3
)

// File is an io.Writer that appends to Path. The file and its directory appear with the first
// write, 0600 and 0700. The zero value with a Path is ready for use; it is safe for concurrent use
// when every Write is one whole record.
type File struct {
	Path    string
	MaxSize int64 // bytes before the file is rotated; 0 is DefaultMaxSize
	Backups int   // rotated files that are kept; 0 is DefaultBackups

	mu sync.Mutex
	f  *os.File
}

// Write appends one record.
func (l *File) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ready(); err != nil {
		return 0, fmt.Errorf("log: %w", err)
	}
	return l.f.Write(p)
}

// Close closes the file. A later Write opens it again.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.close()
}

func (l *File) close() error {
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}

// ready leaves l.f open on the file that Path names now, with room for a record.
func (l *File) ready() error {
	if l.f != nil && l.moved() {
		_ = l.close() // another process rotated it
	}
	if l.f == nil {
		if err := l.open(); err != nil {
			return err
		}
	}
	if info, err := l.f.Stat(); err != nil || info.Size() < l.maxSize() {
		return err
	}
	if err := l.rotate(); err != nil {
		return err
	}
	_ = l.close()
	return l.open()
}

// moved reports whether Path no longer names the open file.
func (l *File) moved() bool {
	ours, err := l.f.Stat()
	if err != nil {
		return true
	}
	there, err := os.Lstat(l.Path)
	return err != nil || !os.SameFile(ours, there)
}

func (l *File) open() error {
	if err := os.MkdirAll(filepath.Dir(l.Path), 0o700); err != nil {
		return err
	}
	if info, err := os.Lstat(l.Path); err == nil && !info.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: l.Path, Err: fs.ErrInvalid}
	}
	f, err := os.OpenFile(l.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	l.f = f
	return nil
}

// rotate renames, unless another process has done so while this one waited for the lock.
func (l *File) rotate() error {
	unlock, err := lock(l.Path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if l.moved() {
		return nil
	}
	if !canRenameOpen {
		_ = l.close()
	}
	for i := l.backups(); i > 1; i-- {
		_ = os.Rename(l.backup(i-1), l.backup(i)) // a gap in the row is no mistake
	}
	return os.Rename(l.Path, l.backup(1))
}

func (l *File) backup(i int) string { return fmt.Sprintf("%s.%d", l.Path, i) }

func (l *File) maxSize() int64 {
	if l.MaxSize > 0 {
		return l.MaxSize
	}
	return DefaultMaxSize
}

func (l *File) backups() int {
	if l.Backups > 0 {
		return l.Backups
	}
	return DefaultBackups
}
