//go:build unix

package e2e

import (
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/backendtest"
	"github.com/hermes-exec/hermes-exec/backend/ssh"
	"github.com/hermes-exec/hermes-exec/internal/sshclient"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
	"github.com/hermes-exec/hermes-exec/transport"
	"github.com/hermes-exec/hermes-exec/transport/filerpc"
	"github.com/hermes-exec/hermes-exec/transport/tcp"
	"github.com/hermes-exec/hermes-exec/transport/transporttest"
	"github.com/hermes-exec/hermes-exec/transport/uds"
)

const (
	noForwarding = "AllowStreamLocalForwarding no" // a line of sshd's configuration
	forwards     = "channels that sshd forwards"   // in the notes, where there is no such line
	relays       = "relayed by the guest agent"    // and where there is
)

// openSSH returns what opens environments on the host, in the home there, over connections that they
// share. Each is closed at the end of its test.
func openSSH(h *testenv.Host, note string) func(t *testing.T) backend.Backend {
	return openSSHBy(h, ssh.Config{}, note)
}

// openSSHBy does it with more of a configuration.
func openSSHBy(h *testenv.Host, cfg ssh.Config, note string) func(t *testing.T) backend.Backend {
	return openSSHFrom(h, cfg, ssh.Host{}, note)
}

// openSSHFrom does it from a machine with more to it.
func openSSHFrom(h *testenv.Host, cfg ssh.Config, from ssh.Host, note string) func(t *testing.T) backend.Backend {
	cfg.Host, cfg.Dir = "box", h.There
	pool := &sshclient.Pool{}
	return func(t *testing.T) backend.Backend {
		t.Helper()
		vars := testenv.Environ()
		vars["HOME"] = h.Home
		machine := from
		machine.Env, machine.Pool = vars, pool
		b, err := ssh.Open(t.Context(), cfg, machine)
		if err != nil {
			t.Fatal(err)
		}
		testenv.CloseAfter(t, b)
		if notes := strings.Join(b.Info().Notes, "\n"); !strings.Contains(notes, note) {
			t.Fatalf("notes lack %q: %s", note, notes)
		}
		return b
	}
}

// TestSSHBackend runs the contract of a backend on a host.
func TestSSHBackend(t *testing.T) {
	t.Parallel()
	backendtest.TestBackend(t, backendtest.Config{Open: openSSH(testenv.SSHD(t), forwards)})
}

// overSFTP is terminal.ssh_spool: sftp.
var overSFTP = ssh.Config{SpoolSFTP: true}

// TestSSHShares runs the contract of shares that are mirrored over SFTP.
func TestSSHShares(t *testing.T) {
	t.Parallel()
	backendtest.TestShares(t, backendtest.Config{Open: openSSHBy(testenv.SSHD(t), overSFTP, "")})
}

// TestSSHRelayedBackend runs it where sshd forwards nothing.
func TestSSHRelayedBackend(t *testing.T) {
	t.Parallel()
	backendtest.TestBackend(t, backendtest.Config{Open: openSSH(testenv.SSHD(t, noForwarding), relays)})
}

// TestSSHTransports runs the contract of a transport on hosts whose sshd forwards sockets, and on those
// where the agent relays.
func TestSSHTransports(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		lines []string
		cfg   ssh.Config
		note  string
		proto func(o transport.Options) transport.Transport
	}{
		{"uds/forwarded", nil, ssh.Config{}, forwards, func(o transport.Options) transport.Transport { return uds.Transport{Options: o} }},
		{"uds/relayed", []string{noForwarding}, ssh.Config{}, relays, func(o transport.Options) transport.Transport { return uds.Transport{Options: o} }},
		{"tcp", nil, ssh.Config{}, forwards, func(o transport.Options) transport.Transport { return tcp.Transport{Options: o} }},
		{"file", nil, ssh.Config{}, forwards, func(o transport.Options) transport.Transport { return filerpc.Transport{Options: o} }},
		{"file over SFTP", nil, overSFTP, forwards, func(o transport.Options) transport.Transport { return filerpc.Transport{Options: o} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			transporttest.TestTransport(t, transporttest.Config{New: c.proto, Open: openSSHBy(testenv.SSHD(t, c.lines...), c.cfg, c.note)})
		})
	}
}
