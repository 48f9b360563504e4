package main

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// What a terminal is, and what its user wants, decides how doctor looks there.
func TestDoctorOnATerminal(t *testing.T) {
	for name, test := range map[string]struct {
		kind    string
		environ []string
		escapes bool
		mark    string
	}{
		"colours":            {"xterm", []string{"LC_ALL=C.UTF-8", "NO_COLOR="}, true, "✓"},
		"no UTF-8":           {"xterm", []string{"LC_ALL=C", "NO_COLOR="}, true, "ok"},
		"NO_COLOR":           {"xterm", []string{"LC_ALL=C.UTF-8", "NO_COLOR=1"}, false, "✓"},
		"a dumb terminal":    {"dumb", []string{"LC_ALL=C.UTF-8", "NO_COLOR="}, false, "ok"},
		"one without a name": {"", []string{"LC_ALL=C.UTF-8", "NO_COLOR="}, false, "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShell(t)
			cmd := s.command("doctor")
			cmd.Env = append(cmd.Env, append(test.environ, "CI=1")...) // no progress
			m := onTerminal(t, cmd, test.kind, unix.Winsize{Row: 24, Col: 60})
			shown := m.Expect("Scripts can run here.")
			if strings.Contains(shown, "\x1b") != test.escapes || !strings.Contains(shown, test.mark) {
				t.Errorf("it shows %q", shown)
			}
			plain := strings.NewReplacer("\x1b[1m", "", "\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[0m", "").Replace(shown)
			for line := range strings.Lines(plain) {
				if line = strings.TrimRight(line, "\r\n"); len([]rune(line)) > 59 && strings.Contains(strings.TrimSpace(line[22:]), " ") {
					t.Errorf("longer than the terminal is wide: %q", line)
				}
			}
			m.ends(0)
		})
	}
}

// What is no terminal gets plain text, whatever the variables say.
func TestLookOfNoTerminal(t *testing.T) {
	a := &app{environ: map[string]string{"TERM": "xterm", "LANG": "C.UTF-8"}}
	f, err := os.Create(testenv.TempDir(t) + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if l := a.lookOf(f); l != (look{}) {
		t.Errorf("a file: %+v", l)
	}
	if l := a.lookOf(&strings.Builder{}); l != (look{}) {
		t.Errorf("a pipe: %+v", l)
	}
}

// Who calls the program alone on a terminal is not waited for, but told what to do.
func TestFirstRunOnATerminal(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"alone":       {nil, "No code provided."},
		"with a flag": {[]string{"--quiet"}, "no script: name a FILE, or give the script on stdin; see hermes-exec --help"},
	} {
		t.Run(name, func(t *testing.T) {
			m := onTerminal(t, newShell(t).command(test.args...), "xterm", testenv.UsualSize())
			m.Expect(test.want)
			m.ends(exitUsage)
		})
	}
}

// Who looks on is told where the script's files are, of the first of very many.
func TestArtifactsOnATerminal(t *testing.T) {
	s := newShell(t)
	dir := testenv.TempDir(t)
	script := dir + "/many.py"
	code := "import os\nfor i in range(23): open('%s/f%02d' % (os.environ['HERMES_ARTIFACTS'], i), 'w').close()\n"
	if err := os.WriteFile(script, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	m := onTerminal(t, s.command("--artifacts", dir+"/out", script), "xterm", unix.Winsize{Row: 24, Col: 200})
	shown := m.Expect("artifacts: 3 more, in the same directory; --output json lists all")
	if n := strings.Count(shown, "artifact: "+dir+"/out/f"); n != 20 {
		t.Errorf("%d lines: %q", n, shown)
	}
	m.ends(0)
}
