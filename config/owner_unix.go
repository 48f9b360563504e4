//go:build !windows

package config

import (
	"io/fs"
	"os"
	"syscall"
)

// nonBlocking has open return at once, whatever the file is.
const nonBlocking = syscall.O_NONBLOCK

// ownerOnly tells whether nobody but the owner can write to a file, and the owner is the user or
// root.
func ownerOnly(info fs.FileInfo) bool {
	if info.Mode().Perm()&0o022 != 0 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || stat.Uid == 0 || int(stat.Uid) == os.Getuid()
}
