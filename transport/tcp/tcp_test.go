package tcp

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/transport"
)

// listening is a backend that listens where it is told to.
type listening struct {
	backend.Backend
	at string
}

func (b listening) Listen(ctx context.Context, network, _ string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, network, b.at)
}

func TestOnlyLoopback(t *testing.T) {
	e, err := Transport{}.Open(t.Context(), listening{at: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if at := e.Env()[transport.EnvSocket]; !strings.HasPrefix(at, "tcp://127.0.0.1:") {
		t.Errorf("address %s", at)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if _, err := (Transport{}).Open(t.Context(), listening{at: "0.0.0.0:0"}); err == nil || !strings.Contains(err.Error(), "no loopback") {
		t.Errorf("a port for everybody: %v", err)
	}
}
