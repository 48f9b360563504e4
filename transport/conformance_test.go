//go:build unix

package transport_test

import (
	"os"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/backendtest"
	"github.com/hermes-exec/hermes-exec/backend/local"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
	"github.com/hermes-exec/hermes-exec/transport"
	"github.com/hermes-exec/hermes-exec/transport/filerpc"
	"github.com/hermes-exec/hermes-exec/transport/tcp"
	"github.com/hermes-exec/hermes-exec/transport/transporttest"
	"github.com/hermes-exec/hermes-exec/transport/uds"
)

// TestTransports runs the contract for every transport on an environment with sockets and
// directories of its own, and on one where all is relayed and mirrored.
func TestTransports(t *testing.T) {
	environments := map[string]func(t *testing.T) backend.Backend{"local": openLocal, "pipe": openPipe}
	transports := map[string]func(o transport.Options) transport.Transport{
		"uds":    func(o transport.Options) transport.Transport { return uds.Transport{Options: o} },
		"tcp":    func(o transport.Options) transport.Transport { return tcp.Transport{Options: o} },
		"file":   func(o transport.Options) transport.Transport { return filerpc.Transport{Options: o} },
		"polled": func(o transport.Options) transport.Transport { return filerpc.Transport{Options: o, Poll: true} },
	}
	for where, open := range environments {
		for how, create := range transports {
			t.Run(where+"/"+how, func(t *testing.T) {
				transporttest.TestTransport(t, transporttest.Config{Open: open, New: create, Mirrored: where == "pipe"})
			})
		}
	}
}

func openLocal(t *testing.T) backend.Backend {
	t.Helper()
	b, err := local.Open(t.Context(), local.Config{Dir: t.TempDir(), Env: environ(), Python: testenv.Python(t)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func openPipe(t *testing.T) backend.Backend {
	t.Helper()
	b, err := backendtest.Pipe(t.Context(), backendtest.PipeConfig{Dir: t.TempDir(), Env: environ(), Python: testenv.Python(t)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func environ() map[string]string {
	vars := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	return vars
}
