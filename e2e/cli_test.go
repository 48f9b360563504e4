//go:build unix

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/owner"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// serverOf is the process that holds the sessions of a HERMES_HOME, 0 if there is none.
func serverOf(t *testing.T, home string) int {
	t.Helper()
	dirs, err := filepath.Glob(home + "/run-*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if m, err := owner.Read(dir); err == nil && !m.Dead() {
			return m.PID
		}
	}
	return 0
}

// call is a call of the command that is under way.
type call struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	read   chan struct{} // closed when all events were read

	mu      sync.Mutex
	printed strings.Builder // by the script, so far
	result  *hermes.Result
}

// ended is what a call came to.
type ended struct {
	hermes.Result
	status int // of the command
	stderr string
}

// begin starts a call that prints events, with a script.
func begin(t *testing.T, cmd *exec.Cmd, code string) *call {
	t.Helper()
	c := &call{cmd: cmd, read: make(chan struct{})}
	cmd.Stdin, cmd.Stderr = strings.NewReader(code), &c.stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.read)
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			c.event(line)
		}
	}()
	return c
}

func (c *call) event(line []byte) {
	var e struct {
		Type   string         `json:"type"`
		Text   string         `json:"text"`
		Result *hermes.Result `json:"result"`
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := json.Unmarshal(line, &e); err != nil {
		c.printed.WriteString("no event: " + err.Error() + ": " + string(line))
		return
	}
	c.result = e.Result
	if e.Type == "stdout" {
		c.printed.WriteString(e.Text)
	}
}

// until waits for the script to have printed something.
func (c *call) until(t *testing.T, text string) {
	t.Helper()
	testenv.Eventually(t, "the script prints "+text, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.result != nil {
			t.Fatalf("it ended before: %+v", *c.result)
		}
		return strings.Contains(c.printed.String(), text)
	})
}

// wait waits for the end and for the result, which has to be there.
func (c *call) wait(t *testing.T) ended {
	t.Helper()
	<-c.read
	err := c.cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	e := ended{status: c.cmd.ProcessState.ExitCode(), stderr: c.stderr.String()}
	if c.result == nil {
		t.Fatalf("no result: %v, %s", err, e.stderr)
	}
	e.Result = *c.result
	return e
}

// interrupt ends the call as one Ctrl-C does, and looks at what it says of that.
func (c *call) interrupt(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	r := c.wait(t)
	r.failed(t, 130, hermes.KindInterrupted)
	if !strings.HasSuffix(r.Output, "[execution interrupted]") || r.Warning != "" {
		t.Errorf("output %q, warning %q", r.Output, r.Warning)
	}
}

// must fails the test unless the script ended well with this output.
func (e ended) must(t *testing.T, output string) {
	t.Helper()
	if e.status != 0 || e.Status != hermes.Success || e.Output != output {
		t.Errorf("status %d, %s, output %q, error %s %q; want %q", e.status, e.Status, e.Output, e.ErrorKind, e.Error, output)
	}
}

// failed fails the test unless the script ended with this kind of error.
func (e ended) failed(t *testing.T, status int, kind hermes.ErrorKind) {
	t.Helper()
	if e.status != status || e.ErrorKind != kind || e.Status == hermes.Success {
		t.Errorf("status %d, %s, %s: %q, output %q; want %d, %s", e.status, e.Status, e.ErrorKind, e.Error, e.Output, status, kind)
	}
}
