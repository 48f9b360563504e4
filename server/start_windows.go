package server

import (
	"errors"
	"fmt"
	"os"
)

// possible tells why there can be no server here.
func possible() error {
	return fmt.Errorf("%w: there is no session server on Windows yet", errors.ErrUnsupported)
}

// Command returns a Client.Start.
func Command(...string) func(Place, *os.File) error {
	return func(Place, *os.File) error { return possible() }
}
