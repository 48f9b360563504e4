package backend

import "context"

// Pruned is something that a process may have left when it died, and what became of it.
type Pruned struct {
	Path    string `json:"path"` // what it is called: a path, or "container NAME"
	Removed bool   `json:"removed"`
	Reason  string `json:"reason"` // why, or why not
}

// Pruner removes what a backend's dead owners have left in one place, and lists what it has looked at.
// It never touches what may be in use. A place that cannot be looked at is ErrUnavailable.
type Pruner func(ctx context.Context) ([]Pruned, error)
