// Package backendtest is the contract of package backend in executable form. Every implementation
// passes TestBackend; a method that behaves in a way that matters has a case here and not in the
// tests of one implementation.
//
// The cases run everything in the environment, through the Backend alone: they know nothing of the
// host that it may or may not share a kernel and a file system with.
package backendtest

import (
	"context"
	"crypto/rand"
	"slices"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
)

// caseLimit bounds the context of one case. It is long because slow machines are no failures.
const caseLimit = 2 * time.Minute

// Config says what to test.
type Config struct {
	// Open opens a fresh environment and has it closed at the end of the test. Environments that
	// one Config opens see each other's processes and files, or nothing at all of each other.
	Open func(t *testing.T) backend.Backend

	// Lacks names the cases that the backend cannot pass, with the reason why. It is the only way
	// out of a case, and it is checked: a case that is listed and passes is a failure.
	Lacks map[string]string

	// Untried names the cases, with the reason, that cannot even fail: they would end the test itself,
	// or leave processes behind.
	Untried map[string]string

	// Group says that what leaves the session that it was started in is not ended. The trees of the
	// cases stay in theirs then, but for those that are about leaving it.
	Group bool

	// NoUnix says that there are no Unix sockets. Cases that need any listener use TCP then; those of
	// Unix sockets are in Lacks.
	NoUnix bool

	// only, if not nil, limits the run to some cases, for links that are too slow for all.
	only func(name string) bool
}

// testCase is one case. Its function may use everything of env, but only from its own goroutine
// may it end the test.
type testCase struct {
	name string
	run  func(ctx context.Context, e *env)
}

// cases lists all of them, by theme.
func cases() []testCase {
	return slices.Concat(
		infoCases(), processCases(), startCases(), waitCases(),
		signalCases(), treeCases(), hostileCases(),
		outputCases(), keepCases(), controlCases(),
		putCases(), getCases(), listenCases(), shareCases(), closeCases(),
	)
}

// TestBackend runs all cases, each in a fresh environment.
func TestBackend(t *testing.T, c Config) {
	t.Helper()
	known := map[string]bool{}
	for _, tc := range cases() {
		if known[tc.name] {
			t.Errorf("two cases are called %s", tc.name)
		}
		known[tc.name] = true
		if c.only == nil || c.only(tc.name) {
			t.Run(tc.name, func(t *testing.T) { c.run(t, tc) })
		}
	}
	for _, names := range []map[string]string{c.Lacks, c.Untried} {
		for name := range names {
			if !known[name] {
				t.Errorf("Lacks or Untried names %s, which is no case", name)
			}
		}
	}
}

// run runs one case, the other way round if it is in Lacks.
func (c Config) run(t *testing.T, tc testCase) {
	t.Parallel()
	if reason, untried := c.Untried[tc.name]; untried {
		t.Skipf("not tried: %s", reason)
	}
	reason, lacks := c.Lacks[tc.name]
	if !lacks {
		c.try(t, t, tc)
		return
	}
	r := c.record(t, tc)
	if !r.Failed() {
		t.Fatalf("passes, although Lacks says: %s", reason)
	}
	t.Skipf("lacks: %s (%s)", reason, r.first())
}

// record runs one case that may fail.
func (c Config) record(t *testing.T, tc testCase) *recorder {
	r := &recorder{TB: t}
	r.watch(func() { c.try(t, r, tc) })
	return r
}

// try runs one case against tb, which is t or stands before it.
func (c Config) try(t *testing.T, tb testing.TB, tc testCase) {
	ctx, cancel := context.WithTimeout(t.Context(), caseLimit)
	defer cancel()
	networks := []string{"unix", "tcp"}
	if c.NoUnix {
		networks = networks[1:]
	}
	tc.run(ctx, &env{
		TB:       tb,
		Backend:  c.Open(t),
		mark:     "hx" + rand.Text(),
		another:  func() backend.Backend { return c.Open(t) },
		group:    c.Group,
		networks: networks,
	})
}
