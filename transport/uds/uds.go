// Package uds carries tool calls over a Unix socket inside the environment. It does not know
// whether the socket is the kernel's own, a forwarding or a relay: that is the backend's.
package uds

import (
	"context"
	"fmt"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/transport"
)

// Transport opens Unix sockets. Its zero value works.
type Transport struct {
	Options transport.Options
}

var _ transport.Transport = Transport{}

// Name implements transport.Transport.
func (Transport) Name() string { return "uds" }

// Open implements transport.Transport.
func (t Transport) Open(ctx context.Context, b backend.Backend) (transport.Endpoint, error) {
	ln, err := b.Listen(ctx, "unix", "")
	if err != nil {
		return nil, fmt.Errorf("open uds transport: %w", err)
	}
	return transport.NewStream(ln, ln.Addr().String(), t.Options), nil
}
