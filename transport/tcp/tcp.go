// Package tcp carries tool calls over loopback TCP inside the environment: the lines of package uds,
// where no Unix socket can be had.
package tcp

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/transport"
)

// Transport opens loopback TCP ports. Its zero value works.
type Transport struct {
	Options transport.Options
}

var _ transport.Transport = Transport{}

// Name implements transport.Transport.
func (Transport) Name() string { return "tcp" }

// Open implements transport.Transport. A port that strangers can reach is refused.
func (t Transport) Open(ctx context.Context, b backend.Backend) (transport.Endpoint, error) {
	ln, err := b.Listen(ctx, "tcp", "")
	if err != nil {
		return nil, fmt.Errorf("open tcp transport: %w", err)
	}
	at := ln.Addr().String()
	if ap, err := netip.ParseAddrPort(at); err != nil || !ap.Addr().IsLoopback() {
		_ = ln.Close()
		return nil, fmt.Errorf("open tcp transport: %s is no loopback address", at)
	}
	return transport.NewStream(ln, "tcp://"+at, t.Options), nil
}
