//go:build unix

package e2e

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec"
)

// B065: TestSSHSecrets looks for the values of variables, while a script has them, in the command lines of
// both sides, which are one machine here. Others than those that were asked for do not get there.
func TestSSHSecrets(t *testing.T) {
	t.Parallel()
	set, asked, kept := rand.Text(), rand.Text(), rand.Text()
	// Backwards, for the values themselves are masked in what is shown.
	const code = `
import os, time
for name in "SET", "ASKED", "HERMES_RPC_TOKEN":
    print(name, os.environ[name][::-1])
print("KEPT", os.environ.get("KEPT", "")[::-1])
print("all", flush=True)
time.sleep(600)
`
	for kind, flags := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			v := newVisitor(t)
			v.vars = []string{"ASKED=" + asked, "KEPT=" + kept}
			write(t, filepath.Join(v.home(), "config.yaml"), "terminal:\n  ssh_env: {SET: "+set+"}\n")
			if err := os.Chmod(filepath.Join(v.home(), "config.yaml"), 0o600); err != nil {
				t.Fatal(err)
			}
			c := v.start(t, code, append(flags, "--env", "ASKED")...)
			c.until(t, "all\n")
			got := c.variables()
			token := got["HERMES_RPC_TOKEN"]
			if got["SET"] != set || got["ASKED"] != asked || got["KEPT"] != "" || len(token) < 32 {
				t.Errorf("the script has %q", got)
			}
			for pid, line := range commandLines(t) {
				for _, secret := range []string{set, asked, kept, token} {
					if strings.Contains(line, secret) || strings.Contains(line, backwards(secret)) {
						t.Errorf("the command line of process %s shows a secret: %q", pid, line)
					}
				}
			}
			scratch, err := filepath.Glob(v.Tmp() + "/*")
			if err != nil || len(scratch) == 0 {
				t.Fatalf("scratch on the host: %q, %v", scratch, err)
			}
			for _, dir := range scratch {
				if info, err := os.Stat(dir); err != nil || info.Mode() != os.ModeDir|0o700 {
					t.Errorf("%s: %v, %v", dir, info.Mode(), err)
				}
			}
			if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
			c.wait(t).failed(t, 130, hermes.KindInterrupted)
		})
	}
}
