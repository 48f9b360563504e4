//go:build unix

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
	"github.com/hermes-exec/hermes-exec/internal/wire"
)

// far is a round trip that takes longer than whatever either side does meanwhile: round trips that are
// counted over it are those that follow one from another.
const far = 1500 * time.Millisecond

// distant leads the visitor to the host over a way of that length.
func (v *visitor) distant(t *testing.T, rtt time.Duration) *wire.Wire {
	t.Helper()
	w, err := wire.New(fmt.Sprintf("127.0.0.1:%d", v.Port))
	if err != nil {
		t.Fatal(err)
	}
	testenv.CloseAfter(t, w)
	w.SetRTT(rtt)
	v.Configure(t, fmt.Sprintf("Port %d", w.Port()), "HostKeyAlias box")
	return w
}

// A cold run has no more round trips than are needed: nine for a connection and a command, one for the
// agent with all that is asked for beside it, one for the script.
func TestSSHColdRoundTrips(t *testing.T) {
	t.Parallel()
	v := newVisitor(t)
	w := v.distant(t, far)
	v.run(t, "print(6*7)").must(t, "42\n")
	if got := w.Trips(); got > 11 {
		t.Errorf("%d round trips", got)
	}
}

// A file of 1 MB that a tool writes takes two: the call, and the file.
func TestSSHWriteRoundTrips(t *testing.T) {
	t.Parallel()
	v := newVisitor(t)
	w := v.distant(t, far)
	const code = `
import os
from hermes_tools import write_file
for _ in range(%d): print(write_file(os.environ["HOME"] + "/big", "x" * 1000000)["bytes_written"])
`
	trips := func(calls int) int {
		w.Reset()
		if r := v.run(t, fmt.Sprintf(code, calls)); r.ToolCallsMade != int64(calls) {
			t.Errorf("%d calls: %s", r.ToolCallsMade, r.Error)
		}
		return w.Trips()
	}
	if one, three := trips(1), trips(3); three-one > 4 {
		t.Errorf("two writes more take %d round trips", three-one)
	}
}

// Of what nobody sees live only the limit of a spill file and the end cross.
func TestSSHOmittedOutputStaysThere(t *testing.T) {
	t.Parallel()
	v := newVisitor(t)
	w := v.distant(t, 0)
	cmd := v.command(t, "run", "--output", "json", "--backend", "ssh", "--host", "box", "-")
	cmd.Stdin = strings.NewReader("import os\nfor _ in range(500): os.write(1, b'x' * 100000)")
	if out, err := cmd.Output(); err != nil {
		t.Errorf("%v: %.500s", err, out)
	}
	if _, down := w.Bytes(); down < 5_000_000 || down > 5_500_000 {
		t.Errorf("%d bytes of 50 MB crossed", down)
	}
}

// The directory that is made before the agent starts goes with whatever starts in its place.
func TestSSHNoSocketDirectoryStays(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{
		"says nothing": "exit 3", "says what it does not know": "echo 'Unknown option: -I' >&2; exit 2", "succeeds": "exit 0",
		"ends when there is a socket": "while test ! -S $last/s.sock; do sleep .01; done; exit 3",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVisitor(t)
			v.distant(t, far/10) // so that a socket is asked for in it
			python := filepath.Join(v.There, "odd")
			write(t, python, "#!/bin/sh\nfor last; do :; done\ntest -d $last && echo $last >"+v.There+"/directory\n"+end+"\n")
			if err := os.Chmod(python, 0o755); err != nil {
				t.Fatal(err)
			}
			v.run(t, "print(1)", "--python", python).failed(t, 127, hermes.KindPython)
			dir, err := os.ReadFile(filepath.Join(v.There, "directory"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(strings.TrimSpace(string(dir))); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: %v", dir, err)
			}
		})
	}
}
