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
	path     string
	codec    codec
	sessions *hermes.Sessions
	ours     func() bool // whether the place is still this server's: else the file is the next one's

	mu      sync.Mutex
	pending map[string]int         // cells by session that have begun and not ended
	written map[string]hermes.Loss // what the file says
	over    bool                   // the file stays as it is
}

// loadAlive reads what the server before has left, for the first cells of its sessions to tell. A
// file that cannot be read tells of nothing.
func loadAlive(path string, c codec, s *hermes.Sessions, ours func() bool) *alive {
	a := &alive{path: path, codec: c, sessions: s, ours: ours, pending: map[string]int{}}
	data, err := os.ReadFile(path)
	if err == nil && c.dec.Unmarshal(data, &a.written) == nil {
		for name, why := range a.written {
			s.Lose(name, why)
		}
	}
	return a
}

// begin notes that a session is about to have state.
func (a *alive) begin(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending[name]++
	if a.written[name] == hermes.LostServer {
		return nil
	}
	return a.update()
}

// done notes what a cell has left.
func (a *alive) done(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pending[name]--; a.pending[name] == 0 {
		delete(a.pending, name)
	}
	return a.update()
}

// look notes what has become of the sessions since.
func (a *alive) look() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.update()
}

// finish leaves the file as it is for the next server: what ends from now on ends with this one.
func (a *alive) finish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
}

// clear leaves nothing to the next server: all sessions are to end on request.
func (a *alive) clear() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	if !a.ours() {
		return nil
	}
	return a.save(nil)
}

// maxRemembered bounds the list. Who makes a name for every call never asks what became of it.
const maxRemembered = 1000

// update writes the list if it has changed. The caller holds mu.
func (a *alive) update() error {
	if a.over {
		return nil
	}
	now := a.sessions.Losses()
	if len(now) > maxRemembered {
		clear(now)
	}
	for _, info := range a.sessions.List() {
		if info.PID != 0 {
			now[info.Name] = hermes.LostServer
		}
	}
	for name := range a.pending {
		now[name] = hermes.LostServer
	}
	if maps.Equal(now, a.written) || !a.ours() {
		return nil
	}
	return a.save(now)
}

func (a *alive) save(now map[string]hermes.Loss) error {
	if err := a.write(now); err != nil {
		return fmt.Errorf("write the list of sessions: %w", err)
	}
	a.written = now
	return nil
}

func (a *alive) write(now map[string]hermes.Loss) error {
	if len(now) == 0 {
		if err := os.Remove(a.path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := a.codec.enc.Marshal(now)
	if err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(a.path), "."+filepath.Base(a.path))
	err = os.WriteFile(temp, data, 0o600)
	if err == nil {
		err = os.Rename(temp, a.path)
	}
	if err != nil {
		_ = os.Remove(temp) // the part that a full disk took
	}
	return err
}
