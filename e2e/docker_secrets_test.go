//go:build unix

package e2e

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// B065, P215: TestDockerSecrets looks for the values of variables, while a script has them, where other users
// of this machine and of the engine can see them.
func TestDockerSecrets(t *testing.T) {
	set, forwarded, asked := rand.Text(), rand.Text(), rand.Text()
	// Backwards, for the values themselves are masked in what is shown.
	const code = `
import os, time
for name in "SET", "FORWARDED", "ASKED", "HERMES_RPC_TOKEN":
    print(name, os.environ[name][::-1])
print("all", flush=True)
time.sleep(600)
`
	for name, flags := range map[string][]string{"a script": nil, "a session": {"--session", "s"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, "FORWARDED="+forwarded, "ASKED="+asked)
			u.configure(t, "terminal:\n  docker_env: {SET: "+set+"}\n  docker_forward_env: [FORWARDED]\n")
			c := u.start(t, code, append(flags, "--env", "ASKED")...)
			c.until(t, "all\n")
			got := c.variables()
			token := got["HERMES_RPC_TOKEN"]
			if got["SET"] != set || got["FORWARDED"] != forwarded || got["ASKED"] != asked || len(token) < 32 {
				t.Errorf("the script has %q", got)
			}
			seen := map[string]string{"docker inspect": u.Docker(t, "inspect", u.container(t))}
			for pid, line := range commandLines(t) {
				seen["the command line of process "+pid] = line
			}
			for place, text := range seen {
				for _, secret := range []string{set, forwarded, asked, token} {
					if strings.Contains(text, secret) || strings.Contains(text, backwards(secret)) {
						t.Errorf("%s shows a secret: %q", place, text)
					}
				}
			}
			if err := c.cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Error(err)
			}
			c.wait(t).failed(t, 130, "interrupted")
		})
	}
}

// variables are those whose values a script has printed backwards.
func (c *call) variables() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	vars := map[string]string{}
	for line := range strings.Lines(c.printed.String()) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			vars[name] = backwards(value)
		}
	}
	return vars
}

func backwards(text string) string {
	r := []rune(text)
	slices.Reverse(r)
	return string(r)
}

// commandLines are those of all processes that run, those in containers included where the engine is on
// this machine.
func commandLines(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Fatalf("no processes: %v", err)
	}
	lines := map[string]string{}
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil { // else it has ended
			lines[filepath.Base(filepath.Dir(file))] = string(line)
		}
	}
	return lines
}
