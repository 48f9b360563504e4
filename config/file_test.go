package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// from loads a configuration of this text.
func from(t *testing.T, text string) (*Loaded, error) {
	t.Helper()
	in := input(t)
	in.File = write(t, text)
	return Load(in)
}

func TestFileOfHermesAgent(t *testing.T) {
	in := input(t)
	in.File = filepath.Join("testdata", "hermes-agent.yaml")
	in.Dir = "" // the name is relative to the test's directory
	in.Environ["MY_SEARCH_KEY"] = "a-key-for-searching"
	l := load(t, in)
	s := l.Settings
	want := Defaults()
	want.Home = s.Home
	want.Timeout, want.MaxToolCalls = 2*time.Minute, 25
	want.EnvPassthrough = []string{"TENOR_API_KEY", "NOTES_DIR"}
	want.CwdFallbacks = []Dir{{".", "file " + in.File + ":20"}}
	want.Docker.Image = "nikolaik/python-nodejs:python3.11-nodejs20"
	want.Docker.Volumes, want.Docker.ForwardEnv = []string{}, []string{}
	want.Docker.CPUs, want.Docker.Memory = 1, 5<<30
	want.Web.TavilyAPIKey, want.ReservedEnv = "a-key-for-searching", []string{"MY_SEARCH_KEY"}
	want.Timezone = "Europe/Athens"
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
	for _, note := range []string{":2: unknown key _config_version is ignored", ":21: unknown key terminal.timeout is ignored"} {
		if !slices.Contains(l.Notes, in.File+note) {
			t.Errorf("no note %q in %q", note, l.Notes)
		}
	}
	if len(s.Warnings) != 0 {
		t.Errorf("warnings %q", s.Warnings)
	}
}

