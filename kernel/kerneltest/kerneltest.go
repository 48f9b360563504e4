// Package kerneltest is the contract of kernel.Executor in executable form. A kernel and a process a
// cell pass the same list; what is about state is asked of each in its own way.
package kerneltest

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/kernel"
)

// caseLimit bounds the context of one case. It is long because slow machines are no failures.
const caseLimit = 2 * time.Minute

// Config says what to test.
type Config struct {
	// Open returns an executor in an environment of its own, and has both closed at the end of the
	// test. Its cells have the variables of the environment, PYTHONUTF8=1 and PYTHONUNBUFFERED=1; a
	// cell that is to end has that grace before it is killed.
	Open func(t *testing.T, grace time.Duration) (kernel.Executor, backend.Backend)

	// Fresh says that no cell sees what an earlier one has set.
	Fresh bool
}

// testCase is one case.
type testCase struct {
	name string
	run  func(ctx context.Context, e *env)
}

// TestExecutor runs all cases, each with a fresh executor.
func TestExecutor(t *testing.T, c Config) {
	t.Helper()
	list := [][]testCase{exitCases(), printCases(), inputCases(), pythonCases(), stopCases(), stateCases(c.Fresh)}
	for _, cases := range list {
		for _, tc := range cases {
			t.Run(tc.name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), caseLimit)
				defer cancel()
				tc.run(ctx, &env{T: t, config: c})
			})
		}
	}
}

// env is what a case works with.
type env struct {
	*testing.T
	config   Config
	executor kernel.Executor
	backend  backend.Backend
}

// open opens the executor, which cell does otherwise.
func (e *env) open(grace time.Duration) {
	e.Helper()
	e.executor, e.backend = e.config.Open(e.T, grace)
}

// done is how a cell ended.
type done struct {
	*kernel.Outcome
	err            error
	stdout, stderr string
}

// cell runs code.
func (e *env) cell(ctx context.Context, code string) done {
	e.Helper()
	return e.exec(ctx, kernel.Cell{Code: []byte(code)})
}

// exec runs a cell whose output is kept.
func (e *env) exec(ctx context.Context, c kernel.Cell) done {
	e.Helper()
	if e.executor == nil {
		e.open(10 * time.Second)
	}
	var stdout, stderr buffer
	c.Stdout, c.Stderr = io.Writer(&stdout), io.Writer(&stderr)
	outcome, err := e.executor.Exec(ctx, c)
	return done{outcome, err, stdout.String(), stderr.String()}
}

// code is the exit status, or −1000 if none was delivered.
func (d done) code() int {
	switch {
	case d.Outcome == nil || !d.Delivered:
		return -1000
	case d.Exit == nil:
		return 0
	default:
		return d.Exit.Code
	}
}

// want fails the case unless the cell ended by itself with that status and output.
func (e *env) want(d done, code int, stdout string) {
	e.Helper()
	if d.err != nil || d.code() != code || d.stdout != stdout {
		e.Errorf("status %d, error %v, stdout %.300q; want status %d, stdout %.300q\nstderr: %.2000s",
			d.code(), d.err, d.stdout, code, stdout, d.stderr)
	}
}

// wantStderr fails the case unless the cell's stderr holds every text.
func (e *env) wantStderr(d done, texts ...string) {
	e.Helper()
	for _, text := range texts {
		if !strings.Contains(d.stderr, text) {
			e.Errorf("stderr lacks %q:\n%.2000s", text, d.stderr)
		}
	}
}

// stopped runs a cell, waits until it has printed "ready", and then ends its context for that cause.
func (e *env) stopped(ctx context.Context, code string, cause error) done {
	e.Helper()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ready := &trigger{text: "ready\n", fired: make(chan struct{})}
	var stderr buffer
	var watch sync.WaitGroup
	over := make(chan struct{})
	watch.Go(func() {
		select {
		case <-ready.fired:
			cancel(cause)
		case <-over:
		}
	})
	outcome, err := e.executor.Exec(ctx, kernel.Cell{Code: []byte(code), Stdout: ready, Stderr: &stderr})
	close(over)
	watch.Wait()
	return done{outcome, err, ready.String(), stderr.String()}
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// trigger is a buffer that tells when a text has been written.
type trigger struct {
	buffer
	text  string
	fired chan struct{}
	once  sync.Once
}

func (t *trigger) Write(p []byte) (int, error) {
	n, err := t.buffer.Write(p)
	if strings.Contains(t.String(), t.text) {
		t.once.Do(func() { close(t.fired) })
	}
	return n, err
}
