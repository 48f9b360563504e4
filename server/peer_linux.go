package server

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

var errPeer = errors.New("another user is at the other end")

// samePeer checks that this user's process is at the other end.
func samePeer(c net.Conn) error {
	var cred *unix.Ucred
	err := control(c, func(fd int) (err error) {
		cred, err = unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		return err
	})
	if err != nil {
		return err
	}
	if int(cred.Uid) != os.Geteuid() {
		return errPeer
	}
	return nil
}

// control calls f with the descriptor of a connection.
func control(c net.Conn, f func(fd int) error) error {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return errPeer
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil {
		return err
	}
	return failed
}
