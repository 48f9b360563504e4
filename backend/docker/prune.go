package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/owner"
)

// pruneWait bounds the look at an engine, without what is removed there.
const pruneWait = 10 * time.Second

// Pruner returns what removes the containers of dead owners from the engine that the host's docker command
// would use. One that does not answer is an error only if the environment names it: most machines have
// no engine.
func Pruner(h Host) backend.Pruner {
	return func(ctx context.Context) ([]backend.Pruned, error) {
		looking, cancel := context.WithTimeout(ctx, pruneWait)
		defer cancel()
		e, err := connect(looking, h)
		if err != nil {
			if cmp.Or(h.Env["DOCKER_HOST"], h.Env["DOCKER_CONTEXT"]) == "" {
				if h.Log != nil {
					h.Log.DebugContext(ctx, "docker: prune", "error", err)
				}
				return nil, nil
			}
			return nil, wrap("prune", fmt.Errorf("%w: %w", backend.ErrUnavailable, err))
		}
		defer e.Close() //nolint:errcheck // it was only asked
		list, err := e.ContainerList(looking, container.ListOptions{
			All: true, Filters: filters.NewArgs(filters.Arg("label", ownerLabel)),
		})
		if err != nil {
			return nil, wrap("prune", fmt.Errorf("%w: %w", backend.ErrUnavailable, e.explain(err)))
		}
		return e.prune(ctx, list)
	}
}

// prune removes those containers whose owners are dead.
func (e *engine) prune(ctx context.Context, list []container.Summary) (seen []backend.Pruned, err error) {
	for _, c := range list {
		p := backend.Pruned{Path: "container " + c.ID[:12]}
		if len(c.Names) > 0 {
			p.Path = "container " + strings.TrimPrefix(c.Names[0], "/")
		}
		dead, reason := e.condition(ctx, c)
		if dead {
			removeErr := e.remove(ctx, c.ID)
			p.Removed = removeErr == nil
			err = errors.Join(err, removeErr)
		}
		p.Reason = reason
		seen = append(seen, p)
	}
	return seen, err
}

// condition tells whether a container may go, and why.
func (e *engine) condition(ctx context.Context, c container.Summary) (dead bool, reason string) {
	label := c.Labels[ownerLabel]
	m, err := owner.Parse(label)
	if err != nil {
		return false, "it does not say whose it is"
	}
	dead, known := m.Fate()
	switch inherits, err := e.inherits(ctx, c.ImageID, label); {
	case err != nil:
		return false, "its image cannot be looked at: " + err.Error()
	case inherits:
		return false, "its image says whose it was, not it"
	case !dead:
		return false, known
	case !e.local && m.Boot != owner.Self().Boot:
		// Machines that share an engine may share a name.
		return false, "process " + strconv.Itoa(m.PID) + " ran on a machine of this name, in another boot of it or on another one"
	default:
		return true, known
	}
}

// inherits tells whether a container has its label from its image, which somebody made of one of ours.
func (e *engine) inherits(ctx context.Context, image, label string) (bool, error) {
	i, err := e.ImageInspect(ctx, image)
	if errdefs.IsNotFound(err) {
		return false, errors.New("it is gone")
	}
	if err != nil {
		return false, e.explain(err)
	}
	return i.Config != nil && i.Config.Labels[ownerLabel] == label, nil
}
