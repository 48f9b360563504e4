// Package all lists the backends that this program has. It is the only place that names them.
package all

import (
	"context"
	"log/slog"
	"maps"
	"net/url"
	"slices"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/docker"
	"github.com/hermes-exec/hermes-exec/backend/local"
	"github.com/hermes-exec/hermes-exec/backend/ssh"
	"github.com/hermes-exec/hermes-exec/internal/sshclient"
)

// Host is what backends may know of the machine that they are opened from.
type Host struct {
	Env map[string]string // the caller's environment variables
	Dir string            // the caller's working directory
	Log *slog.Logger      // nil: silent

	// Shared is what several of these may use together; nil: nothing.
	Shared *Shared

	// Prompt asks the user for passphrases and passwords; nil: nobody can be asked.
	Prompt func(ctx context.Context, question string, echo bool) (string, error)

	// Progress is told of what takes time, such as pulling an image, and "" when that is over; nil: nobody
	// wants to know.
	Progress func(text string)
}

// Shared is what environments of one process have in common: connections to hosts. Its zero value is
// ready, and it is safe for concurrent use.
type Shared struct{ pool sshclient.Pool }

func (h Host) pool() *sshclient.Pool {
	if h.Shared == nil {
		return nil
	}
	return &h.Shared.pool
}

// Openers returns every backend by its URL scheme.
func Openers(h Host) map[string]backend.Opener {
	return map[string]backend.Opener{
		"local":  local.Opener(h.Env, h.Dir),
		"docker": docker.Opener(docker.Host{Env: h.Env, Dir: h.Dir, Pool: h.pool(), Prompt: h.Prompt, Progress: h.Progress, Log: h.Log}),
		"ssh":    ssh.Opener(ssh.Host{Env: h.Env, Pool: h.pool(), Prompt: h.Prompt, Log: h.Log}),
	}
}

// Pruners return what removes what dead processes have left in the places of each backend.
func Pruners(h Host) []backend.Pruner {
	return []backend.Pruner{docker.Pruner(docker.Host{Env: h.Env, Dir: h.Dir, Log: h.Log})}
}

// HostPruner returns what removes what dead processes have left on the host that a URL of the scheme ssh
// names. Everything removes too what does not say whose it is and was not touched for a day.
func HostPruner(h Host, target *url.URL, everything bool) (backend.Pruner, error) {
	cfg, err := ssh.ParseURL(target)
	if err != nil {
		return nil, err
	}
	return ssh.Pruner(cfg, ssh.Host{Env: h.Env, Pool: h.pool(), Prompt: h.Prompt, Log: h.Log}, everything), nil
}

// Names lists the backends in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(Openers(Host{}))) }

// KeepsState tells whether cells in an environment of that backend find what earlier ones have left.
func KeepsState(name string) bool { return name != "local" || local.KeepsState }
