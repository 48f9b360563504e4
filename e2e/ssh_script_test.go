//go:build unix

package e2e

import (
	"strings"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend/all"
	"github.com/hermes-exec/hermes-exec/internal/scripttest"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// P226: TestSSHScripts runs the table of scripts on a host, whose results are those of this machine.
func TestSSHScripts(t *testing.T) {
	t.Parallel()
	scripttest.Everywhere(t, scripttest.TestScripts, sshPlaces(t)...)
}

// TestSSHCells runs the table of sessions on a host, whose results are those of this machine.
func TestSSHCells(t *testing.T) {
	t.Parallel()
	scripttest.Everywhere(t, scripttest.TestCells, sshPlaces(t)...)
}

// sshPlaces are this machine, whose results are those to come to, and a host.
func sshPlaces(t *testing.T) []scripttest.Place {
	t.Helper()
	vars := []string{}
	for name, value := range scripttest.Variables() {
		vars = append(vars, name+"="+value)
	}
	h := testenv.SSHD(t, "SetEnv "+strings.Join(vars, " "))
	shared := &all.Shared{}
	return []scripttest.Place{
		localPlace(h.Tmp()), // of the same length
		{Name: "ssh", Options: func(t *testing.T) hermes.Options {
			t.Helper()
			o := scripttest.Options(t)
			o.Environ["HOME"] = h.Home
			o.Openers = all.Openers(all.Host{Env: o.Environ, Dir: o.Dir, Shared: shared})
			o.Settings.Backend, o.Settings.SSH.Host, o.Settings.Cwd = "ssh", "box", o.Dir
			return o
		}},
	}
}
