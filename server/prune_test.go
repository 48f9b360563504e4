//go:build linux

package server

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/internal/owner"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// Only what the dead have left goes.
func TestPrune(t *testing.T) {
	living := owner.Self()
	dead, elsewhere := living, living
	dead.PID, elsewhere.Node = testenv.DeadPID(t), "elsewhere"

	home, temp := testenv.TempDir(t), testenv.TempDir(t)
	place, err := Locate(home)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * unmarkedFor)
	for _, test := range []struct {
		path string
		mark *owner.Mark
		mode os.FileMode
		time time.Time
	}{
		{path: temp + "/hermes_sandbox_dead", mark: &dead},
		{path: temp + "/hermes_sandbox_living", mark: &living},
		{path: temp + "/hermes_sandbox_elsewhere", mark: &elsewhere},
		{path: temp + "/hermes_sandbox_new"},
		{path: temp + "/hermes_sandbox_old", time: old},
		{path: temp + "/hermes_sandbox_open", mark: &dead, mode: 0o755},
		{path: temp + "/another", mark: &dead},
		{path: home + "/run-0123456789ab", mark: &dead},
		{path: place.Dir, mark: &living},
	} {
		if err := os.MkdirAll(filepath.Join(test.path, "locked", "inner"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(test.path, "locked"), 0o500); err != nil {
			t.Fatal(err)
		}
		if test.mark != nil {
			if err := test.mark.Write(test.path); err != nil {
				t.Fatal(err)
			}
		}
		if test.mode != 0 {
			if err := os.Chmod(test.path, test.mode); err != nil {
				t.Fatal(err)
			}
		}
		if !test.time.IsZero() {
			if err := os.Chtimes(test.path, test.time, test.time); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Symlink(temp+"/hermes_sandbox_living", temp+"/hermes_sandbox_link"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		all  bool
		left []string
	}{
		{false, []string{"another", "hermes_sandbox_elsewhere", "hermes_sandbox_link", "hermes_sandbox_living", "hermes_sandbox_new", "hermes_sandbox_old", "hermes_sandbox_open"}},
		{true, []string{"another", "hermes_sandbox_elsewhere", "hermes_sandbox_link", "hermes_sandbox_living", "hermes_sandbox_new", "hermes_sandbox_open"}},
	} {
		if _, err := Prune(PruneOptions{Place: place, Temp: []string{temp, "", "relative"}, All: test.all}); err != nil {
			t.Errorf("all %v: %v", test.all, err)
		}
		if got := names(t, temp); !slices.Equal(got, test.left) {
			t.Errorf("all %v: left %q, want %q", test.all, got, test.left)
		}
		if got := names(t, home); !slices.Equal(got, []string{filepath.Base(place.Dir)}) {
			t.Errorf("all %v: left in HERMES_HOME %q", test.all, got)
		}
	}
}

// What became of the sessions of a dead server stays, until nobody has come for it in a day.
func TestPruneLeavesWhatIsToTell(t *testing.T) {
	dead := owner.Self()
	dead.PID = testenv.DeadPID(t)
	place, err := Locate(testenv.TempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := place.make(); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{place.Socket, place.lockFile(), place.aliveFile()} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := dead.Write(place.Dir); err != nil {
		t.Fatal(err)
	}
	for _, all := range []bool{false, true} { // for the second the directory is a new one without a mark
		if _, err := Prune(PruneOptions{Place: place, All: all}); err != nil {
			t.Error(err)
		}
		if got := names(t, place.Dir); !slices.Equal(got, []string{"lock", "sessions"}) {
			t.Errorf("all %v: left %q", all, got)
		}
	}
	old := time.Now().Add(-2 * unmarkedFor)
	if err := os.Chtimes(place.Dir, old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := Prune(PruneOptions{Place: place, All: true}); err != nil {
		t.Error(err)
	}
	if got := names(t, place.Home); len(got) > 0 {
		t.Errorf("left in HERMES_HOME: %q", got)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for _, entry := range entries {
		list = append(list, entry.Name())
	}
	return list
}

// What runs in the scratch of an agent that was killed with all who watched ends with the scratch.
func TestPruneEndsWhatIsLeft(t *testing.T) {
	temp := testenv.TempDir(t)
	living := owner.Self()
	dead := living
	dead.PID = testenv.DeadPID(t)
	ended := map[string]*exec.Cmd{}
	for name, mark := range map[string]owner.Mark{"dead": dead, "living": living} {
		scratch := filepath.Join(temp, "hermes_sandbox_"+name)
		if err := os.Mkdir(scratch, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := mark.Write(scratch); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(testenv.Require(t, "sleep"), "600")
		cmd.Env = []string{"SCRATCH=" + scratch}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended[name] = cmd
	}
	if _, err := sweep([]string{temp}); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]syscall.Signal{"dead": syscall.SIGKILL, "living": syscall.SIGTERM} {
		_ = ended[name].Process.Signal(syscall.SIGTERM) // what the sweep has left ends by this
		_ = ended[name].Wait()
		if status, _ := ended[name].ProcessState.Sys().(syscall.WaitStatus); status.Signal() != want {
			t.Errorf("%s: %v, want %v", name, ended[name].ProcessState, want)
		}
	}
}
