package testenv_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

func TestPythonsAreRealBinaries(t *testing.T) {
	usable := false
	for _, i := range testenv.Pythons(t) {
		if strings.Contains(i.Path, "/shims/") || !filepath.IsAbs(i.Path) {
			t.Errorf("%s is a shim", i.Path)
		}
		if head, err := os.ReadFile(i.Path); err != nil || strings.HasPrefix(string(head[:2]), "#!") {
			t.Errorf("%s is a script (%v)", i.Path, err)
		}
		usable = usable || i.Usable()
	}
	if path := testenv.Python(t); !usable || path == "" {
		t.Errorf("Python is %q, Pythons has a usable one: %v", path, usable)
	}
}

func TestProcessesSeesEnvironmentAndArguments(t *testing.T) {
	for name, cmd := range map[string]*exec.Cmd{
		"environment": {Args: []string{"sleep", "60"}, Env: []string{"MARK=hx-mark-environment"}},
		"arguments":   {Args: []string{"hx-mark-arguments", "60"}},
	} {
		t.Run(name, func(t *testing.T) {
			mark := "hx-mark-" + name
			cmd.Path = testenv.Require(t, "sleep")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if got := testenv.Processes(mark); len(got) != 1 {
				t.Errorf("running: %q", got)
			}
			_ = cmd.Process.Kill()
			testenv.NoProcesses(t, mark) // a zombie: not waited for yet
			_ = cmd.Wait()
		})
	}
}

func TestTempDirIsShort(t *testing.T) {
	var dir string
	t.Run("inner", func(t *testing.T) {
		if dir = testenv.TempDir(t); len(dir) > 40 {
			t.Errorf("%d bytes: %s", len(dir), dir)
		}
	})
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s outlives its test (%v)", dir, err)
	}
}
