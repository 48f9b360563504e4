//go:build unix

package local_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/backendtest"
	"github.com/hermes-exec/hermes-exec/backend/local"
	"github.com/hermes-exec/hermes-exec/internal/owner"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// victimName is set in the environment of a copy of the test that opens an environment, runs
// something in it, and waits to be killed.
const victimName = "HX_TEST_VICTIM"

func TestMain(m *testing.M) {
	if mark := os.Getenv(victimName); mark != "" {
		fmt.Println(beVictim(context.Background(), mark))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// beVictim prints its scratch once all is running.
func beVictim(ctx context.Context, mark string) error {
	b, err := local.Open(ctx, local.Config{Env: testenv.Environ()})
	if err != nil {
		return err
	}
	deaf := "trap '' INT TERM HUP; setsid sleep 600 & sleep 600 & echo ready; wait"
	for _, linger := range []bool{false, true} {
		r, w := io.Pipe()
		cmd := backend.Cmd{Args: []string{"/bin/sh", "-c", deaf}, Env: map[string]string{"MARK": mark}, Stdout: w, Linger: linger}
		cmd.Env["PATH"] = os.Getenv("PATH")
		if _, err := b.Start(ctx, cmd); err != nil {
			return err
		}
		if _, err := io.ReadFull(r, make([]byte, 6)); err != nil {
			return err
		}
	}
	fmt.Println(b.Info().Scratch)
	select {}
}

// TestHostKilled (B131): whatever ends hermes-exec, what it runs ends too, and nothing is left: also
// where a script has stopped the agent that should see to that.
func TestHostKilled(t *testing.T) {
	for name, test := range map[string]struct {
		sig     syscall.Signal
		stopped bool
	}{
		"killed": {syscall.SIGKILL, false}, "terminated": {syscall.SIGTERM, false}, "hangup": {syscall.SIGHUP, false},
		"killed while its agent is stopped": {syscall.SIGKILL, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testenv.Heard(t, test.sig)
			mark := "hx" + rand.Text()
			victim := exec.Command(os.Args[0])
			victim.Env = append(os.Environ(), victimName+"="+mark)
			out, err := victim.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := victim.Start(); err != nil {
				t.Fatal(err)
			}
			scratch, err := bufio.NewReader(out).ReadString('\n')
			if !strings.HasPrefix(scratch, "/") || err != nil {
				t.Fatalf("the victim says %q, %v", scratch, err)
			}
			// One that is just being executed has no environment to see.
			testenv.Eventually(t, "all six run", func() bool { return len(testenv.Processes("MARK="+mark)) >= 6 })
			if test.stopped {
				agent, err := owner.Read(strings.TrimSpace(scratch))
				if err != nil {
					t.Fatal(err)
				}
				if err := syscall.Kill(agent.PID, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
			if err := victim.Process.Signal(test.sig); err != nil {
				t.Fatal(err)
			}
			_ = victim.Wait()
			testenv.NoProcesses(t, mark)
			testenv.Eventually(t, "the scratch is gone", func() bool {
				_, err := os.Lstat(strings.TrimSpace(scratch))
				return errors.Is(err, os.ErrNotExist)
			})
		})
	}
}

func TestBackend(t *testing.T) {
	backendtest.TestBackend(t, backendtest.Config{Open: func(t *testing.T) backend.Backend {
		t.Helper()
		b, err := local.Open(t.Context(), local.Config{Dir: t.TempDir(), Env: testenv.Environ(), Python: testenv.Python(t)})
		if err != nil {
			t.Fatal(err)
		}
		testenv.CloseAfter(t, b)
		return b
	}})
}
