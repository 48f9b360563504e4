package backendtest

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// recorder takes the failures of a case that is expected to fail, so that they do not fail the
// test. All else goes to the real TB.
type recorder struct {
	testing.TB

	mu       sync.Mutex
	failures []string
}

// watch calls f in a goroutine of its own, which FailNow can end, and waits for it.
func (r *recorder) watch(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (r *recorder) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, text)
}

// first is what went wrong first.
func (r *recorder) first() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failures[0]
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

func (r *recorder) Fail()                        { r.note("failed") }
func (r *recorder) FailNow()                     { r.note("failed"); runtime.Goexit() }
func (r *recorder) Error(args ...any)            { r.note(fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, args ...any) { r.note(fmt.Sprintf(f, args...)) }
func (r *recorder) Fatal(args ...any)            { r.note(fmt.Sprint(args...)); runtime.Goexit() }

func (r *recorder) Fatalf(f string, args ...any) {
	r.note(fmt.Sprintf(f, args...))
	runtime.Goexit()
}
