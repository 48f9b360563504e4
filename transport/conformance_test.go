//go:build unix

package transport_test

import (
	"slices"
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
			if where == "pipe" && how == "polled" {
				continue // between host and mirror nothing differs from local
			}
			t.Run(where+"/"+how, func(t *testing.T) {
				transporttest.TestTransport(t, transporttest.Config{Open: open, New: create})
			})
		}
	}
}

func openLocal(t *testing.T) backend.Backend {
	t.Helper()
	return openLocalWith(t, testenv.Python(t))
}

func openLocalWith(t *testing.T, python string) backend.Backend {
	t.Helper()
	b, err := local.Open(t.Context(), local.Config{Dir: t.TempDir(), Env: testenv.Environ(), Python: python})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func openPipe(t *testing.T) backend.Backend {
	t.Helper()
	b, err := backendtest.Pipe(t.Context(), backendtest.PipeConfig{Dir: t.TempDir(), Env: testenv.Environ(), Python: testenv.Python(t)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestInterpreters runs the contract on the oldest and the newest interpreter that is here: the stub
// leans on parts of the standard library that differ between them.
func TestInterpreters(t *testing.T) {
	var usable []testenv.Interp
	for _, i := range testenv.Pythons(t) {
		if i.Usable() {
			usable = append(usable, i)
		}
	}
	slices.SortFunc(usable, func(a, b testenv.Interp) int { return a.Minor - b.Minor })
	if len(usable) == 0 {
		testenv.Missing(t, "python", "no Python 3.8 or newer")
	}
	for _, i := range slices.CompactFunc([]testenv.Interp{usable[0], usable[len(usable)-1]}, func(a, b testenv.Interp) bool { return a == b }) {
		t.Run(i.Version, func(t *testing.T) {
			transporttest.TestTransport(t, transporttest.Config{
				Open: func(t *testing.T) backend.Backend { return openLocalWith(t, i.Path) },
				New:  func(o transport.Options) transport.Transport { return uds.Transport{Options: o} },
			})
		})
	}
}
