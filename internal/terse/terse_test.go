package terse_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/terse"
)

func TestDial(t *testing.T) {
	refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	at := func(addr net.Addr, err error) error {
		return &net.OpError{Op: "dial", Net: addr.Network(), Addr: addr, Err: err}
	}
	tcp := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 22}
	unix := &net.UnixAddr{Net: "unix", Name: "/run/docker.sock"}
	for want, tt := range map[string]struct {
		err  error
		host string
	}{
		"connection refused":        {at(tcp, refused), "127.0.0.1:22"},
		"no such file or directory": {at(unix, os.NewSyscallError("connect", syscall.ENOENT)), "unix:///run/docker.sock"},
		"i/o timeout":               {at(tcp, os.ErrDeadlineExceeded), "tcp://127.0.0.1:22"},
		"lookup gpu1: no such host": {&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "gpu1"}}, "gpu1:22"},
		"dial tcp 127.0.0.1:22: connect: " + "connection refused": {at(tcp, refused), "gpu1:22"}, // who would know that address?
		"through b: " + at(tcp, refused).Error():                  {fmt.Errorf("through b: %w", at(tcp, refused)), "127.0.0.1:22"},
		"another":                                                 {errors.New("another"), "127.0.0.1:22"},
	} {
		got := terse.Dial(tt.err, tt.host)
		if got.Error() != want {
			t.Errorf("%v for %s: %q, want %q", tt.err, tt.host, got, want)
		}
		if errors.Is(tt.err, syscall.ECONNREFUSED) != errors.Is(got, syscall.ECONNREFUSED) {
			t.Errorf("%v: the cause is lost", tt.err)
		}
	}
}
