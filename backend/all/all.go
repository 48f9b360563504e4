// Package all lists the backends that this program has. It is the only place that names them.
package all

import (
	"log/slog"
	"maps"
	"slices"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/docker"
	"github.com/hermes-exec/hermes-exec/backend/local"
)

// Host is what backends may know of the machine that they are opened from.
type Host struct {
	Env map[string]string // the caller's environment variables
	Dir string            // the caller's working directory
	Log *slog.Logger      // nil: silent

	// Progress is told of what takes time, such as pulling an image; nil: nobody wants to know.
	Progress func(text string)
}

// Openers returns every backend by its URL scheme.
func Openers(h Host) map[string]backend.Opener {
	return map[string]backend.Opener{
		"local":  local.Opener(h.Env, h.Dir),
		"docker": docker.Opener(docker.Host{Env: h.Env, Dir: h.Dir, Progress: h.Progress, Log: h.Log}),
	}
}

// Names lists the backends in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(Openers(Host{}))) }
