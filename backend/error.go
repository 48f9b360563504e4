package backend

import (
	"errors"
	"fmt"
)

// Sentinel errors. A file that is not there is fs.ErrNotExist, one that may not be touched is
// fs.ErrPermission, a closed environment is net.ErrClosed, and what an environment cannot do at all
// is errors.ErrUnsupported.
var (
	// ErrUnavailable means that the environment is gone or out of reach. A fresh one may work.
	ErrUnavailable = errors.New("environment unavailable")

	// ErrNotExecutable means that a file is there but is no program that can run.
	ErrNotExecutable = errors.New("command cannot be executed")

	// ErrNoExitStatus means that a process ended, or was lost, without a status. It is never a
	// success.
	ErrNoExitStatus = errors.New("no exit status delivered")

	// ErrDir means that the working directory that was asked for cannot be one.
	ErrDir = errors.New("unusable working directory")

	// ErrSetting means that what was asked for is written wrongly: no environment could give it.
	ErrSetting = errors.New("unusable setting")

	// ErrNoPython means that no Python 3.8 or newer could be started there.
	ErrNoPython = errors.New("no usable Python 3")
)

// Error says which operation of which backend went wrong, as fs.PathError does for files.
type Error struct {
	Backend string // Info.Name
	Op      string // what was being done, for example "put /srv/app/x.py"; "" where Err says it
	Err     error
}

// Error returns the backend, the operation and the cause.
func (e *Error) Error() string {
	if e.Op == "" {
		return e.Backend + ": " + e.Err.Error()
	}
	return e.Backend + ": " + e.Op + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// AdviceError is an error with what whoever meets it can do about it.
type AdviceError struct {
	Err  error
	Next string // one clause: lower case, no period
}

// Error returns the error and, as its last words, what to do.
func (e *AdviceError) Error() string { return e.Err.Error() + "; " + e.Next }

// Unwrap returns the error.
func (e *AdviceError) Unwrap() error { return e.Err }

// Advise adds what to do to an error, which must not be nil. Of several pieces of advice in a chain the
// outermost is the last word of its text, and what errors.As finds.
func Advise(err error, format string, args ...any) error {
	return &AdviceError{err, fmt.Sprintf(format, args...)}
}

// GoneError is the end of an environment, with its reason: ErrUnavailable. All that the end meets tells the
// same one.
type GoneError struct{ Reason error }

// Error tells the reason.
func (e *GoneError) Error() string { return ErrUnavailable.Error() + ": " + e.Reason.Error() }

// Unwrap returns ErrUnavailable and the reason.
func (e *GoneError) Unwrap() []error { return []error{ErrUnavailable, e.Reason} }

// ExitError is how a process ended that did not end with status 0.
type ExitError struct {
	Code      int    // the exit status; −Signal when a signal ended it
	Signal    Signal // 0 unless a signal ended it
	OOMKilled bool   // the kernel ended it, or a part of it, for want of memory
}

// Error says how the process ended.
func (e *ExitError) Error() string {
	switch {
	case e.OOMKilled:
		return "killed: out of memory"
	case e.Signal != 0:
		return fmt.Sprintf("ended by signal %d", int(e.Signal))
	default:
		return fmt.Sprintf("exit status %d", e.Code)
	}
}
