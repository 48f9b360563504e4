//go:build unix

package local

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// neverBlock are flags by which to open a file that may be another one by now.
const neverBlock = syscall.O_NONBLOCK | syscall.O_NOCTTY

// mayWrite tells why a file may not be written.
func mayWrite(name string, _ fs.FileInfo) error { return unix.Access(name, unix.W_OK) }

// mayEnter tells why dir may not be entered.
func mayEnter(dir string) error { return unix.Access(dir, unix.X_OK) }

// takesFiles tells whether files can be made in dir.
func takesFiles(dir string) bool { return dir != "" && unix.Access(dir, unix.W_OK|unix.X_OK) == nil }

// own gives the new file the owner and mode that the old one had.
func own(f *os.File, old fs.FileInfo, mode fs.FileMode) error {
	if old != nil {
		if st, ok := old.Sys().(*syscall.Stat_t); ok && (int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid()) {
			_ = f.Chown(int(st.Uid), int(st.Gid)) // only root may; the content is what was asked for
		}
	}
	return f.Chmod(mode)
}
