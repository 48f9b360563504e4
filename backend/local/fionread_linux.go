package local

import "golang.org/x/sys/unix"

// fionread asks how many bytes lie in a pipe; Linux has it under this name as well.
const fionread = unix.TIOCINQ
