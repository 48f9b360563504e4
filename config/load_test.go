package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// write makes a configuration file that nobody else may write to.
func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// input is a caller with a home directory that has no configuration.
func input(t *testing.T) Input {
	t.Helper()
	return Input{Environ: map[string]string{"HOME": t.TempDir()}, Dir: "/caller", Backends: []string{"local", "docker", "ssh"}}
}

// flags are pairs of name and value.
func flags(pairs ...string) (list []Flag) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, Flag{pairs[i], pairs[i+1]})
	}
	return list
}

// suit chooses the backend that a flag is for.
func (in *Input) suit(flag string) {
	for _, k := range keys() {
		if k.flag == flag && k.backend != "" {
			in.Environ["HERMES_EXEC_BACKEND"], in.Environ["TERMINAL_SSH_HOST"] = k.backend, "build1"
		}
	}
}

// load fails the test unless the settings are right.
func load(t *testing.T, in Input) *Loaded {
	t.Helper()
	l, err := Load(in)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestDefaults(t *testing.T) {
	in := input(t)
	l := load(t, in)
	want := Defaults()
	want.Home = filepath.Join(in.Environ["HOME"], ".hermes")
	if !reflect.DeepEqual(l.Settings, want) {
		t.Errorf("got %+v\nwant %+v", l.Settings, want)
	}
	if l.File != "" || len(l.Settings.Warnings) != 0 || len(l.Notes) != 0 {
		t.Errorf("file %q, warnings %q, notes %q", l.File, l.Settings.Warnings, l.Notes)
	}
	for _, s := range l.List() {
		if s.Origin != "default" {
			t.Errorf("%s comes from %s", s.Key, s.Origin)
		}
	}
}

func TestPrecedence(t *testing.T) {
	file := write(t, "terminal:\n  cwd: /from/file\ncode_execution:\n  timeout: 10\n  max_tool_calls: 11\n  transport: file\n")
	in := input(t)
	in.File = file
	in.Environ["HERMES_EXEC_TIMEOUT"] = "20"
	in.Environ["HERMES_EXEC_MAX_TOOL_CALLS"] = "21"
	in.Environ["TERMINAL_CWD"] = "/from/terminal"
	in.Flags = flags("timeout", "29", "timeout", "30")
	l := load(t, in)
	s := l.Settings
	if s.Timeout != 30*time.Second || s.MaxToolCalls != 21 || s.Transport != "file" || s.MaxSpill != 5_000_000 {
		t.Errorf("got %+v", s)
	}
	if want := []Dir{{"/from/terminal", "environment TERMINAL_CWD"}, {"/from/file", "file " + file + ":2"}}; !slices.Equal(s.CwdFallbacks, want) {
		t.Errorf("directories %v, want %v", s.CwdFallbacks, want)
	}
	for key, want := range map[string]string{
		"code_execution.timeout":         "flag --timeout",
		"code_execution.max_tool_calls":  "environment HERMES_EXEC_MAX_TOOL_CALLS",
		"code_execution.transport":       "file " + file + ":6",
		"code_execution.max_spill_bytes": "default",
	} {
		if got := l.Origin(key); got != want {
			t.Errorf("%s comes from %q, want %q", key, got, want)
		}
	}
}

// TestValues covers B071: what a limit may be, and the error that names what it may not.
func TestValues(t *testing.T) {
	for _, test := range []struct {
		flag, text string
		get        func(Settings) any
		want       any    // nil: an error
		message    string // which holds this
	}{
		{"timeout", "12", func(s Settings) any { return s.Timeout }, 12 * time.Second, ""},
		{"timeout", "0.5", func(s Settings) any { return s.Timeout }, 500 * time.Millisecond, ""},
		{"timeout", "12s", func(s Settings) any { return s.Timeout }, 12 * time.Second, ""},
		{"timeout", "5m", func(s Settings) any { return s.Timeout }, 5 * time.Minute, ""},
		{"timeout", "0", nil, nil, `flag --timeout: "0" is too short`},
		{"timeout", "0s", nil, nil, "too short"},
		{"timeout", "-1", nil, nil, `"-1" is too short`},
		{"timeout", "-1s", nil, nil, `"-1s" is too short`},
		{"timeout", "many", nil, nil, `"many" is not a time`},
		{"timeout", "1e99", nil, nil, `"1e99" is too long`},
		{"timeout", "1e999", nil, nil, `"1e999" is too long`},
		{"timeout", "Inf", nil, nil, `"Inf" is too long`},
		{"timeout", "NaN", nil, nil, `"NaN" is not a time`},
		{"timeout", "", nil, nil, `flag --timeout: "" is empty: want seconds`},
		{"max-tool-calls", "100", func(s Settings) any { return s.MaxToolCalls }, 100, ""},
		{"max-tool-calls", "1_000", func(s Settings) any { return s.MaxToolCalls }, 1000, ""},
		{"max-tool-calls", "0", nil, nil, `flag --max-tool-calls: "0" is out of range`},
		{"max-tool-calls", "-1", nil, nil, `"-1" is out of range`},
		{"max-tool-calls", "many", nil, nil, `"many" is not a whole number`},
		{"max-tool-calls", "2.5", nil, nil, `"2.5" is not a whole number`},
		{"max-tool-calls", "1e99", nil, nil, `"1e99" is not a whole number`},
		{"max-tool-calls", "99999999999999999999", nil, nil, "out of range"},
		{"max-tool-calls", "_1", nil, nil, "not a whole number"},
		{"memory", "2g", func(s Settings) any { return s.Docker.Memory }, int64(2 << 30), ""},
		{"memory", "512MiB", func(s Settings) any { return s.Docker.Memory }, int64(512 << 20), ""},
		{"memory", "512", nil, nil, `"512" is out of range: want 6m to 1t`},
		{"memory", "9999999999t", nil, nil, "out of range"},
		{"memory", "2.5g", nil, nil, `"2.5g" is not a size`},
		{"memory", "g", nil, nil, "not a size"},
		{"memory", "1gg", nil, nil, "not a size"},
		{"cpus", "1.5", func(s Settings) any { return s.Docker.CPUs }, 1.5, ""},
		{"cpus", "NaN", nil, nil, `"NaN" is not a number of CPUs`},
		{"cpus", "0", nil, nil, "out of range"},
		{"mode", " STRICT ", func(s Settings) any { return s.Mode }, Strict, ""},
		{"mode", "sandbox", nil, nil, `"sandbox" is not known: want project, strict`},
		{"transport", "UDS", func(s Settings) any { return s.Transport }, "uds", ""},
		{"transport", "pigeon", nil, nil, "want auto, uds, tcp, file"},
		{"backend", "Docker", func(s Settings) any { return s.Backend }, "docker", ""},
		{"mode", "strit", nil, nil, `"strit" is not known: did you mean strict?`},
		{"backend", "docer", nil, nil, `backend "docer" is not known: did you mean docker?`},
		{"backend", "modal", nil, nil, `backend "modal" is not known: want local, docker, ssh`},
		{"mount-cwd", "true", func(s Settings) any { return s.Docker.MountCwd }, true, ""},
		{"mount-cwd", "maybe", nil, nil, `"maybe" is neither true nor false`},
		{"network", "bridge", func(s Settings) any { return s.Docker.Network }, "bridge", ""},
		{"network", "", nil, nil, `flag --network: "" is empty: want none, bridge or a name`},
		{"tools", "search, read_file,search_files", func(s Settings) any { return s.Tools }, []string{"search_files", "read_file"}, ""},
		{"tools", "", func(s Settings) any { return s.Tools }, []string{}, ""},
		{"env", "=x", nil, nil, `"=********" has no name before =: want NAME or NAME=value`},
		{"env", "", nil, nil, `flag --env: "" is empty`},
		{"env", "A B", nil, nil, `"A B" is no name of a variable`},
		{"env", "a\nb=c", nil, nil, `"a\nb" is no name of a variable`},
		{"env", "A= b ", func(s Settings) any { return s.EnvSet }, map[string]string{"A": " b "}, ""},
		{"env", "A=b=c", func(s Settings) any { return s.EnvSet }, map[string]string{"A": "b=c"}, ""},
		{"env", "A=", func(s Settings) any { return s.EnvSet }, map[string]string{"A": ""}, ""},
		{"host", "me@box:2222", func(s Settings) any { return s.SSH }, SSH{Host: "box", User: "me", Port: 2222, HostKeyChecking: "yes", Spool: "agent"}, ""},
		{"host", "[::1]:22", func(s Settings) any { return s.SSH.Host }, "::1", ""},
		{"host", "fe80::1", func(s Settings) any { return s.SSH.Host }, "fe80::1", ""},
		{"host", "::1", func(s Settings) any { return s.SSH.Host }, "::1", ""},
		{"host", "ssh://me@[::1]:22/", func(s Settings) any { return s.SSH }, SSH{Host: "::1", User: "me", Port: 22, HostKeyChecking: "yes", Spool: "agent"}, ""},
		{"host", "ssh://box", func(s Settings) any { return s.SSH.Host }, "box", ""},
		{"host", "ssh://box/srv", nil, nil, `"ssh://box/srv" has a directory, which is for --cwd`},
		{"host", "ssh://", nil, nil, "is not a host"},
		{"host", "box:0", nil, nil, `port of "box:0"`},
		{"host", "-oProxyCommand=x", nil, nil, "is not a host"},
		{"host", "me@-x", nil, nil, "is not a host"},
		{"host", "@box", nil, nil, "empty user"},
		{"python", "python3.12", func(s Settings) any { return s.Python }, "python3.12", ""},
		{"python", "./venv/bin/python", func(s Settings) any { return s.Python }, "/caller/venv/bin/python", ""},
		{"cwd", "sub", func(s Settings) any { return s.Cwd }, "/caller/sub", ""},
		{"python", "", nil, nil, `flag --python: "" is empty: want path or name`},
		{"cwd", "", nil, nil, `flag --cwd: "" is empty: want path`},
		{"cwd", " ", nil, nil, `flag --cwd: " " is empty: want path`},
		{"skill", "", nil, nil, `flag --skill: "" is empty`},
		{"skill", "/does/not/exist.md", nil, nil, "/does/not/exist.md"},
	} {
		t.Run("B071 "+test.flag+" "+test.text, func(t *testing.T) {
			in := input(t)
			in.Flags = flags(test.flag, test.text)
			in.suit(test.flag)
			l, err := Load(in)
			if test.want == nil {
				if err == nil || !strings.Contains(err.Error(), test.message) {
					t.Fatalf("error %v, want one with %q", err, test.message)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := test.get(l.Settings); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %#v, want %#v", got, test.want)
			}
		})
	}
}

// TestAllMistakes checks that one run tells everything that is wrong, each with its place.
func TestAllMistakes(t *testing.T) {
	file := write(t, "code_execution:\n  timeout: many\n  max_tool_calls: 2.5\nterminal: 7\nweb:\n  brave_api_key: [secret-in-a-list]\n")
	in := input(t)
	in.File = file
	in.Environ["HERMES_EXEC_MODE"] = "loose"
	in.Flags = flags("memory", "x", "volume", "x")
	_, err := Load(in)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		file + `:2: code_execution.timeout: "many" is not a time`,
		file + `:3: code_execution.max_tool_calls: "2.5" is not a whole number`,
		file + ":4:11: terminal: want a mapping",
		file + ":6: web.brave_api_key: want a single value",
		`environment HERMES_EXEC_MODE: "loose" is not known`,
		`flag --memory: "x" is not a size`,
		`flag --volume: "x": want HOST:CONTAINER`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "secret-in-a-list") {
		t.Errorf("the message tells a secret:\n%v", err)
	}
	var bad *ValueError
	if !errors.As(err, &bad) || bad.Key != "code_execution.timeout" || bad.Value != "many" {
		t.Errorf("first value error %+v", bad)
	}
}

// A flag for containers or hosts never leaves a script on this machine without a word.
func TestMisplacedFlags(t *testing.T) {
	for name, test := range map[string]struct {
		flags []string
		want  string
	}{
		"an image":              {[]string{"image", "x"}, "flag --image: it is for the backend docker, and this is local: add --backend docker"},
		"a container":           {[]string{"container", "x"}, "flag --container: it is for the backend docker, and this is local: add --backend docker"},
		"a host":                {[]string{"host", "x"}, "flag --host: it is for the backend ssh, and this is local: add --backend ssh"},
		"an image on a host":    {[]string{"image", "x", "backend", "ssh", "host", "x"}, "flag --image: it is for the backend docker, and this is ssh: add --backend docker"},
		"an image for docker":   {[]string{"image", "x", "backend", "docker"}, ""},
		"a user in a container": {[]string{"container", "x", "backend", "docker", "user", "x"}, ""},
		"a network for one that is there": {
			[]string{"container", "x", "backend", "docker", "network", "x"},
			"flag --network: it is for a container that is made, and --container enters one that is there: leave out either",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t)
			in.Flags = flags(test.flags...)
			_, err := Load(in)
			if got := fmt.Sprint(err); got != test.want && (err != nil || test.want != "") {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
	in := input(t)
	in.Environ["HERMES_EXEC_IMAGE"] = "x"
	load(t, in)
}
