//go:build unix

package logfile

import (
	"os"
	"syscall"
)

const canRenameOpen = true

// lock takes the lock file name, which ends with the process that holds it.
func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, &os.PathError{Op: "lock", Path: name, Err: err}
	}
	return func() { f.Close() }, nil
}
