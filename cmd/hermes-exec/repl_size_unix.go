//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// giveSize gives a terminal that does not know its size (a serial line, a container's, one that a
// program has opened) the size that every program takes it for: the editor does not, and would leave
// out the history. Who learns a better one later may still tell it.
func giveSize(terminal *os.File) {
	size, err := unix.IoctlGetWinsize(int(terminal.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col != 0 {
		return
	}
	size.Row, size.Col = 24, 80
	_ = unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, size) // else there is no history
}
