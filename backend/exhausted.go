package backend

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// ErrExhausted means that nothing can be started for want of what every program needs: processes,
// descriptors or memory. No other program would fare better; a later attempt may.
var ErrExhausted = errors.New("nothing can be started")

// Exhausted says of an error of a start which limit stands behind it, and that it is ErrExhausted.
// Other errors it returns as they are.
func Exhausted(err error) error {
	for errno, limit := range map[syscall.Errno]string{
		syscall.EAGAIN: "the limit on processes and threads is reached (ulimit -u, or pids.max of a control group)",
		syscall.EMFILE: "the limit on open files is reached (ulimit -n)",
		syscall.ENFILE: "the system's limit on open files is reached",
		syscall.ENOMEM: "there is no memory left",
	} {
		if errors.Is(err, errno) {
			return fmt.Errorf("%w: %s: %w", ErrExhausted, limit, err)
		}
	}
	return err
}

// Shortage adds to the error of a program that has ended what the system was short of, if that is what
// it said: a shim, a shell or a runtime that fails before the program begins has nothing but its words
// to tell it by.
func Shortage(err error, said string) error {
	said = strings.ToLower(said)
	for _, errno := range []syscall.Errno{syscall.EAGAIN, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if strings.Contains(said, errno.Error()) {
			return Exhausted(fmt.Errorf("%w: %w", err, errno))
		}
	}
	return err
}
