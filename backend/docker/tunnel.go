package docker

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/hermes-exec/hermes-exec/internal/sshclient"
)

// remoteSocket is where engines of other machines listen, as a rule; remoteCommand leads there where sshd
// does not.
const (
	remoteSocket  = "/var/run/docker.sock"
	remoteCommand = "docker system dial-stdio"
)

// tunnelHost stands for the engine in requests that go through a tunnel.
const tunnelHost = "tcp://engine"

// tunnel opens the way to an engine of another machine, whose address is ssh://[USER@]HOST[:PORT][/SOCKET].
func tunnel(ctx context.Context, h Host, host string) (*sshclient.Tunnel, error) {
	u, err := url.Parse(host)
	if err != nil {
		return nil, fmt.Errorf("engine at %s: %w", host, err)
	}
	o := sshclient.Options{Host: u.Hostname(), User: u.User.Username(), Env: h.Env, Prompt: h.Prompt}
	if port := u.Port(); port != "" {
		if o.Port, err = strconv.Atoi(port); err != nil {
			return nil, fmt.Errorf("engine at %s: %w", host, err)
		}
	}
	pool := h.Pool
	if pool == nil {
		pool = &sshclient.Pool{}
	}
	socket, command := remoteSocket, remoteCommand
	if u.Path != "" {
		socket, command = u.Path, "" // the command would lead to an engine of its own choice
	}
	t, err := pool.Tunnel(ctx, o, socket, command)
	if err != nil {
		return nil, fmt.Errorf("engine at %s: %w", host, err)
	}
	return t, nil
}
