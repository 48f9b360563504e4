//go:build unix

package backendtest

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
)

// deafBackend is a backend that lacks a verb.
type deafBackend struct{ backend.Backend }

func (deafBackend) Listen(context.Context, string, string) (net.Listener, error) {
	return nil, errors.ErrUnsupported
}

func openDeaf(t *testing.T) backend.Backend {
	t.Helper()
	return deafBackend{openPipe(t, nil)}
}

// TestLacks: a case in Lacks fails without failing the test, and one that does not fail is found.
func TestLacks(t *testing.T) {
	listens := func(name string) bool { return strings.HasPrefix(name, "listen unix") }
	c := Config{Open: openDeaf, Lacks: map[string]string{}, only: listens}
	for _, tc := range cases() {
		if listens(tc.name) {
			c.Lacks[tc.name] = "this backend has no sockets"
		}
	}
	TestBackend(t, c)
}

func TestRecorder(t *testing.T) {
	c := Config{Open: openDeaf}
	for _, tc := range cases() {
		switch tc.name {
		case "exit status":
			if r := c.record(t, tc); r.Failed() {
				t.Errorf("%s fails: %s", tc.name, r.first())
			}
		case "listen unix close":
			if r := c.record(t, tc); !r.Failed() || !strings.Contains(r.first(), "unsupported") {
				t.Errorf("%s does not fail", tc.name)
			}
		}
	}
}
