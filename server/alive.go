package server

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"

	hermes "github.com/hermes-exec/hermes-exec"
)

// alive is the list of sessions with state, in a file: a server that was killed cannot say what it
// held, so the next one reads it there.
type alive struct {
	path  string
	codec codec

	mu   sync.Mutex
	now  map[string]hermes.Loss // the sessions that have state; under LostIdle those that had
	lost map[string]hermes.Loss // those of the server before, until a cell has been told
}

// loadAlive reads what the server before has left. A file that cannot be read tells of nothing.
func loadAlive(path string, c codec) *alive {
	a := &alive{path: path, codec: c, now: map[string]hermes.Loss{}, lost: map[string]hermes.Loss{}}
	data, err := os.ReadFile(path)
	if err != nil || c.dec.Unmarshal(data, &a.lost) != nil || a.lost == nil {
		a.lost = map[string]hermes.Loss{}
	}
	return a
}

// begin notes that a session is about to have state.
func (a *alive) begin(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if reason, ok := a.now[name]; ok && reason == hermes.LostServer {
		return nil
	}
	a.now[name] = hermes.LostServer
	return a.save()
}

// tell puts into the result of a session's first cell that an earlier server took its state along,
// and notes whether the session has state now. It may see a result twice.
func (a *alive) tell(name string, r *hermes.Result) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	state := r.Kernel
	if state == nil {
		return nil // the cell did not get that far
	}
	reason, ok := a.lost[name]
	if ok && !state.Reused && state.Reason == "" {
		state.StateLost, state.Reason = true, reason
	}
	delete(a.lost, name)
	_, known := a.now[name]
	if state.Ended {
		delete(a.now, name)
	} else {
		a.now[name] = hermes.LostServer
	}
	if !ok && state.Ended != known {
		return nil // nothing has changed
	}
	return a.save()
}

// maxRemembered bounds the list of sessions that have lost their state. Who makes a name for every
// call never asks what became of it.
const maxRemembered = 1000

// idle notes that the kernel of a session has gone while nobody used it.
func (a *alive) idle(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if reason, ok := a.now[name]; ok && reason != hermes.LostIdle {
		a.now[name] = hermes.LostIdle
		if len(a.now) > maxRemembered {
			delete(a.now, name)
		}
		_ = a.save() // the next one is told of another reason, which is no great harm
	}
}

// forget drops a session that was ended on request. It tells whether there was one.
func (a *alive) forget(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, now := a.now[name]
	_, lost := a.lost[name]
	delete(a.now, name)
	delete(a.lost, name)
	if now || lost {
		_ = a.save()
	}
	return now || lost
}

// save writes what the next server has to know.
func (a *alive) save() error {
	all := maps.Clone(a.lost)
	maps.Copy(all, a.now)
	if len(all) == 0 {
		if err := os.Remove(a.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the list of sessions: %w", err)
		}
		return nil
	}
	data, err := a.codec.enc.Marshal(all)
	if err != nil {
		return fmt.Errorf("write the list of sessions: %w", err)
	}
	temp := filepath.Join(filepath.Dir(a.path), "."+filepath.Base(a.path))
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		return fmt.Errorf("write the list of sessions: %w", err)
	}
	return os.Rename(temp, a.path)
}
