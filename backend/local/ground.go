package local

import (
	"errors"
	"fmt"
	"os"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/closing"
)

// ground is what needs no agent, because it is this machine's own: files, sockets and directories.
// Its methods are those of a Backend, under names that do not hide behind those of a guest.
type ground struct {
	info       backend.Info
	alive      func() error  // why nothing can be done any more; nil: it can
	socketPath func() string // a path for a private socket; nil: there are no Unix sockets
	opened     closing.Set
}

// settle finds the working directory, and refuses one that cannot be.
func (c *Config) settle() error {
	if c.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		c.Dir = dir
	}
	if err := usable(c.Dir); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrDir, err)
	}
	return nil
}

// usable tells why dir cannot be a working directory.
func usable(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", dir, bare(err))
	case !info.IsDir():
		return fmt.Errorf("%s is no directory", dir)
	}
	if err := mayEnter(dir); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}

func wrap(op string, err error) error {
	return &backend.Error{Backend: "local", Op: op, Err: err}
}

// unopened is why the environment could not be opened. There is one of it here, and no name to tell it by.
func unopened(err error) error {
	if errors.Is(err, backend.ErrNoPython) || errors.Is(err, backend.ErrDir) { // which say so themselves
		return wrap("", err)
	}
	return wrap("open", err)
}
