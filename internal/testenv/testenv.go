// Package testenv finds what tests need on the machine they run on, and checks what they leave
// there. It knows nothing of the product.
package testenv

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// eventuallyWait is how long Eventually waits. It only has to be longer than a slow machine is slow.
const eventuallyWait = 30 * time.Second

// Require returns the path of a program that the test cannot do without. Where it is not on PATH
// the test ends as with Missing.
func Require(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name, err.Error())
	}
	return path
}

// Missing skips the test because name is not there, or fails it where the comma-separated list in
// HERMES_E2E names it (or says "all"): a machine that is meant to run a test must not skip it.
func Missing(t testing.TB, name, reason string) {
	t.Helper()
	demanded := strings.Split(os.Getenv("HERMES_E2E"), ",")
	if slices.Contains(demanded, name) || slices.Contains(demanded, "all") {
		t.Fatalf("%s is demanded by HERMES_E2E: %s", name, reason)
	}
	t.Skipf("%s: %s", name, reason)
}

// Eventually waits until cond is true, and fails the test if that takes too long. What names the
// condition in the message.
func Eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.NewTimer(eventuallyWait)
	defer deadline.Stop()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for !cond() {
		select {
		case <-poll.C:
		case <-deadline.C:
			t.Fatalf("not seen within %v: %s", eventuallyWait, what)
		}
	}
}

// TempDir returns a directory whose path is short enough for a Unix socket, which t.TempDir's is
// not: it holds the test's name. The directory goes with the test.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "hx") //nolint:usetesting // t.TempDir is too long for a socket.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("temporary directory stays: %v", err)
		}
	})
	return dir
}

// CloseAfter closes c at the end of the test, which fails if that does.
func CloseAfter(t testing.TB, c io.Closer) {
	t.Helper()
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

// Environ is the environment of the tests, as a backend is told it.
func Environ() map[string]string {
	vars := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	return vars
}
