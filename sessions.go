package hermes

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Sessions are the named sessions of one process. A session is a Python that lives between calls:
// variables, imports and loaded data of one cell are there for the next. It is safe for concurrent
// use; cells of one session run one after another, those of different ones at the same time.
//
// No two sessions share anything: each has an environment, an endpoint and a kernel of its own.
type Sessions struct {
	log *slog.Logger
}

// SessionInfo tells of one session.
type SessionInfo struct {
	Name           string
	Backend        string // "" before its first cell has opened an environment
	Target         string // what that is: a directory, an image, user@host
	Busy           bool   // a cell runs, or waits for its turn
	ExecutionCount int    // of the cells that the living kernel has begun; 0 if there is none
	Pid            int    // of the kernel, in its environment; 0 if there is none
	Started        time.Time
	LastUsed       time.Time // the end of the last cell
}

// NewSessions returns an empty set. A nil log is silent.
func NewSessions(log *slog.Logger) *Sessions {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Sessions{log: log}
}

// Run runs one cell of the session called name, which it opens when there is none, and always
// returns a result. Everything of the cell but its state is the caller's: o is used for this cell
// alone, as if no other had been there. Reset discards the state first.
//
// Ctx ends the cell as it ends Env.Run, and with it the kernel: Result.Kernel says what was lost and
// why. The time that the cell waits for another of the session counts against its timeout.
func (s *Sessions) Run(ctx context.Context, name string, o Options, script Script, reset bool) *Result {
	return Failed(errNotYet)
}

// List tells of the sessions, in the order of their names.
func (s *Sessions) List() []SessionInfo { return nil }

// Reset ends the kernel of a session, also under a cell that runs. The next cell starts afresh and
// says so. It tells whether there is such a session.
func (s *Sessions) Reset(name string) bool { return false }

// End ends a session with all that it has, also under a cell that runs, and forgets it. It tells
// whether there was one.
func (s *Sessions) End(name string) bool { return false }

// Idle tells whether there is nothing to keep: no cell runs and no kernel lives.
func (s *Sessions) Idle() bool { return true }

// Close ends all sessions, also under cells that run, and returns when all of it is gone. It is
// idempotent; a later Run answers with an error.
func (s *Sessions) Close() error { return nil }

var errNotYet = usageError{errors.New("sessions are not built yet")}
