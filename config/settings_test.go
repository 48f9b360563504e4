package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSecretKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, text string
		environ    map[string]string
		want       string
		origin     string
	}{
		{"file", "web: {brave_api_key: plain-text}\n", nil, "plain-text", "file "},
		{"file of the file", "web: {brave_api_key_file: " + file + "}\n", nil, "from-a-file", "file "},
		{"variable", "web: {brave_api_key: plain-text}\n", map[string]string{"BRAVE_API_KEY": "v"}, "v", "environment BRAVE_API_KEY"},
		{"file of the variable", "", map[string]string{"BRAVE_API_KEY_FILE": file}, "from-a-file", "environment BRAVE_API_KEY_FILE"},
		{"reference", "web: {brave_api_key: \"${MINE}\"}\n", map[string]string{"MINE": "referred"}, "referred", "file "},
		{"reference to nothing", "web: {brave_api_key: \"${MINE}\"}\n", nil, "${MINE}", "file "},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := input(t)
			in.File = write(t, test.text)
			maps.Copy(in.Environ, test.environ)
			l := load(t, in)
			if got := l.Settings.Web.BraveAPIKey; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if got := l.Origin("web.brave_api_key"); !strings.HasPrefix(got, test.origin) {
				t.Errorf("comes from %q, want %q", got, test.origin)
			}
			for _, s := range l.List() {
				if strings.Contains(s.Value, test.want) {
					t.Errorf("%s is shown as %q", s.Key, s.Value)
				}
			}
		})
	}
	empty := input(t)
	empty.Environ["BRAVE_API_KEY_FILE"] = write(t, " \n")
	if _, err := Load(empty); err == nil || !strings.Contains(err.Error(), "environment BRAVE_API_KEY_FILE: "+empty.Environ["BRAVE_API_KEY_FILE"]+" is empty") {
		t.Error(err)
	}
	in := input(t)
	in.Environ["TAVILY_API_KEY"], in.Environ["TAVILY_API_KEY_FILE"] = "a-secret", file
	if _, err := Load(in); err == nil || strings.Contains(err.Error(), "a-secret") ||
		!strings.Contains(err.Error(), "TAVILY_API_KEY and TAVILY_API_KEY_FILE are both set") {
		t.Errorf("error %v", err)
	}
}

