package config

import (
	"slices"
	"strings"
	"testing"
)

func TestSkill(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
		message    string
	}{
		{"names", "---\nname: x\nrequired_environment_variables:\n  - A\n  - B\n---\n# Text\n", []string{"A", "B"}, ""},
		{"mappings", "---\nrequired_environment_variables:\n  - name: A\n    prompt: which?\n  - {name: B, help: h}\n---\n", []string{"A", "B"}, ""},
		{"both, twice", "---\nrequired_environment_variables: [A, {name: A}]\n---\n", []string{"A"}, ""},
		{"line ends of Windows, byte order mark", "\ufeff---\r\nrequired_environment_variables: [A]\r\n---\r\n", []string{"A"}, ""},
		{"none", "---\nname: x\n---\n", nil, ""},
		{"null", "---\nrequired_environment_variables:\n---\n", nil, ""},
		{"an empty list", "---\nrequired_environment_variables: []\n---\n", nil, ""},
		{"empty frontmatter", "---\n---\n", nil, ""},
		{"no frontmatter", "# Text\n---\nrequired_environment_variables: [A]\n---\n", nil, ""},
		{"empty", "", nil, ""},
		{"open", "---\nrequired_environment_variables: [A]\n", nil, "no closing ---"},
		{"broken", "---\nname: x\na: [1\n---\n", nil, "frontmatter:4:1:"},
		{"no list", "---\nrequired_environment_variables: A\n---\n", nil, "line 2: required_environment_variables: want a list"},
		{"no name", "---\nrequired_environment_variables:\n  - prompt: x\n---\n", nil, "line 3:"},
		{"a value", "---\nrequired_environment_variables: [A=b]\n---\n", nil, "want the name of a variable"},
		{"a list in the list", "---\nrequired_environment_variables: [[A]]\n---\n", nil, "want the name of a variable"},
		{"a long line", "---\nx: " + strings.Repeat("y", 2<<20) + "\n---\n", nil, "no closing ---"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Skill(strings.NewReader(test.text))
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if (err == nil) != (test.message == "") || err != nil && !strings.Contains(err.Error(), test.message) {
				t.Errorf("error %v, want one with %q", err, test.message)
			}
		})
	}
}

func FuzzSkill(f *testing.F) {
	f.Add("---\nrequired_environment_variables: [A, {name: B}]\n---\n")
	f.Add("---\na: &a [*a]\nrequired_environment_variables: *a\n---\n")
	f.Add("---\n<<: &a {<<: *a}\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		names, err := Skill(strings.NewReader(text))
		if err != nil && names != nil {
			t.Errorf("names %q and error %v", names, err)
		}
		for _, name := range names {
			if name == "" || strings.ContainsAny(name, "=\x00") {
				t.Errorf("%q is no name", name)
			}
		}
	})
}

func FuzzLoad(f *testing.F) {
	f.Add("code_execution: {timeout: 5, tools: [search]}\nterminal: {docker_env: {A: 1}}\n", "timeout", "5m")
	f.Add("tools: {a: &a [*a]}\nweb: {<<: &b {<<: *b}}\n", "host", "me@[::1]:22")
	f.Add("web: {brave_api_key: '${A}'}\n? [a]\n: b\n", "env", "A=b")
	f.Fuzz(func(t *testing.T, text, flag, value string) {
		if flag == "skill" || strings.Contains(text, "_file") {
			return // reads files
		}
		in := Input{Environ: map[string]string{"HOME": "/nowhere", "A": "b"}, Dir: "/", File: write(t, text), Flags: flags(flag, value)}
		l, err := Load(in)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a text")
			}
			return
		}
		s := l.Settings
		if s.Timeout <= 0 || s.KillGrace < 0 || s.MaxToolCalls < 1 || s.MaxStdout < 1 || s.MaxLine < 1024 || s.Docker.Memory < minMemory {
			t.Errorf("limits %+v", s)
		}
		l.List()
	})
}
