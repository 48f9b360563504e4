package server

import (
	"os"
	"runtime/debug"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

// crash is the argument with which the tests' program is a server that the Go runtime ends.
const crash = "crash"

func TestMain(m *testing.M) {
	if slices.Contains(os.Args[1:], crash) {
		debug.SetMaxThreads(1) // it has more already
	}
	goleak.VerifyTestMain(m)
}
