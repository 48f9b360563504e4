//go:build unix

package local_test

import (
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/backendtest"
	"github.com/hermes-exec/hermes-exec/backend/local"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// TestNative takes the contract to the backend that Windows has, on a system that can run it.
func TestNative(t *testing.T) {
	const (
		noUnix    = "it has no Unix sockets, which the Python of Windows does not know"
		noControl = "without an agent nothing carries a control stream"
		noAgent   = "what stands above a script is hermes-exec itself, here the test"
		leaves    = "it would leave processes behind: a process group ends none that has left it, as a job object does"
	)
	c := backendtest.Config{Group: true, NoUnix: true, Lacks: map[string]string{}, Untried: map[string]string{}}
	for _, name := range []string{
		"1 MiB both ways", "16 connections", "300 connections one after another", "half-close by the guest", "half-close by the host",
		"stalled connections do not stop others", "guest dies in a connection", "deadlines are kept or refused", "close", "is private",
	} {
		c.Lacks["listen unix "+name] = noUnix
	}
	for _, name := range []string{
		"1 MiB both ways", "ordered after output", "ends with the process", "that the host closes is EOF", "that the process closes",
		"that nobody reads does not outlive a kill",
	} {
		c.Lacks["control "+name] = noControl
	}
	c.Lacks["descriptor 3 is the control stream"] = noControl
	c.Lacks["close leaves nothing"] = noAgent
	for _, name := range []string{
		"ends its supervisor with signal 15", "ends its supervisor with signal 9", "ends its agent with signal 15", "ends its agent with signal 9",
		"stops its supervisor", "stops its agent", "kills its agent and its supervisor beside another", "kills all that it may see",
	} {
		c.Untried["hostile script "+name] = noAgent
	}
	c.Untried["tree of 300 sessions"], c.Untried["tree that moves on"] = leaves, leaves
	keepInherited(t)
	c.Open = func(t *testing.T) backend.Backend {
		t.Helper()
		b, err := local.OpenNative(t.Context(), local.Config{Dir: t.TempDir(), Env: testenv.Environ(), Python: testenv.Python(t)})
		if err != nil {
			t.Fatal(err)
		}
		testenv.CloseAfter(t, b)
		return b
	}
	backendtest.TestBackend(t, c)
}

// keepInherited keeps back what the test itself has inherited and a process of it would inherit: the
// agent closes all that, and on Windows a process gets what it is given.
func keepInherited(t *testing.T) {
	t.Helper()
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range open {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
