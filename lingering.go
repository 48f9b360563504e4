package hermes

import (
	"context"
	"sync"

	"github.com/hermes-exec/hermes-exec/backend"
)

// lingering is a backend that remembers which processes may have left others behind, so that those
// end with the run: what terminal started in the background does not outlive the script.
type lingering struct {
	backend.Backend

	mu        sync.Mutex
	processes []backend.Process
}

// Start starts cmd.
func (l *lingering) Start(ctx context.Context, cmd backend.Cmd) (backend.Process, error) {
	p, err := l.Backend.Start(ctx, cmd)
	if err == nil && cmd.Linger {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.processes = append(l.processes, p)
	}
	return p, err
}

// end ends what was left behind. An error says that it is gone with its environment.
func (l *lingering) end(ctx context.Context) {
	ctx, stop := afterwards(ctx)
	defer stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.processes {
		_ = p.Signal(ctx, backend.Kill)
	}
	l.processes = nil
}
