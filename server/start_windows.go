package server

import (
	"errors"
	"fmt"
	"os"
)

// Command returns a Client.Start. There is no session server on Windows yet.
func Command(...string) func(Place, *os.File) error {
	return func(Place, *os.File) error {
		return fmt.Errorf("%w: there is no session server on Windows yet", errors.ErrUnsupported)
	}
}