// A key that nobody knows is told with the one that was meant, and is no mistake: it may be of another
// version.
func TestUnknownKeys(t *testing.T) {
	for text, want := range map[string]string{
		"code_execution:\n  mode: strict\n  timout: 5\n": "3: unknown key code_execution.timout is ignored: did you mean code_execution.timeout?",
		"terminal: {docker_imge: x}\n":                   "1: unknown key terminal.docker_imge is ignored: did you mean terminal.docker_image?",
		"web: {brave_apikey_file: x}\n":                  "1: unknown key web.brave_apikey_file is ignored: did you mean web.brave_api_key_file?",
		"code_executon: {timeout: 5}\n":                  "1: unknown key code_executon is ignored: did you mean code_execution?",
		"tool: {x: {}}\n":                                "1: unknown key tool is ignored: did you mean tools?",
		"timezon: UTC\n":                                 "1: unknown key timezon is ignored: did you mean timezone?",
		"max_tool_calls: 5\n":                            "1: unknown key max_tool_calls is ignored: did you mean code_execution.max_tool_calls?",
		"terminal: {container_disk: 5, timeout: 3}\n":    "",
		"model: {timout: 5}\n":                           "",
		"timeout: {a: 5}\n":                              "",
	} {
		l, err := from(t, text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var wants []string
		if want != "" {
			wants = []string{l.File + ":" + want}
		}
		if !slices.Equal(l.Settings.Warnings, wants) {
			t.Errorf("%q: %q, want %q", text, l.Settings.Warnings, wants)
		}
		if (len(l.Notes) == 0) != (want != "") {
			t.Errorf("%q: notes %q", text, l.Notes)
		}
	}
}

func TestFileText(t *testing.T) {
	empty := write(t, "\n")
	for _, test := range []struct {
		name, text string
		message    string // of the error, after the file's name; "" is none
	}{
		{"empty", "", ""},
		{"comments", "# nothing\n", ""},
		{"null", "null\n", ""},
		{"null sections", "terminal:\ncode_execution: ~\ntools: null\nweb: {}\ntimezone:\n", ""},
		{"null values", "code_execution:\n  timeout: null\n  tools:\nterminal:\n  env_passthrough:\n", ""},
		{"byte order mark", "\ufeffcode_execution: {timeout: 5}\n", ""},
		{"line ends of Windows", "code_execution:\r\n  timeout: 5\r\n", ""},
		{"a list", "- a\n", ":1:1: want a mapping of sections"},
		{"a text", "hello\n", ":1:1: want a mapping of sections"},
		{"an open list", "a: [1, 2\nb: 3\n", ":2:2: did not find"},
		{"a tab", "a:\n\tb: 1\n", ":2:1: found character"},
		{"an unknown alias", "timezone: *here\n", ":1:11: unknown anchor"},
		{"no UTF-8", "a: 1\nb: x\xff\n", ":2:5: byte 0xff is not UTF-8 text"},
		{"a NUL", "a: 1\n\x00", ":2:1: byte 0x00 is not UTF-8 text"},
		{"a section that is a list", "terminal: [a]\n", ":1:11: terminal: want a mapping"},
		{"tools that are a list", "tools: [a]\n", ":1:8: tools: want a mapping"},
		{"a section twice", "web:\n  provider: brave\nweb:\n  provider: tavily\n", ":3:1: web stands in line 1 already"},
		{"a key twice", "web:\n  provider: brave\n  provider: tavily\n", ":3:3: web.provider stands in line 2 already"},
		{"a list of lists", "terminal:\n  env_passthrough: [[A]]\n", ":2: terminal.env_passthrough: line 2: want a list of plain values"},
		{"a mapping for a list", "terminal:\n  env_passthrough: {A: 1}\n", ":2: terminal.env_passthrough: want a list"},
		{"a list for a text", "terminal:\n  docker_image: [a]\n", ":2: terminal.docker_image: want a single value"},
		{"an image without a name", "terminal:\n  docker_image: ' '\n", ":2: terminal.docker_image: want the name of an image"},
		{"a list in a mapping", "terminal:\n  docker_env: {A: [1]}\n", ":2: terminal.docker_env: line 2: A: want a single value"},
		{"a secret where an assignment belongs", "terminal:\n  docker_env: [oops-a-secret]\n", ":2: terminal.docker_env: item 1 is not NAME=value"},
		{"a value where a name belongs", "terminal:\n  docker_forward_env: [OK, 'A=secret@x']\n", `:2: terminal.docker_forward_env: "A=********" gives a variable a value: want its name alone`},
		{"a sentence where a name belongs", "terminal:\n  env_passthrough: [A B]\n", `:2: terminal.env_passthrough: "A B" is no name of a variable`},
		{"a variable without a name", "terminal:\n  docker_env: {'': x}\n", `:2: terminal.docker_env: "" is no name of a variable`},
		{"a variable of an odd name", "terminal:\n  ssh_env: {'A=b': x}\n", `:2: terminal.ssh_env: "A=b" is no name of a variable`},
		{"volumes", "terminal:\n  docker_volumes: [x, '/a:b']\n", `:2: terminal.docker_volumes: "x": want HOST:CONTAINER or HOST:CONTAINER:ro; "/a:b": "b" is no absolute path`},
		{
			"a volume where the caller's directory is to be", "terminal:\n  backend: docker\n  docker_volumes: ['/a:/workspace']\n  docker_mount_cwd_to_workspace: true\n",
			`:4: terminal.docker_mount_cwd_to_workspace: /workspace is where a volume (file `,
		},
		{"a volume there without it", "terminal:\n  docker_volumes: ['/a:/workspace']\n  docker_mount_cwd_to_workspace: true\n", ""},
		{"execute_code", "tools:\n  execute_code: {command: [x]}\n", ":2:3: tools: execute_code cannot be called from a script"},
		{"delegate_task", "tools:\n  delegate_task:\n", ":2:3: tools: delegate_task cannot be called from a script"},
		{"a circle", "tools:\n  mine: &a [*a]\n", ":2:9: tools: mine:"},
		{"a key and its file", "web:\n  brave_api_key: k\n  brave_api_key_file: /k\n", ":3: web.brave_api_key: web.brave_api_key and web.brave_api_key_file are both set"},
		{"a key in a file that is missing", "web:\n  brave_api_key_file: /no/such/file\n", ":2: web.brave_api_key: /no/such/file: open:"},
		{"no URL", "web:\n  searxng_url: ftp://u:secret@h\n", `:2: web.searxng_url: "ftp://u:xxxxx@h" is not a http or https URL`},
		{"a port that is none", "web:\n  searxng_url: http://search:port/x y\n", `:2: web.searxng_url: "http://search:port/x y" is not a http or https URL`},
		{"no URL with a password", "web:\n  searxng_url: http://u:secret@h:port\n", `:2: web.searxng_url: "http://xxxxx@h:port" is not a http or https URL`},
		{"a password without a scheme", "web:\n  searxng_url: u:secret@h\n", `:2: web.searxng_url: "xxxxx@h" is not a http or https URL`},
		{"a key in a file that is empty", "web:\n  brave_api_key_file: " + empty + "\n", ":2: web.brave_api_key: " + empty + " is empty: want the secret in it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, err := from(t, test.text)
			if test.message == "" {
				if err != nil {
					t.Error(err)
				} else if l.Settings.Tools != nil || l.Settings.OperatorTools != nil {
					t.Errorf("tools %v, operator's %v", l.Settings.Tools, l.Settings.OperatorTools)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "config.yaml"+test.message) {
				t.Errorf("error %v, want one with %q", err, test.message)
			}
			if err != nil && strings.Contains(err.Error(), "secret@") {
				t.Errorf("the message tells a secret: %v", err)
			}
		})
	}
}

func TestFileValues(t *testing.T) {
	l, err := from(t, `
base: &base {timeout: 7, max_tool_calls: 8}
more: &more {kill_grace: 0}
code_execution:
  <<: [*base, *more]
  max_tool_calls: 9
  tools: [search, terminal]
  max_stdout_bytes: 1_000
  max_spill_bytes: 1m
  on_timeout: Interrupt
terminal:
  env_passthrough: A, B
  docker_env: {A: 1, B: , C: "x=y"}
  ssh_env: [A=1, "B=x=y"]
  docker_network: true
  docker_volumes: ["/a:/b:ro", "c:/d,e"]
  container_memory: 512
  ssh_host: me@box
  ssh_user: other
  ssh_port: "2222"
  ssh_key: ~/.ssh/key
  ssh_host_key_checking: yes
tools:
  mine:
    command: [echo, "${SOME_TOKEN}"]
  none:
`)
	if err != nil {
		t.Fatal(err)
	}
	s := l.Settings
	for _, test := range []struct {
		name      string
		got, want any
	}{
		{"merged", s.Timeout, 7 * time.Second},
		{"merged and overruled", s.MaxToolCalls, 9},
		{"merged second", s.KillGrace, time.Duration(0)},
		{"tools", s.Tools, []string{"search_files", "terminal"}},
		{"underscore", s.MaxStdout, int64(1000)},
		{"suffix", s.MaxSpill, int64(1 << 20)},
		{"any case", s.OnTimeout, InterruptOnTimeout},
		{"list as text", s.EnvPassthrough, []string{"A", "B"}},
		{"mapping", s.Docker.Env, map[string]string{"A": "1", "B": "", "C": "x=y"}},
		{"mapping as list", s.SSH.Env, map[string]string{"A": "1", "B": "x=y"}},
		{"network as switch", s.Docker.Network, "bridge"},
		{"volumes", s.Docker.Volumes, []string{"/a:/b:ro", "c:/d,e"}},
		{"megabytes", s.Docker.Memory, int64(512 << 20)},
		{"ssh", s.SSH.Host + " " + s.SSH.User, "box me"},
		{"port", s.SSH.Port, 2222},
		{"key", filepath.Base(filepath.Dir(s.SSH.Key)) + filepath.Base(s.SSH.Key), ".sshkey"},
		{"host key checking", s.SSH.HostKeyChecking, "yes"},
		{"operator's tools", s.OperatorTools, map[string]any{"mine": map[string]any{"command": []any{"echo", "${SOME_TOKEN}"}}}},
		{"what they read", s.ReservedEnv, []string{"SOME_TOKEN"}},
	} {
		if !reflect.DeepEqual(test.got, test.want) {
			t.Errorf("%s: got %#v, want %#v", test.name, test.got, test.want)
		}
	}
	if got := l.Origin("terminal.ssh_user"); got != l.Origin("terminal.ssh_host") {
		t.Errorf("the user comes from %q", got)
	}
}

// TestFileSafety covers what others may write to: refused if it names commands or
// tools, or readmits secrets.
func TestFileSafety(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing on Windows")
	}
	const harmless = "code_execution: {timeout: 5}\nmcp_servers: {x: {command: y}}\ntools: {none: }\n"
	for _, test := range []struct {
		name, text string
		mode       fs.FileMode
		refused    bool
	}{
		{"tools, others", "tools: {mine: {command: x}}\n", 0o602, true},
		{"tools, group", "tools: {mine: {command: x}}\n", 0o660, true},
		{"tools, readable", "tools: {mine: {command: x}}\n", 0o644, false},
		{"python", "code_execution: {python: /tmp/python}\n", 0o666, true},
		{"enabled tools", "code_execution: {tools: [terminal]}\n", 0o666, true},
		{"readmitted secrets", "terminal: {env_passthrough: [MY_TOKEN]}\n", 0o666, true},
		{"forwarded secrets", "terminal: {docker_forward_env: [MY_TOKEN]}\n", 0o666, true},
		{"harmless", harmless, 0o666, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := input(t)
			in.File = write(t, test.text)
			if err := os.Chmod(in.File, test.mode); err != nil {
				t.Fatal(err)
			}
			_, err := Load(in)
			if errors.Is(err, ErrUnsafe) != test.refused || (err != nil) != test.refused {
				t.Errorf("error %v, refused %v", err, test.refused)
			}
			if test.refused && !strings.Contains(err.Error(), in.File) {
				t.Errorf("error %v does not name the file", err)
			}
		})
	}
	t.Run("another owner", func(t *testing.T) {
		in := input(t)
		in.File = write(t, "tools: {mine: {command: x}}\n")
		if err := os.Chown(in.File, 12345, -1); err != nil {
			testenv.Missing(t, "root", "only root can give files away: "+err.Error())
		}
		if _, err := Load(in); !errors.Is(err, ErrUnsafe) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("with other mistakes", func(t *testing.T) {
		in := input(t)
		in.File = write(t, "tools: {mine: {command: x}}\ncode_execution: {timeout: 0}\n")
		if err := os.Chmod(in.File, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := Load(in)
		if !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), "too short") {
			t.Errorf("error %v", err)
		}
	})
}

