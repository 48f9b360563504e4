package marked

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

func TestEnd(t *testing.T) {
	scratch := filepath.Join(t.TempDir(), "hermes_sandbox_one")
	if err := os.Mkdir(scratch, 0o700); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(scratch, FIFO+"1")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	writer, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close() // this process has the mark too, and is not ended
	if err := os.Remove(fifo); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		env   []string
		out   *os.File
		lives bool
	}{
		{name: "the scratch in a variable", env: []string{"PYTHONPATH=" + scratch + "/staging:/x"}},
		{name: "the FIFO as output", out: writer},
		{name: "the FIFO to read from, as the host", out: reader, lives: true},
		{name: "another scratch", env: []string{"PYTHONPATH=" + filepath.Dir(scratch) + "/hermes_sandbox_two"}, lives: true},
		{name: "no mark", lives: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(testenv.Require(t, "sleep"), "600")
			cmd.Env = append([]string{"NOTHING="}, tt.env...)
			if tt.out != nil {
				cmd.Stdout = tt.out
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			End(scratch)
			_ = cmd.Process.Signal(syscall.SIGTERM) // what End has left ends by this
			_ = cmd.Wait()
			status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if lived := status.Signal() == syscall.SIGTERM; lived != tt.lives {
				t.Errorf("it lived: %v (%v)", lived, cmd.ProcessState)
			}
		})
	}
}
