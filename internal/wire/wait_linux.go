package wire

import (
	"time"

	"golang.org/x/sys/unix"
)

// wait waits to within a tenth of a millisecond: timers of Go are as coarse as epoll where nothing else
// happens.
func wait(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	for d > 0 && unix.Nanosleep(&left, &left) == unix.EINTR {
	}
}
