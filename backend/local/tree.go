package local

import (
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
)

// tree is a process with its descendants, as far as the system's group holds them together.
type tree struct {
	*group
	lingers atomic.Bool // the first process has ended, and others may go on
	killed  atomic.Bool
}

// leftoverGrace is how long what outlives its first process gets to end in order: as long as the agent
// gives it.
const leftoverGrace = 500 * time.Millisecond

// treeWait bounds the wait for killed processes to be gone: one that is in a system call may take long.
const treeWait = 5 * time.Second

// newTree prepares a command to start as the first process of a tree.
func newTree(cmd *exec.Cmd) (*tree, error) {
	g, err := newGroup(cmd)
	if err != nil {
		return nil, err
	}
	return &tree{group: g}, nil
}

// signal sends sig to all of it.
func (t *tree) signal(sig backend.Signal) error {
	if sig == backend.Kill {
		t.killed.Store(true)
	}
	return t.send(sig)
}

// end ends what the first process has left: politely, unless it was killed. It waits until that is gone,
// and names what is not.
func (t *tree) end() (survivors []string) {
	if t.empty() || !t.killed.Load() && t.send(backend.Terminate) == nil && t.gone(leftoverGrace, nil) {
		return nil
	}
	// Again and again: one that is just being started may escape the first.
	if t.gone(treeWait, func() { _ = t.send(backend.Kill) }) {
		return nil
	}
	return t.members()
}

// gone tells whether nothing is left before the time is over. In between it does what it is given.
func (t *tree) gone(limit time.Duration, meanwhile func()) bool {
	pause := time.Millisecond
	for deadline := time.Now().Add(limit); ; pause = min(2*pause, 50*time.Millisecond) {
		if meanwhile != nil {
			meanwhile()
		}
		switch {
		case t.empty():
			return true
		case meanwhile == nil && t.killed.Load(), time.Now().After(deadline):
			return false
		}
		<-time.After(pause)
	}
}
