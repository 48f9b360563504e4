//go:build unix

package filerpc

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

const (
	noFollow = syscall.O_NOFOLLOW
	noBlock  = syscall.O_NONBLOCK
)

// errNoFIFO says that something in the place of a FIFO is none.
var errNoFIFO = errors.New("not a FIFO")

// ring writes message to a FIFO, without ever waiting: a full one has been rung already, and one
// without a reader is an error. An empty message only tries whether there is a reader.
func ring(dir *os.Root, name string, message []byte) error {
	if info, err := dir.Lstat(name); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		return errors.Join(err, errNoFIFO)
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|noFollow|noBlock, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		return errors.Join(err, errNoFIFO)
	}
	if len(message) == 0 {
		return nil
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	// Past the poller, which would wait for room.
	return raw.Control(func(fd uintptr) { _, _ = syscall.Write(int(fd), message) })
}

// noReader tells whether a FIFO could not be rung because nobody reads it.
func noReader(err error) bool { return errors.Is(err, syscall.ENXIO) }

// owner is to whom answers must belong so that the guest can read them; the zero value is
// ourselves. It matters where the host is root and the guest is not.
type owner struct {
	uid, gid int
	other    bool
}

// ownerOf returns the owner of a directory.
func ownerOf(dir *os.Root) owner {
	info, err := dir.Stat(".")
	if err != nil {
		return owner{}
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == os.Geteuid() {
		return owner{}
	}
	return owner{uid: int(stat.Uid), gid: int(stat.Gid), other: true}
}

// give makes the owner of an opened file.
func (o owner) give(f *os.File) error {
	if !o.other {
		return nil
	}
	return f.Chown(o.uid, o.gid)
}
