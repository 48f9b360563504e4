package config

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnsafe means that a file names commands or tools, or readmits secrets, and can be changed by
// others than its owner and root. It is refused, as ssh refuses its configuration.
var ErrUnsafe = errors.New("others may write to it")

// masked stands for a secret in messages and listings.
const masked = "********"

// ValueError is a value that a key cannot have.
type ValueError struct {
	Key    string
	Value  string // as it was given; masked if the key holds a secret
	Origin string // as Loaded.Origin has it
	Err    error
}

// Error names the place, the key, the value and what is wrong.
func (e *ValueError) Error() string {
	place := e.Origin
	if file, ok := strings.CutPrefix(place, "file "); ok {
		place = file + ": " + e.Key
	}
	return fmt.Sprintf("%s: %v", place, e.Err)
}

// Unwrap returns what is wrong with the value.
func (e *ValueError) Unwrap() error { return e.Err }

// FileError is a file that cannot be used. Line and Column count from 1; 0 is unknown.
type FileError struct {
	Path         string
	Line, Column int
	Err          error
}

// Error names the place and what is wrong there.
func (e *FileError) Error() string {
	switch {
	case e.Line == 0:
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	case e.Column == 0:
		return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err)
	default:
		return fmt.Sprintf("%s:%d:%d: %v", e.Path, e.Line, e.Column, e.Err)
	}
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// lines writes many errors one a line.
func lines(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "\n")
}

// errBoth is for two ways to say the same thing.
func errBoth(a, b string) error { return fmt.Errorf("%s and %s are both set: give one", a, b) }
