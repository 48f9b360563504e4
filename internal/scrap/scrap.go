// Package scrap removes directories that somebody else has filled, who may have made that hard.
package scrap

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Remove removes a directory with all that is in it, following no link. It opens what was closed to its
// owner, and is not hindered by how deep directories lie in each other: each is brought to the top before
// it is emptied. Nobody else may still be at work there.
func Remove(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	root, openErr := os.OpenRoot(dir)
	if openErr != nil {
		if chmod := os.Chmod(dir, 0o700); chmod != nil {
			return err
		}
		if root, openErr = os.OpenRoot(dir); openErr != nil {
			return err
		}
	}
	err = flatten(root)
	return errors.Join(err, root.Close(), os.Remove(filepath.Clean(dir)))
}

// flatten removes everything below root.
func flatten(root *os.Root) error {
	if err := root.Chmod(".", 0o700); err != nil {
		return err
	}
	names, err := list(root, ".")
	if err != nil {
		return err
	}
	for count := 0; len(names) > 0; names = names[1:] {
		deeper, err := empty(root, names[0], &count)
		if err != nil {
			return err
		}
		names = append(names, deeper...)
	}
	return nil
}

// empty removes one entry of root. Directories in it become entries of root, whose names it returns.
func empty(root *os.Root, name string, count *int) (deeper []string, err error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, root.Remove(name)
	}
	if err := root.Chmod(name, 0o700); err != nil {
		return nil, err
	}
	entries, err := list(root, name)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		inner := path.Join(name, entry)
		info, err := root.Lstat(inner)
		switch {
		case err != nil:
			return nil, err
		case info.IsDir():
			if err := root.Chmod(inner, 0o700); err != nil { // or it could not be moved
				return nil, err
			}
			top, err := bring(root, inner, count)
			if err != nil {
				return nil, err
			}
			deeper = append(deeper, top)
		default:
			if err := root.Remove(inner); err != nil {
				return nil, err
			}
		}
	}
	return deeper, root.Remove(name)
}

// bring moves a directory to the top, under a name that is free there.
func bring(root *os.Root, inner string, count *int) (string, error) {
	for {
		*count++
		top := fmt.Sprintf("scrap%d", *count)
		if _, err := root.Lstat(top); errors.Is(err, fs.ErrNotExist) {
			return top, root.Rename(inner, top)
		}
	}
}

// list reads the names in a directory.
func list(root *os.Root, name string) ([]string, error) {
	d, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}
