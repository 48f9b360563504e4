package hermes

import "time"

// Clock is what sessions take for the time.
type Clock interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// SetClock has sessions that were not used yet take c for the time.
func (s *Sessions) SetClock(c Clock) { s.clock = c }

// ErrTimeout is the cause with which a context ends whose time is over.
func ErrTimeout() error { return &timeoutError{time.Second} }

// Waiting is the number of cells of a session that run or wait.
func (s *Sessions) Waiting(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(name).users
}
