//go:build unix

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// elsewhere calls do with each environment that is not this machine, and with how one calls `hermes-exec run`
// there. Temp is its directory for temporary files, "" where nobody has chosen one.
func elsewhere(t *testing.T, do func(t *testing.T, temp string, run func(t *testing.T, code string, flags ...string) ended)) {
	t.Helper()
	t.Run("docker", func(t *testing.T) {
		t.Parallel()
		do(t, "", newUser(t).run)
	})
	t.Run("ssh", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		do(t, v.Tmp(), v.run)
	})
}

// P005: what a script needs is made below the environment's own directory for temporary files and is gone
// afterwards, and its result is right, also after a session that did not come to be.
func TestSandboxElsewhere(t *testing.T) {
	t.Parallel()
	elsewhere(t, func(t *testing.T, temp string, run func(t *testing.T, code string, flags ...string) ended) {
		run(t, "print(1)", "--session", "s", "--cwd", "/nowhere").failed(t, 2, hermes.KindUsage)
		r := run(t, "import hermes_tools, os, tempfile\n"+
			"print(os.path.dirname(hermes_tools.__file__), tempfile.gettempdir(), sep='\\n')")
		r.must(t, r.Output)
		stage, there, _ := strings.Cut(strings.TrimSuffix(r.Output, "\n"), "\n")
		if !strings.HasPrefix(stage, there+"/hermes_sandbox_") || temp != "" && there != temp {
			t.Errorf("the sandbox is %s, temporary files are for %s, want %s", stage, there, temp)
		}
		if r.StdoutTruncated || r.StdoutTotal != int64(len(r.Output)) || exitCode(r.Result) != 0 || r.Execution != "oneshot" {
			t.Errorf("result %+v", r.Result)
		}
		run(t, fmt.Sprintf("import os; print(os.path.exists(%q))", stage)).must(t, "False\n")
		if temp != "" {
			testenv.Eventually(t, "nothing is left in "+temp, func() bool {
				left, err := filepath.Glob(temp + "/*")
				return err == nil && len(left) == 0
			})
		}
	})
}

// P035: of a flood the head and the tail come here, and how much there was.
func TestFloodElsewhere(t *testing.T) {
	t.Parallel()
	elsewhere(t, func(t *testing.T, _ string, run func(t *testing.T, code string, flags ...string) ended) {
		r := run(t, "print('head'); print('x' * 3_000_000); print('tail')")
		const total = 3_000_000 + len("head\n\ntail\n")
		if r.Status != hermes.Success || !strings.HasPrefix(r.Output, "head\n") || !strings.HasSuffix(r.Output, "tail\n") {
			t.Errorf("%s, output of %d bytes", r.Status, len(r.Output))
		}
		if !r.StdoutTruncated || r.StdoutTotal != int64(total) || r.StdoutTotal <= r.StdoutCaptured || r.StdoutOmitted <= 0 || !strings.Contains(r.Warning, "truncated") {
			t.Errorf("total %d, captured %d, omitted %d, warning %q", r.StdoutTotal, r.StdoutCaptured, r.StdoutOmitted, r.Warning)
		}
	})
}

// P165: calls are answered in their order and as far as they are allowed, without a spool where there is a
// socket.
func TestCallsElsewhere(t *testing.T) {
	t.Parallel()
	elsewhere(t, func(t *testing.T, _ string, run func(t *testing.T, code string, flags ...string) ended) {
		r := run(t, `
import hermes_tools, os
from hermes_tools import terminal
print("HERMES_RPC_DIR" in os.environ, hasattr(hermes_tools, "read_file"))
def call(name, **args):
    try:
        return hermes_tools._call(name, args)
    except Exception as e:
        return {"error": str(e)}
for i in range(3):
    print(terminal("echo %d" % i)["output"], end="")
print(call("read_file", path="x")["error"])
print(terminal("echo 3")["output"], end="")
print(call("terminal", command="echo 4")["error"])
`, "--tools", "terminal", "--max-tool-calls", "4")
		r.must(t, "False False\n0\n1\n2\n"+
			"Tool 'read_file' is not available in execute_code. Available: terminal\n3\n"+
			"Tool call limit reached (4). No more tool calls allowed in this execution.\n")
		if r.ToolCallsMade != 4 || r.ToolCallsRefused != 2 || r.Transport != "uds" {
			t.Errorf("%d calls, %d refused, by %s", r.ToolCallsMade, r.ToolCallsRefused, r.Transport)
		}
	})
}
