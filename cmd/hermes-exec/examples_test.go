package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// Every example runs by the command line that its own text gives, on this tree.
func TestExamples(t *testing.T) {
	want := map[string]string{
		"report.py":     "largest files by definitions:",
		"refactor.py":   "same output: True",
		"build_test.py": "failed: test_median, look at stats.py:5",
		"fanout.py":     "8 jobs of 0.3 s ran side by side: True",
		"hundred.py":    "100 files written and read back, sum 4950",
	}
	python := testenv.Python(t)
	command := regexp.MustCompile(`(?m)^    hermes-exec (run .*\.py)`)
	files, err := filepath.Glob("../../examples/*.py")
	if err != nil || len(files) != len(want) {
		t.Fatalf("examples %v, %v: want %d", files, err, len(want))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			line := command.FindSubmatch(text)
			if line == nil {
				t.Fatal("the example does not say how it is run")
			}
			cmd := exec.CommandContext(t.Context(), "hermes-exec", strings.Fields(string(line[1]))...)
			cmd.Dir = "../.."
			cmd.Env = append(os.Environ(), "HERMES_HOME="+t.TempDir(), "PATH="+filepath.Dir(python)+":"+os.Getenv("PATH"))
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil || stderr.Len() > 0 {
				t.Fatalf("%v, stdout %q, stderr %q", err, out, stderr.String())
			}
			if !strings.Contains(string(out), want[filepath.Base(file)]) {
				t.Errorf("stdout %q", out)
			}
		})
	}
}
