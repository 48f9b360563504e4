//go:build unix

package e2e

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/owner"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// user is somebody who calls the hermes-exec command, with a home of his own and a name of his own for
// the image: his containers are known by that, whichever process made them.
type user struct {
	testenv.Engine
	image string
	dir   string
	vars  []string // more variables of his
}

// newUser returns a user whose session server has ended and whose containers are gone at the end of the
// test.
func newUser(t *testing.T, vars ...string) *user {
	t.Helper()
	u := &user{Engine: testenv.Docker(t), dir: testenv.TempDir(t), vars: vars}
	u.image = "hermes-exec/test:user-" + strings.ToLower(rand.Text()[:12])
	u.Docker(t, "tag", u.Image, u.image)
	for _, dir := range []string{u.home(), u.dir + "/tmp"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if pid := u.server(t); pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGTERM) // it may be ending
		}
		testenv.NoProcesses(t, "HERMES_HOME="+u.home())
		u.gone(t)
		u.Docker(t, "rmi", u.image)
		left, _ := os.ReadDir(u.dir + "/tmp")
		for _, entry := range left {
			t.Errorf("left behind: %s", entry.Name())
		}
	})
	return u
}

func (u *user) home() string { return filepath.Join(u.dir, "home") }

// configure writes his configuration.
func (u *user) configure(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(u.home(), "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// server is the process that holds his sessions, 0 if there is none.
func (u *user) server(t *testing.T) int {
	t.Helper()
	dirs, err := filepath.Glob(u.home() + "/run-*")
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

// containers are the identifiers of his containers, those that ended included.
func (u *user) containers(t *testing.T) []string {
	t.Helper()
	var ids []string
	out := u.Docker(t, "ps", "--all", "--no-trunc", "--filter", "label=hermes-exec.owner", "--format", "{{.Image}} {{.ID}}")
	for line := range strings.Lines(out) {
		if image, id, _ := strings.Cut(strings.TrimSpace(line), " "); image == u.image {
			ids = append(ids, id)
		}
	}
	return ids
}

// container is the one that he has.
func (u *user) container(t *testing.T) string {
	t.Helper()
	ids := u.containers(t)
	if len(ids) != 1 {
		t.Fatalf("containers: %q", ids)
	}
	return ids[0]
}

// gone waits until none of his containers is left.
func (u *user) gone(t *testing.T) {
	t.Helper()
	testenv.Eventually(t, "no container of "+u.image+" is left", func() bool { return len(u.containers(t)) == 0 })
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

// start calls `hermes-exec run` with a script. Arguments are its flags.
func (u *user) start(t *testing.T, code string, flags ...string) *call {
	t.Helper()
	args := append([]string{"run", "--output", "ndjson", "--backend", "docker"}, flags...)
	if !slices.Contains(flags, "--container") {
		args = append(args, "--image", u.image)
	}
	c := &call{cmd: u.command(t, append(args, "-")...), read: make(chan struct{})}
	c.cmd.Stdin, c.cmd.Stderr = strings.NewReader(code), &c.stderr
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
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

// command is a call with any arguments. It does not end with the test by itself.
func (u *user) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := command()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = u.dir
	cmd.Env = append(os.Environ(), "HOME="+u.home(), "HERMES_HOME="+u.home(), "TMPDIR="+u.dir+"/tmp", "DOCKER_HOST="+u.Endpoint)
	cmd.Env = append(cmd.Env, u.vars...)
	return cmd
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

// run runs a script to its end.
func (u *user) run(t *testing.T, code string, flags ...string) ended {
	t.Helper()
	return u.start(t, code, flags...).wait(t)
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
