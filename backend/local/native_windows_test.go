package local

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// TestNativeHostKilled (B131): whatever ends hermes-exec, what it runs ends too, and what it has left goes
// with the next start.
func TestNativeHostKilled(t *testing.T) {
	temp := t.TempDir()
	host := exec.Command(os.Args[0], "-test.run=^TestChild$")
	host.Env = append(os.Environ(), childName+"=host", "TMP="+temp, "TEMP="+temp, "TMPDIR="+temp)
	out := &waited{}
	host.Stdout = out
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "the script's child runs", func() bool { return strings.Contains(out.String(), "ready") })
	pid := 0
	if _, err := fmt.Sscanf(out.String(), "child %d", &pid); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait() // its error is the kill
	testenv.Eventually(t, "the child is gone", func() bool { return !alive(pid) })
	sweep(temp)
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
