package local

import (
	"io/fs"
	"os"
)

// neverBlock has nothing to say here: what blocks when it is opened is no regular file.
const neverBlock = 0

// mayWrite tells why a file may not be written: of its mode, Windows knows the read-only attribute. An
// access list that forbids it makes the rename fail.
func mayWrite(_ string, is fs.FileInfo) error {
	if is.Mode().Perm()&0o200 == 0 {
		return fs.ErrPermission
	}
	return nil
}

// mayEnter tells why dir may not be entered.
func mayEnter(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return d.Close()
}

// takesFiles tells whether files can be made in dir. Nothing but making one tells.
func takesFiles(dir string) bool {
	if dir == "" {
		return false
	}
	f, err := os.CreateTemp(dir, ".hermes-*")
	if err != nil {
		return false
	}
	return f.Close() == nil && os.Remove(f.Name()) == nil
}

// own gives the new file its mode; its owner and access list come from the directory.
func own(f *os.File, _ fs.FileInfo, mode fs.FileMode) error { return f.Chmod(mode) }
