//go:build unix

package local_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend/local"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// openGivenUp opens an environment with a shell script for an interpreter, gives up when that has made its
// directory, and returns the temporary directory.
func openGivenUp(t *testing.T, script string) string {
	t.Helper()
	dir := testenv.TempDir(t)
	python, temp := filepath.Join(dir, "python"), filepath.Join(dir, "tmp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(python, []byte("#!/bin/sh\nmkdir $TMPDIR/made\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	env := testenv.Environ()
	mark := "MARK=" + rand.Text()
	env["TMPDIR"], env["MARK"] = temp, mark[len("MARK="):]
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opened := make(chan error, 1)
	go func() {
		_, err := local.Open(ctx, local.Config{Env: env, Python: python})
		opened <- err
	}()
	testenv.Eventually(t, "the agent begins", func() bool {
		_, err := os.Stat(filepath.Join(temp, "made"))
		return err == nil
	})
	cancel()
	if err := <-opened; !errors.Is(err, context.Canceled) {
		t.Errorf("open: %v", err)
	}
	testenv.NoProcesses(t, mark)
	return temp
}

// What an agent has made that was not heard of yet goes with it, for nobody else knows that it is there.
func TestOpenGivenUpLeavesNothing(t *testing.T) {
	t.Parallel()
	temp := openGivenUp(t, "cat >/dev/null\nrmdir $TMPDIR/made\n")
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Who does not heed the end of its stdin is killed.
func TestOpenGivenUpEndsWhatDoesNotGo(t *testing.T) {
	t.Parallel()
	openGivenUp(t, "sleep 600\n")
}
