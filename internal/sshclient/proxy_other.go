//go:build !unix

package sshclient

import (
	"errors"
	"fmt"
	"net"
)

// runProxy cannot run a command for a shell that is not there.
func (Options) runProxy(h *Host) (net.Conn, error) {
	return nil, fmt.Errorf("ProxyCommand %q: %w", h.Command, errors.ErrUnsupported)
}
