//go:build unix

package transport

import (
	"errors"
	"syscall"
)

// outOfDescriptors tells whether an accept failed for want of descriptors or memory.
func outOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM) ||
		errors.Is(err, syscall.ECONNABORTED)
}
