package owner_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/owner"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

func TestDead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the facts that prove a death are told on Linux alone")
	}
	gone := testenv.DeadPID(t)
	changed := func(change func(*owner.Mark)) owner.Mark {
		m := owner.Self()
		change(&m)
		return m
	}
	for name, test := range map[string]struct {
		mark  owner.Mark
		dead  bool
		known string
	}{
		"itself":               {owner.Self(), false, " lives and uses it"},
		"init":                 {changed(func(m *owner.Mark) { m.PID, m.Start = 1, "-" }), false, " lives and uses it"},
		"gone":                 {changed(func(m *owner.Mark) { m.PID = gone }), true, " has ended"},
		"identifier reused":    {changed(func(m *owner.Mark) { m.Start = "1" }), true, " has ended"},
		"before the boot":      {changed(func(m *owner.Mark) { m.Boot = "another" }), true, " has ended"},
		"in a container":       {changed(func(m *owner.Mark) { m.PID, m.Space = gone, "pid:[1]" }), false, " of another pid namespace cannot be told to have ended"},
		"on another machine":   {changed(func(m *owner.Mark) { m.PID, m.Node = gone, "elsewhere" }), false, " of another machine, elsewhere, cannot be told to have ended"},
		"old one of elsewhere": {changed(func(m *owner.Mark) { m.Boot, m.Node = "another", "elsewhere" }), false, " of another machine, elsewhere, cannot be told to have ended"},
		"of unknown boot":      {changed(func(m *owner.Mark) { m.PID, m.Boot = gone, "-" }), false, " of an unknown boot of this machine cannot be told to have ended"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.mark.Dead(); got != test.dead {
				t.Errorf("%v: dead is %v, want %v", test.mark, got, test.dead)
			}
			if _, known := test.mark.Fate(); known != fmt.Sprintf("process %d%s", test.mark.PID, test.known) {
				t.Errorf("%v: %s, want %s", test.mark, known, test.known)
			}
		})
	}
}

// A process that has ended is dead before anybody has waited for it.
func TestDeadNotWaitedFor(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the facts that prove a death are told on Linux alone")
	}
	child := exec.Command(testenv.Require(t, "true"))
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	mark := owner.Self()
	mark.PID, mark.Start = child.Process.Pid, "-"
	testenv.Eventually(t, "it is dead", mark.Dead)
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := owner.Read(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	if err := owner.Self().Write(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := owner.Read(dir); err != nil || got != owner.Self() {
		t.Errorf("read %v, %v; want %v", got, err, owner.Self())
	}
	for _, text := range []string{"", "1", "x 1 a b c", "-1 1 a b c", "1 1 a b c d"} {
		if err := os.WriteFile(filepath.Join(dir, owner.FileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if m, err := owner.Read(dir); !errors.Is(err, owner.ErrMark) {
			t.Errorf("%q: %v, %v", text, m, err)
		}
	}
}
