package logfile

import (
	"os"

	"golang.org/x/sys/windows"
)

// canRenameOpen is false: Windows refuses to rename a file that this process holds open.
const canRenameOpen = false

// lock takes the lock file name, which ends with the process that holds it.
func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, new(windows.Overlapped))
	if err != nil {
		f.Close()
		return nil, &os.PathError{Op: "lock", Path: name, Err: err}
	}
	return func() { f.Close() }, nil
}
