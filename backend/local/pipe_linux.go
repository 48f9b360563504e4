package local

import (
	"os"

	"golang.org/x/sys/unix"
)

// fionread asks how many bytes lie in a pipe; Linux has it under this name as well.
const fionread = unix.TIOCINQ

// widen gives a pipe room for size bytes. A refusal costs speed, nothing else.
func widen(f *os.File, size int) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	refused := raw.Control(func(fd uintptr) { _, err = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size) })
	return refused == nil && err == nil
}
