//go:build unix

package tool

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

func TestTerminal(t *testing.T) { eachWorld(t, testTerminal) }

func testTerminal(t *testing.T, w *world) {
	t.Helper()
	t.Run("results", func(t *testing.T) {
		for _, c := range []struct {
			command, output string
			code            float64
		}{
			{"echo out; echo err >&2; echo out", "out\nerr\nout\n", 0},
			{"exit 3", "", 3},
			{"kill -9 $$", "", 137},
			{"printf 'a\\377\\303\\244'", "a\ufffdä", 0},
			{"[[ x = x ]] && echo bash", "bash\n", 0},
			{"pwd", w.dir + "\n", 0},
			{"printf '<&>'", "<&>", 0},
			{"no-such-program-here 2>/dev/null", "", 127},
			{"", "", 0},
		} {
			o := w.ok("terminal", object{"command": c.command})
			if want := (object{"output": c.output, "exit_code": c.code}); !reflect.DeepEqual(o, want) {
				t.Errorf("%s: %v", c.command, o)
			}
		}
	})
	t.Run("B018 the script gets the true bytes", func(t *testing.T) {
		o := w.ok("terminal", object{"command": `printf '%s' '{"api_key": "abc123"}'`})
		text, _ := o["output"].(string)
		var parsed map[string]string
		if err := json.Unmarshal([]byte(text), &parsed); err != nil || parsed["api_key"] != "abc123" {
			t.Errorf("%q", text)
		}
	})
	t.Run("B129 stdin is empty", func(t *testing.T) {
		if o := w.ok("terminal", object{"command": "cat; read x; echo $?"}); o["output"] != "1\n" {
			t.Errorf("%v", o)
		}
	})
	t.Run("B090 tools and commands see the same files", func(t *testing.T) {
		w.ok("write_file", object{"path": "shared/a", "content": "by tool"})
		o := w.ok("terminal", object{"command": "cat a; echo by command > b; cat ../shared/a", "workdir": "shared"})
		if o["output"] != "by toolby tool" || w.ok("read_file", object{"path": "shared/b"})["content"] != "by command\n" {
			t.Errorf("%v", o)
		}
	})
	t.Run("B074 a long command", func(t *testing.T) {
		for _, size := range []int{maxInline - 10, maxInline, 1 << 20} {
			command := "printf %s '" + strings.Repeat("x", size) + "' | wc -c; exit 4"
			o := w.ok("terminal", object{"command": command})
			if text, _ := o["output"].(string); strings.TrimSpace(text) != jsonText(size) || o["exit_code"] != 4.0 {
				t.Errorf("%d: %v", size, o)
			}
		}
		left, err := filepath.Glob(w.env.Backend.Info().Scratch + "/command-*")
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	})
	t.Run("only the given environment", func(t *testing.T) {
		o := w.ok("terminal", object{"command": "env"})
		text, _ := o["output"].(string)
		for line := range strings.Lines(text) {
			name, _, _ := strings.Cut(line, "=")
			if !slices.Contains([]string{"PATH", "HOME", "MARK", "PWD", "SHLVL", "_", "OLDPWD"}, name) {
				t.Errorf("there is %s", line)
			}
		}
	})
	t.Run("bad arguments", func(t *testing.T) {
		w.fails("terminal", object{"command": "true", "workdir": "missing"}, "cannot run in the directory missing: no such directory")
		w.fails("terminal", object{"command": "true", "workdir": ""}, "argument 'workdir' must be at least one character long")
		w.fails("terminal", object{"command": "true", "timeout": 0}, "argument 'timeout' must be more than 0, not 0")
		w.fails("terminal", object{"command": "true", "timeout": -1.5}, "not -1.5")
		w.fails("terminal", object{"command": "true", "timeout": 1e99}, "must be less than 9e+09, not 1e+99")
		w.fails("terminal", object{"command": "a\x00b"}, "without a NUL character")
		w.fails("terminal", object{"command": "true", "workdir": strings.Repeat("d/", 1000)}, "cannot run in the directory d/d/")
	})
	t.Run("no shell", func(t *testing.T) {
		vars, files := w.env.Environ, w.env.Files
		defer func() { w.env.Environ, w.env.Files = vars, files }()
		for _, path := range []string{"", w.dir} {
			w.env.Environ, w.env.Files = map[string]string{"PATH": path}, NewFiles(w.env.Backend, vars)
			w.fails("terminal", object{"command": "true"}, "no shell was found: neither bash nor sh is in PATH, which is '"+path+"'")
		}
	})
}

