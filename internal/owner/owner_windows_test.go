package owner_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/owner"
)

// TestDeadOnWindows: a process that has ended is dead, also while somebody holds a handle to it, and so
// is one whose identifier was given again.
func TestDeadOnWindows(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run=^$")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	mark := owner.Self()
	mark.PID, mark.Start = child.Process.Pid, "-"
	if _, err := child.Process.Wait(); err != nil {
		t.Fatal(err)
	}
	reused := owner.Self()
	reused.Start = "1"
	for name, tt := range map[string]struct {
		mark owner.Mark
		dead bool
	}{"itself": {owner.Self(), false}, "ended": {mark, true}, "identifier reused": {reused, true}} {
		if got := tt.mark.Dead(); got != tt.dead {
			t.Errorf("%s: dead is %v", name, got)
		}
	}
}