func TestFilePlace(t *testing.T) {
	const text = "code_execution: {timeout: 5}\n"
	at := func(t *testing.T, elem ...string) string {
		name := filepath.Join(elem...)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, test := range []struct {
		name  string
		setUp func(t *testing.T, in *Input) (want string)
	}{
		{"home", func(t *testing.T, in *Input) string { return at(t, in.Environ["HOME"], ".hermes", "config.yaml") }},
		{"HERMES_HOME", func(t *testing.T, in *Input) string {
			in.Environ["HERMES_HOME"] = t.TempDir()
			return at(t, in.Environ["HERMES_HOME"], "config.yaml")
		}},
		{"HERMES_HOME is relative", func(t *testing.T, in *Input) string {
			in.Dir, in.Environ["HERMES_HOME"] = t.TempDir(), "h"
			return at(t, in.Dir, "h", "config.yaml")
		}},
		{"HERMES_EXEC_CONFIG", func(t *testing.T, in *Input) string {
			in.Environ["HERMES_EXEC_CONFIG"] = at(t, t.TempDir(), "x.yaml")
			return in.Environ["HERMES_EXEC_CONFIG"]
		}},
		{"--config", func(t *testing.T, in *Input) string {
			in.Environ["HERMES_EXEC_CONFIG"] = "/no/such/file"
			in.Dir, in.File = t.TempDir(), "x.yaml"
			return at(t, in.Dir, "x.yaml")
		}},
		{"~", func(t *testing.T, in *Input) string {
			in.File = "~/x.yaml"
			return at(t, in.Environ["HOME"], "x.yaml")
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("the home directory has another variable")
			}
			in := input(t)
			want := test.setUp(t, &in)
			l := load(t, in)
			if l.File != want || l.Settings.Timeout != 5*time.Second {
				t.Errorf("read %q, want %q; timeout %v", l.File, want, l.Settings.Timeout)
			}
		})
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	t.Run("missing", func(t *testing.T) {
		in := input(t)
		in.File = "/no/such/config.yaml"
		if _, err := Load(in); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), in.File) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("directory", func(t *testing.T) {
		in := input(t)
		if err := os.MkdirAll(filepath.Join(in.Environ["HOME"], ".hermes", "config.yaml"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(in); err == nil || !strings.Contains(err.Error(), "is a directory") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("below a file", func(t *testing.T) {
		in := input(t)
		in.Environ["HERMES_HOME"] = write(t, "")
		if _, err := Load(in); err == nil {
			t.Error("no error for a home that is a file")
		}
	})
	t.Run("no regular file", func(t *testing.T) {
		in := input(t)
		in.File = os.DevNull
		if _, err := Load(in); err == nil || !strings.Contains(err.Error(), "is no regular file") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("too large", func(t *testing.T) {
		in := input(t)
		in.File = write(t, "")
		if err := os.Truncate(in.File, maxFile+1); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(in); err == nil || !strings.Contains(err.Error(), "larger than 16 MiB") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a home that does not exist", func(t *testing.T) {
		in := input(t)
		in.Environ["HOME"] = filepath.Join(t.TempDir(), "nowhere")
		l := load(t, in)
		if l.Settings.Home != "" || len(l.Settings.Warnings) != 1 || !strings.Contains(l.Settings.Warnings[0], "set HERMES_HOME") {
			t.Errorf("home %q, warnings %q", l.Settings.Home, l.Settings.Warnings)
		}
	})
	t.Run("no home", func(t *testing.T) {
		l := load(t, Input{})
		if l.Settings.Home != "" || len(l.Settings.Warnings) != 1 {
			t.Errorf("home %q, warnings %q", l.Settings.Home, l.Settings.Warnings)
		}
	})
}