func jsonText(v any) string { b, _ := json.Marshal(v); return string(b) }

func TestTerminalTimeout(t *testing.T) { eachWorld(t, testTerminalTimeout) }

func testTerminalTimeout(t *testing.T, w *world) {
	t.Helper()
	t.Run("output so far, and the tree is gone", func(t *testing.T) {
		o := w.ok("terminal", object{"command": "echo start; setsid sleep 4711 & sleep 4711", "timeout": 1})
		if want := (object{"output": "start\n", "exit_code": 124.0}); !reflect.DeepEqual(o, want) {
			t.Errorf("%v", o)
		}
		testenv.Eventually(t, "the tree is gone", func() bool { return len(testenv.Processes("sleep\x004711")) == 0 })
	})
	t.Run("SIGTERM first", func(t *testing.T) {
		o := w.ok("terminal", object{"command": "trap 'echo bye; exit' TERM; echo hi; while :; do sleep 0.01; done", "timeout": 1})
		if text, _ := o["output"].(string); !strings.HasSuffix(text, "bye\n") || o["exit_code"] != 124.0 {
			t.Errorf("%v", o)
		}
	})
	t.Run("B028 the run's deadline", func(t *testing.T) {
		over := errors.New("Script timed out after 1s")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, over)
		defer cancel()
		if _, err := w.try(ctx, "terminal", object{"command": "sleep 600", "timeout": 400}); !errors.Is(err, over) {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestTerminalBackground(t *testing.T) { eachWorld(t, testTerminalBackground) }

func testTerminalBackground(t *testing.T, w *world) {
	t.Helper()
	o := w.ok("terminal", object{"command": "(while [ ! -e stop ]; do sleep 0.01; done; touch stopped) & echo started"})
	if o["output"] != "started\n" {
		t.Errorf("%v", o)
	}
	w.put("stop", "")
	testenv.Eventually(t, "the background goes on", func() bool {
		_, err := os.Stat(filepath.Join(w.dir, "stopped"))
		return err == nil
	})
}

func TestTerminalTruncates(t *testing.T) {
	w := newWorld(t)
	t.Run("48 MiB come back whole", func(t *testing.T) {
		o := w.ok("terminal", object{"command": "head -c 50331648 /dev/zero | tr '\\0' x"})
		text, _ := o["output"].(string)
		if len(text) != maxOutput || o["truncated"] != nil {
			t.Errorf("%d bytes, truncated %v", len(text), o["truncated"])
		}
	})
	t.Run("head and tail of more", func(t *testing.T) {
		o := w.ok("terminal", object{"command": "echo first; yes €€€€€€€€ | head -c 60000000; echo last"})
		text, _ := o["output"].(string)
		if o["truncated"] != true || !strings.HasPrefix(text, "first\n€") || !strings.HasSuffix(text, "last\n") {
			t.Errorf("truncated %v: %.20q ... %q", o["truncated"], text, text[max(0, len(text)-20):])
		}
		if strings.Contains(text, "\ufffd") || !strings.Contains(text, "\n[... 9") {
			t.Error("a character was split, or the note is missing")
		}
	})
	t.Run("binary output fits a reply", func(t *testing.T) {
		o := w.ok("terminal", object{"command": "head -c 30000000 /dev/zero"})
		text, _ := o["output"].(string)
		if o["truncated"] != true || len(text) < maxReply/10 {
			t.Errorf("%d bytes, truncated %v", len(text), o["truncated"])
		}
	})
}

// An environment without bash.
func TestTerminalWithoutBash(t *testing.T) {
	w := newWorld(t)
	bin := filepath.Join(w.dir, "bin")
	if err := errors.Join(os.Mkdir(bin, 0o700), os.Symlink("/bin/sh", filepath.Join(bin, "sh"))); err != nil {
		t.Fatal(err)
	}
	w.env.Environ = map[string]string{"PATH": bin}
	if o := w.ok("terminal", object{"command": "echo $0"}); o["output"] != "sh\n" {
		t.Errorf("%v", o)
	}
}
