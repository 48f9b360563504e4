//go:build unix

package e2e

import (
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/docker"
	"github.com/hermes-exec/hermes-exec/transport"
	"github.com/hermes-exec/hermes-exec/transport/filerpc"
	"github.com/hermes-exec/hermes-exec/transport/tcp"
	"github.com/hermes-exec/hermes-exec/transport/transporttest"
	"github.com/hermes-exec/hermes-exec/transport/uds"
)

// TestDockerTransports runs the contract of a transport in containers whose engine may share a directory
// with this machine, and in those of one that counts as remote, where the agent relays and mirrors.
func TestDockerTransports(t *testing.T) {
	e := engine(t)
	near := docker.Config{Image: e.Image}
	far := docker.Config{Image: e.Image, Env: environ()}
	far.Env["DOCKER_HOST"] = relay(t, e, listenTCP(t), 0).host // at a port it may be another machine's
	for _, c := range []struct {
		name  string
		cfg   docker.Config
		note  string // of the environment: how calls travel
		proto func(o transport.Options) transport.Transport
	}{
		{"uds/mounted", near, "a directory that is mounted", func(o transport.Options) transport.Transport { return uds.Transport{Options: o} }},
		{"uds/relayed", far, "relayed", func(o transport.Options) transport.Transport { return uds.Transport{Options: o} }},
		{"tcp", near, "a directory that is mounted", func(o transport.Options) transport.Transport { return tcp.Transport{Options: o} }},
		{"file/mounted", near, "a directory that is mounted", func(o transport.Options) transport.Transport { return filerpc.Transport{Options: o} }},
		{"file/mirrored", far, "relayed", func(o transport.Options) transport.Transport { return filerpc.Transport{Options: o} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			transporttest.TestTransport(t, transporttest.Config{New: c.proto, Open: func(t *testing.T) backend.Backend {
				t.Helper()
				b := openDocker(t, c.cfg)
				if notes := strings.Join(b.Info().Notes, "\n"); !strings.Contains(notes, c.note) {
					t.Fatalf("notes lack %q: %s", c.note, notes)
				}
				return b
			}})
		})
	}
}
