package schema_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/schema"
	"github.com/hermes-exec/hermes-exec/tool"
)

// options are the defaults with some tools; nil enables all.
func options(t *testing.T, enabled []string) schema.Options {
	t.Helper()
	r, _, err := tool.NewRegistry(tool.Seven(), enabled)
	if err != nil {
		t.Fatal(err)
	}
	d := config.Defaults()
	return schema.Options{
		Specs: r.Specs(), Mode: d.Mode, Timeout: d.Timeout, MaxToolCalls: d.MaxToolCalls, MaxStdout: d.MaxStdout,
	}
}

func description(t *testing.T, o schema.Options) string {
	t.Helper()
	text, err := schema.Description(o)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

type parameters struct {
	Type       string
	Properties map[string]struct{ Type string }
	Required   []string
}

// P002 P017: the name, the properties, and that code alone is required, in every format.
func TestFormats(t *testing.T) {
	for format, read := range map[schema.Format]func(t *testing.T, data []byte) (string, string, parameters){
		schema.OpenAI: func(t *testing.T, data []byte) (string, string, parameters) {
			var v struct {
				Type     string
				Function struct {
					Name, Description string
					Parameters        parameters
				}
			}
			decode(t, data, &v)
			if v.Type != "function" {
				t.Errorf("type is %q", v.Type)
			}
			return v.Function.Name, v.Function.Description, v.Function.Parameters
		},
		schema.Anthropic: func(t *testing.T, data []byte) (string, string, parameters) {
			var v struct {
				Name, Description string
				Parameters        parameters `json:"input_schema"`
			}
			decode(t, data, &v)
			return v.Name, v.Description, v.Parameters
		},
		schema.MCP: func(t *testing.T, data []byte) (string, string, parameters) {
			var v struct {
				Name, Description string
				Parameters        parameters `json:"inputSchema"`
			}
			decode(t, data, &v)
			return v.Name, v.Description, v.Parameters
		},
	} {
		t.Run(string(format), func(t *testing.T) {
			o := options(t, nil)
			data, err := schema.Build(format, o)
			if err != nil {
				t.Fatal(err)
			}
			name, text, p := read(t, data)
			if name != "execute_code" || text != description(t, o) {
				t.Errorf("name %q, description %q", name, text)
			}
			if p.Type != "object" || p.Properties["code"].Type != "string" || p.Properties["reset"].Type != "boolean" {
				t.Errorf("parameters %+v", p)
			}
			if len(p.Required) != 1 || p.Required[0] != "code" {
				t.Errorf("required %v", p.Required)
			}
		})
	}
	if _, err := schema.Build("xml", options(t, nil)); err == nil {
		t.Error("an unknown format is accepted")
	}
}

func decode(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// P016 P018 P019 P057: what is enabled is described, and nothing else.
func TestListsWhatIsEnabled(t *testing.T) {
	all := []string{"patch", "read_file", "search_files", "terminal", "web_extract", "web_search", "write_file"}
	for _, enabled := range [][]string{nil, {"read_file", "terminal"}, {"patch"}, {}} {
		text := description(t, options(t, enabled))
		for _, name := range all {
			want := enabled == nil
			for _, e := range enabled {
				want = want || e == name
			}
			if got := strings.Contains(text, name+"("); got != want {
				t.Errorf("%v: %s described: %v", enabled, name, got)
			}
		}
	}
}

// P058 P059 P060 P061: the import line.
func TestImportExample(t *testing.T) {
	for _, c := range []struct {
		enabled []string
		want    string
	}{
		{nil, "from hermes_tools import web_search, terminal`"},
		{[]string{"terminal", "read_file"}, "from hermes_tools import terminal`"},
		{[]string{"write_file", "read_file", "patch"}, "from hermes_tools import patch, read_file`"},
		{[]string{"read_file"}, "from hermes_tools import read_file`"},
		{[]string{}, "No tools are enabled"},
		{[]string{"vision_analyze"}, "No tools are enabled"},
	} {
		text := description(t, options(t, c.enabled))
		if !strings.Contains(text, c.want) {
			t.Errorf("%v: no %q in %q", c.enabled, c.want, text)
		}
		if strings.Contains(text, "import ,") || strings.Contains(text, "import `") {
			t.Errorf("%v: an empty import", c.enabled)
		}
	}
}

// P062 P063: real limits and the helpers.
func TestLimitsAndHelpers(t *testing.T) {
	o := options(t, nil)
	for _, want := range []string{"5-minute", "50 KB", "50 tool calls", "json_parse", "shell_quote", "retry", "Print the final result"} {
		if !strings.Contains(description(t, o), want) {
			t.Errorf("no %q", want)
		}
	}
	o.Timeout, o.MaxStdout, o.MaxToolCalls = 90*time.Second, 1_500_000, 7
	for _, want := range []string{"90-second", "1.5 MB", "7 tool calls"} {
		if !strings.Contains(description(t, o), want) {
			t.Errorf("no %q", want)
		}
	}
	o.Timeout, o.MaxStdout = 2*time.Hour, 1234
	for _, want := range []string{"2-hour", "1234 bytes"} {
		if !strings.Contains(description(t, o), want) {
			t.Errorf("no %q", want)
		}
	}
}

// P099 P100 P101: the modes differ in the directory, and in little else.
func TestModes(t *testing.T) {
	o := options(t, nil)
	project := description(t, o)
	o.Mode = config.Strict
	strict := description(t, o)
	if !strings.Contains(strict, "temp dir") || strings.Contains(project, "temp dir") {
		t.Error("strict speaks of a temp dir, project does not")
	}
	if !strings.Contains(project, "session") || !strings.Contains(project, "venv") {
		t.Error("project speaks of the session's directory and the venv")
	}
	for _, word := range []string{"sandbox", "isolated", "cloud"} {
		if strings.Contains(strings.ToLower(project+strict), word) {
			t.Errorf("%q promises what local does not keep", word)
		}
	}
	if d := len(project) - len(strict); d > 200 || d < -200 {
		t.Errorf("the descriptions differ by %d characters", d)
	}
}