// TestPassthrough covers 187: names come from the file, from flags and from skills, all together.
func TestPassthrough(t *testing.T) {
	skill := filepath.Join(t.TempDir(), "SKILL.md")
	if err := os.WriteFile(skill, []byte("---\nrequired_environment_variables: [FROM_SKILL, TWICE]\n---\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := input(t)
	in.File = write(t, "terminal:\n  env_passthrough: [FROM_FILE, TWICE, '']\n")
	in.Environ["HERMES_EXEC_ENV"] = "FROM_VARIABLE\nMODE=slow, but sure"
	in.Flags = flags("env", "FROM_FLAG", "skill", skill, "env", "MODE2=a,b")
	s := load(t, in).Settings
	if want := []string{"FROM_FILE", "TWICE", "FROM_VARIABLE", "FROM_FLAG", "FROM_SKILL"}; !slices.Equal(s.EnvPassthrough, want) {
		t.Errorf("passed %q, want %q", s.EnvPassthrough, want)
	}
	if want := []string{"FROM_VARIABLE", "FROM_FLAG"}; !slices.Equal(s.EnvNamed, want) {
		t.Errorf("named %q, want %q", s.EnvNamed, want)
	}
	if s.EnvSet["MODE"] != "slow, but sure" || s.EnvSet["MODE2"] != "a,b" || len(s.EnvSet) != 2 {
		t.Errorf("set %q", s.EnvSet)
	}
}

func TestEmptyVariableIsNotSet(t *testing.T) {
	in := input(t)
	in.Environ["HERMES_EXEC_TIMEOUT"], in.Environ["HERMES_EXEC_TOOLS"], in.Environ["TERMINAL_CWD"] = "", "", ""
	l := load(t, in)
	if s := l.Settings; s.Timeout != Defaults().Timeout || s.Tools != nil || s.CwdFallbacks != nil {
		t.Errorf("got %+v", s)
	}
}

func TestDirectoryElsewhere(t *testing.T) {
	in := input(t)
	in.File = write(t, "terminal: {cwd: ~/x, backend: docker}\n")
	in.Environ["TERMINAL_CWD"] = "/here"
	in.Flags = flags("cwd", "/there")
	l := load(t, in)
	if s := l.Settings; s.Cwd != "/there" || len(s.CwdFallbacks) != 1 || s.CwdFallbacks[0].Path != "~/x" {
		t.Errorf("directories %q, %v", s.Cwd, s.CwdFallbacks)
	}
	if got := l.Origin("terminal.cwd"); got != "file "+in.File+":1" {
		t.Errorf("comes from %q", got)
	}
}

// TestTimezone covers B066: a zone that nobody knows is a warning, never a crash.
func TestTimezone(t *testing.T) {
	for zone, known := range map[string]bool{
		"Europe/Athens": true, "UTC": true, "Etc/GMT+3": true, "": true,
		"Local": false, "Mars/Base": false, "Europe/Athens; rm -rf /": false, "../../etc/passwd": false, "/etc/localtime": false,
	} {
		l, err := from(t, "timezone: '"+zone+"'\n")
		if err != nil {
			t.Errorf("%q: %v", zone, err)
			continue
		}
		if got := l.Settings.Timezone; (got == zone) != known || (got == "") == known && zone != "" {
			t.Errorf("%q gives %q", zone, got)
		}
		if got := len(l.Settings.Warnings) == 0; got != known {
			t.Errorf("%q gives warnings %q", zone, l.Settings.Warnings)
		}
	}
}

func TestIsCredential(t *testing.T) {
	reserved := []string{"MY_SEARCH"}
	for name, want := range map[string]bool{
		"OPENAI_API_KEY": true, "anthropic_api_key": true, "OPENROUTER_API_KEY": true, "GOOGLE_API_KEY": true, "BRAVE_API_KEY": true,
		"TAVILY_API_KEY": true, "FIRECRAWL_API_KEY": true, "AWS_SECRET_ACCESS_KEY": true, "AZURE_OPENAI_API_KEY": true, "HF_TOKEN": true,
		"AUXILIARY_VISION_API_KEY": true, "AUXILIARY_WEB_EXTRACT_API_KEY": true, "AUXILIARY__API_KEY": false, "BRAVE_API_KEY_FILE": true,
		"MY_SEARCH": true, "my_search": true, "HERMES_EXEC_ENV": true, "HERMES_RPC_TOKEN": true,
		"TENOR_API_KEY": false, "GITHUB_TOKEN": false, "DATABASE_URL": false, "PATH": false, "_FILE": false, "HERMES_HOME": false,
		"XOPENAI_API_KEY": false,
	} {
		if got := IsCredential(name, reserved); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if names := Credentials(); len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Error("a credential is listed twice")
	}
}

// TestCredentialsCoverTheTable checks that nothing readmits what a key of the configuration reads.
func TestCredentialsCoverTheTable(t *testing.T) {
	for _, k := range keys() {
		for _, name := range k.env {
			if strings.HasPrefix(k.name, "web.") && !IsCredential(name, nil) {
				t.Errorf("%s reads %s, which scripts can have", k.name, name)
			}
		}
	}
}

func TestSecrets(t *testing.T) {
	s := Defaults()
	s.Web = Web{SearxngURL: "https://user-name:pass-word@h/", BraveAPIKey: "brave-key", TavilyAPIKey: "short"}
	s.EnvPassthrough = []string{"TENOR_API_KEY", "PATH", "NOT_SET"}
	s.EnvSet = map[string]string{"DB_PASSWORD": "set-password", "MODE": "production"}
	s.Docker.Env = map[string]string{"APP_TOKEN": "docker-token"}
	s.SSH.Env = map[string]string{"APP_TOKEN": "docker-token"}
	environ := map[string]string{"TENOR_API_KEY": "tenor-key-value", "PATH": "/usr/local/bin:/usr/bin", "OTHER_KEY": "never passed"}
	got := Secrets(s, environ, func(name string) bool { return name == "PATH" })
	want := []string{"tenor-key-value", "docker-token", "set-password", "brave-key", "pass-word", "user-name"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
