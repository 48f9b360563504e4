package environ

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hermes-exec/hermes-exec/config"
)

// always is what every environment has.
func always() map[string]string {
	return map[string]string{"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"}
}

// with adds pairs of name and value to what every environment has.
func with(pairs ...string) map[string]string {
	env := always()
	for i := 0; i < len(pairs); i += 2 {
		env[pairs[i]] = pairs[i+1]
	}
	return env
}

func TestBuild(t *testing.T) {
	for _, test := range []struct {
		name    string
		base    map[string]string
		options Options
		want    map[string]string
		dropped []string
		warning string // that one warning holds
	}{
		{
			name: "65 what every program needs",
			base: map[string]string{
				"PATH": "/bin", "HOME": "/root", "USER": "u", "LOGNAME": "u", "LANG": "C.UTF-8", "LC_ALL": "C", "TERM": "xterm",
				"TMPDIR": "/t", "TMP": "/t", "TEMP": "/t", "SHELL": "/bin/sh", "TZ": "UTC", "XDG_RUNTIME_DIR": "/run/u",
			},
			want: with("PATH", "/bin", "HOME", "/root", "USER", "u", "LOGNAME", "u", "LANG", "C.UTF-8", "LC_ALL", "C", "TERM", "xterm",
				"TMPDIR", "/t", "TMP", "/t", "TEMP", "/t", "SHELL", "/bin/sh", "TZ", "UTC", "XDG_RUNTIME_DIR", "/run/u"),
		},
		{
			name: "20 21 64 110 188 secrets by name",
			base: map[string]string{
				"OPENAI_API_KEY": "x", "ANTHROPIC_API_KEY": "x", "FIRECRAWL_API_KEY": "x", "GITHUB_TOKEN": "x", "MODAL_TOKEN_ID": "x",
				"MODAL_TOKEN_SECRET": "x", "DB_PASSWORD": "x", "MY_PASSWD": "x", "AUTH_CREDENTIAL": "x", "MY_SECRET": "x",
				"VAULT_CREDENTIAL": "x", "LDAP_PASSWD": "x", "AUTH_TOKEN": "x", "PATH": "/bin",
			},
			want: with("PATH", "/bin"),
			dropped: []string{
				"ANTHROPIC_API_KEY", "AUTH_CREDENTIAL", "AUTH_TOKEN", "DB_PASSWORD", "FIRECRAWL_API_KEY", "GITHUB_TOKEN",
				"LDAP_PASSWD", "MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET", "MY_PASSWD", "MY_SECRET", "OPENAI_API_KEY", "VAULT_CREDENTIAL",
			},
		},
		{
			name: "B058 what a block-list misses",
			base: map[string]string{
				"DATABASE_URL": "postgres://h/db", "SENTRY_DSN": "x", "SLACK_WEBHOOK": "x", "AWS_ACCESS_ID": "x", "X_API_KEY": "x",
				"MY_TOKEN": "x", "DB_PASSWORD": "x", "aws_secret": "x", "RANDOM_X": "x",
			},
			want: always(),
			dropped: []string{
				"AWS_ACCESS_ID", "DATABASE_URL", "DB_PASSWORD", "MY_TOKEN", "RANDOM_X", "SENTRY_DSN", "SLACK_WEBHOOK", "X_API_KEY", "aws_secret",
			},
		},
		{
			name: "B058 secrets under names that are listed",
			base: map[string]string{
				"XDG_API_KEY": "x", "LC_bearer": "x", "XDG_DB": "postgres://u:p@h/db", "LC_URL": "see redis://:p/w@h",
				"XDG_SITE": "https://example.org/a", "LANG": "el_GR.UTF-8@euro",
			},
			want:    with("XDG_SITE", "https://example.org/a", "LANG", "el_GR.UTF-8@euro"),
			dropped: []string{"LC_URL", "LC_bearer", "XDG_API_KEY", "XDG_DB"},
		},
		{
			name: "184 exact names of HERMES",
			base: map[string]string{
				"HERMES_HOME": "/h", "HERMES_PROFILE": "p", "HERMES_CONFIG": "c", "HERMES_ENV": "e", "HERMES_BASE_URL": "x",
				"HERMES_INTERACTIVE": "1", "HERMES_KANBAN_DB": "x", "HERMES_HOMES": "x",
			},
			want:    with("HERMES_HOME", "/h", "HERMES_PROFILE", "p", "HERMES_CONFIG", "c", "HERMES_ENV", "e"),
			dropped: []string{"HERMES_BASE_URL", "HERMES_HOMES", "HERMES_INTERACTIVE", "HERMES_KANBAN_DB"},
		},
		{
			name: "B060 189 passthrough readmits, but no credential of the agent",
			base: map[string]string{"TENOR_API_KEY": "tenor", "OPENROUTER_API_KEY": "agent", "OTHER": "x"},
			options: Options{
				Passthrough: []string{"TENOR_API_KEY", "OPENROUTER_API_KEY", "NOT_SET"},
			},
			want:    with("TENOR_API_KEY", "tenor"),
			dropped: []string{"OPENROUTER_API_KEY", "OTHER"},
			warning: "OPENROUTER_API_KEY was not passed to the script: it is one of the agent's own credentials",
		},
		{
			name:    "a name that was asked for and is not set",
			base:    map[string]string{"THERE": "x", "EMPTY": "", "OPENROUTER_API_KEY": "agent"},
			options: Options{Passthrough: []string{"THERE", "EMPTY", "SET", "NOPE"}, Named: []string{"THERE", "EMPTY", "SET", "NOPE"}, Set: map[string]string{"SET": "y"}},
			want:    with("THERE", "x", "EMPTY", "", "SET", "y"),
			dropped: []string{"OPENROUTER_API_KEY"},
			warning: "NOPE was not passed to the script: it is not set here; --env NOPE=VALUE sets it",
		},
		{
			name:    "on Windows in another case",
			base:    map[string]string{"There": "x"},
			options: Options{OS: "windows", Passthrough: []string{"THERE"}, Named: []string{"THERE"}},
			want:    with("There", "x"),
		},
		{
			name:    "B061 189 a credential under a name made at run time",
			base:    map[string]string{"AUXILIARY_VISION_API_KEY": "x"},
			options: Options{Passthrough: []string{"AUXILIARY_VISION_API_KEY"}},
			want:    always(),
			dropped: []string{"AUXILIARY_VISION_API_KEY"},
			warning: "AUXILIARY_VISION_API_KEY",
		},
		{
			name:    "B060 in another case, and what the configuration reads",
			base:    map[string]string{"openai_api_key": "x", "MY_SEARCH": "x"},
			options: Options{Passthrough: []string{"openai_api_key", "MY_SEARCH"}, Reserved: []string{"MY_SEARCH"}},
			want:    always(),
			dropped: []string{"MY_SEARCH", "openai_api_key"},
			warning: "MY_SEARCH",
		},
		{
			name:    "B060 setting is no way round either",
			options: Options{Set: map[string]string{"OPENAI_API_KEY": "x", "MODE": "fast", "DB_PASSWORD": "mine"}},
			want:    with("MODE", "fast", "DB_PASSWORD", "mine"),
			warning: "OPENAI_API_KEY",
		},
		{
			name:    "185 187 readmission passes what the filter would drop twice",
			base:    map[string]string{"DATABASE_URL": "postgres://u:p@h/db"},
			options: Options{Passthrough: []string{"DATABASE_URL"}},
			want:    with("DATABASE_URL", "postgres://u:p@h/db"),
		},
		{
			name: "B068 our own marks are never inherited",
			base: map[string]string{
				"HERMES_RPC_TOKEN": "old", "HERMES_RPC_DIR": "/old", "HERMES_EXEC_TIMEOUT": "1", "_HERMES_SUPERVISOR": "1",
			},
			options: Options{RPC: map[string]string{"HERMES_RPC_SOCKET": "/s", "HERMES_RPC_TOKEN": "new"}},
			want:    with("HERMES_RPC_SOCKET", "/s", "HERMES_RPC_TOKEN", "new"),
			dropped: []string{"HERMES_EXEC_TIMEOUT", "HERMES_RPC_DIR", "_HERMES_SUPERVISOR"},
		},
		{
			name:    "B068 nor passed, nor set",
			base:    map[string]string{"HERMES_RPC_DIR": "/old"},
			options: Options{Passthrough: []string{"HERMES_RPC_DIR"}, Set: map[string]string{"HERMES_RPC_TOKEN": "x"}},
			want:    always(),
			dropped: []string{"HERMES_RPC_DIR"},
			warning: "HERMES_RPC_TOKEN was not passed to the script: hermes-exec sets it itself",
		},
		{
			name:    "B062 the environment of another interpreter",
			base:    map[string]string{"VIRTUAL_ENV": "/a", "CONDA_PREFIX": "/c"},
			options: Options{Python: "/b/bin/python3"},
			want:    always(),
			dropped: []string{"CONDA_PREFIX", "VIRTUAL_ENV"},
		},
		{
			name:    "B062 the environment of this interpreter",
			base:    map[string]string{"VIRTUAL_ENV": "/b/", "CONDA_PREFIX": "/c"},
			options: Options{Python: "/b/bin/python3"},
			want:    with("VIRTUAL_ENV", "/b/"),
			dropped: []string{"CONDA_PREFIX"},
		},
		{
			name:    "B062 no interpreter is known",
			base:    map[string]string{"VIRTUAL_ENV": "/b"},
			want:    always(),
			dropped: []string{"VIRTUAL_ENV"},
		},
		{
			name:    "PYTHONPATH of a staged script in project mode",
			base:    map[string]string{"PYTHONPATH": "/u1:/u2"},
			options: Options{Staging: "/s", Cwd: "/w"},
			want:    with("PYTHONPATH", "/s:/w:/u1:/u2"),
		},
		{
			name:    "PYTHONPATH in strict mode",
			base:    map[string]string{"PYTHONPATH": "/u"},
			options: Options{Staging: "/s", Strict: true},
			want:    with("PYTHONPATH", "/s"),
			dropped: []string{"PYTHONPATH"},
		},
		{
			name:    "PYTHONPATH that was asked for",
			base:    map[string]string{"PYTHONPATH": "/u"},
			options: Options{Staging: "/s", Strict: true, Set: map[string]string{"PYTHONPATH": "/mine"}},
			want:    with("PYTHONPATH", "/s:/mine"),
		},
		{
			name:    "HOME is missing",
			options: Options{Home: "/scratch"},
			want:    with("HOME", "/scratch"),
		},
		{
			name:    "HOME is there",
			base:    map[string]string{"HOME": "/root"},
			options: Options{Home: "/scratch"},
			want:    with("HOME", "/root"),
		},
		{
			name:    "HOME cannot be written to",
			base:    map[string]string{"HOME": "/"},
			options: Options{Home: "/scratch", HomeBad: true},
			want:    with("HOME", "/scratch"),
		},
		{
			name:    "23 B066 time zone",
			base:    map[string]string{"TZ": "UTC"},
			options: Options{Timezone: "Europe/Athens"},
			want:    with("TZ", "Europe/Athens"),
		},
		{
			name:    "B066 a zone that nobody knows",
			base:    map[string]string{"TZ": "UTC"},
			options: Options{Timezone: "Mars/Base; rm -rf /"},
			want:    with("TZ", "UTC"),
			warning: `timezone "Mars/Base; rm -rf /" is not known`,
		},
		{
			name:    "an environment without zone files",
			base:    map[string]string{"TZ": "CET-1"},
			options: Options{Timezone: "Europe/Athens", NoZones: true},
			want:    with("TZ", "CET-1"),
			warning: "timezone Europe/Athens is not applied: the environment has no zone files",
		},
		{
			name:    "UTC needs none",
			options: Options{Timezone: "UTC", NoZones: true},
			want:    with("TZ", "UTC"),
		},
		{
			name: "24 no time zone",
			want: always(),
		},
		{
			name:    "B066 Windows would take the zone for UTC",
			options: Options{OS: "windows", Timezone: "Europe/Athens"},
			want:    always(),
			warning: "timezone Europe/Athens is not applied",
		},
		{
			name: "Windows: names in any case, its own essentials, its separators",
			base: map[string]string{
				"Path": `C:\bin`, "SystemRoot": `C:\Windows`, "=C:": `C:\x`, "PythonPath": `C:\u`, "my_Token": "x", "PathExt": ".EXE",
				"Virtual_Env": `C:\V`, "ProgramFiles(x86)": `C:\p`, "Gone": "x",
			},
			options: Options{OS: "windows", Staging: `C:\s`, Python: `c:\v\Scripts\python.exe`, Set: map[string]string{"path": `D:\bin`}},
			want: with("path", `D:\bin`, "SystemRoot", `C:\Windows`, "PYTHONPATH", `C:\s;C:\u`, "PathExt", ".EXE", "Virtual_Env", `C:\V`,
				"ProgramFiles(x86)", `C:\p`),
			dropped: []string{"Gone", "my_Token"},
		},
		{
			name:    "elsewhere case counts, and Windows' names mean nothing",
			base:    map[string]string{"Path": "/x", "SYSTEMROOT": "/x"},
			options: Options{OS: "linux"},
			want:    always(),
			dropped: []string{"Path", "SYSTEMROOT"},
		},
		{
			name: "another machine gets the names that were passed and nothing else",
			base: map[string]string{"PATH": "/guest", "FOO": "guest"},
			options: Options{
				Host:        map[string]string{"PATH": "/host", "FOO": "host", "BAR": "host", "HOME": "/host", "OPENAI_API_KEY": "x"},
				Passthrough: []string{"FOO", "BAR", "OPENAI_API_KEY"},
			},
			want:    with("PATH", "/guest", "FOO", "host", "BAR", "host"),
			warning: "OPENAI_API_KEY",
		},
		{
			name: "what no process can have",
			base: map[string]string{"": "x", "A=B": "x", "PATH": "a\x00b"},
			want: always(),
		},
		{
			name:    "what Python needs cannot be spoilt",
			options: Options{Set: map[string]string{"PYTHONUTF8": "0"}},
			want:    always(),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := maps.Clone(test.base)
			got, report := Build(test.base, test.options)
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %v\nwant %v", got, test.want)
			}
			if !slices.Equal(report.Dropped, test.dropped) {
				t.Errorf("dropped %q, want %q", report.Dropped, test.dropped)
			}
			warnings := strings.Join(report.Warnings, "\n")
			if (test.warning == "") != (warnings == "") || !strings.Contains(warnings, test.warning) {
				t.Errorf("warnings %q, want one with %q", warnings, test.warning)
			}
			if !maps.Equal(before, test.base) {
				t.Errorf("the base was changed to %v", test.base)
			}
		})
	}
}

