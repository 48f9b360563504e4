// Package tempfile makes files that nobody finds and nothing leaves behind: for bytes that are many
// and are wanted back soon.
package tempfile

import (
	"errors"
	"os"
)

// File is open for reading and writing. Close gives its bytes back.
type File struct {
	*os.File
	name string // "" where it has been removed already
}

// New makes an empty File in the temporary directory. It has no name any more, except on Windows.
func New() (*File, error) {
	f, err := os.CreateTemp("", "hermes-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return &File{f, f.Name()}, nil //nolint:nilerr // an open file cannot be removed on Windows; Close does it
	}
	return &File{File: f}, nil
}

// Close closes the file, and removes it if that is still to be done.
func (f *File) Close() error {
	err := f.File.Close()
	if f.name == "" {
		return err
	}
	return errors.Join(err, os.Remove(f.name))
}