// TestDebug covers B059: names are told, values never.
func TestDebug(t *testing.T) {
	_, report := Build(map[string]string{"HERMES_B": "value", "HERMES_A": "value", "ZED": "value"}, Options{})
	want := []string{
		"execute_code: dropped 2 non-allowlisted HERMES_* var(s): HERMES_A, HERMES_B (see terminal.env_passthrough)",
		"execute_code: dropped 1 other var(s): ZED",
	}
	if got := report.Debug(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (Report{}).Debug(); got != nil {
		t.Errorf("nothing was dropped, got %q", got)
	}
}

// TestNothingSecretPasses is B058 and B061 for names that nobody thought of.
func TestNothingSecretPasses(t *testing.T) {
	words := []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "DSN", "WEBHOOK", "BEARER"}
	systems := []string{"linux", "darwin", "windows"}
	part := rapid.StringMatching(`[A-Za-z0-9_]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		word := []byte(rapid.SampledFrom(words).Draw(t, "word"))
		for i := range word {
			if rapid.Bool().Draw(t, "lower") {
				word[i] += 'a' - 'A'
			}
		}
		prefix := rapid.SampledFrom([]string{"", "XDG_", "LC_", "HERMES_", "HERMES_HOME", "PATH"}).Draw(t, "prefix")
		name := prefix + part.Draw(t, "before") + string(word) + part.Draw(t, "after")
		o := Options{OS: rapid.SampledFrom(systems).Draw(t, "os"), Strict: rapid.Bool().Draw(t, "strict")}
		if rapid.Bool().Draw(t, "asked") {
			o.Passthrough = []string{name}
		}
		env, report := Build(map[string]string{name: "value"}, o)
		_, passed := env[name]
		refused := config.IsCredential(name, nil) || internal(strings.ToUpper(name))
		if want := o.Passthrough != nil && !refused; passed != want {
			t.Fatalf("%s passed %v, want %v", name, passed, want)
		}
		if passed == slices.Contains(report.Dropped, name) {
			t.Fatalf("%s passed %v, reported as dropped %v", name, passed, report.Dropped)
		}
	})
}
