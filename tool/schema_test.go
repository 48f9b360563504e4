package tool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func codeOptions(names ...string) CodeOptions {
	o := CodeOptions{Timeout: 300 * time.Second, MaxStdout: 50_000, MaxCalls: 50}
	for _, t := range Seven() {
		if s := t.Spec(); slices.Contains(names, s.Name) {
			o.Tools = append(o.Tools, s)
		}
	}
	return o
}

func allNames() []string {
	r, _, err := NewRegistry(Seven(), nil)
	if err != nil {
		panic(err)
	}
	return r.Names()
}

func describeCode(t *testing.T, o CodeOptions) string {
	t.Helper()
	s, err := ExecuteCode(o)
	if err != nil {
		t.Fatal(err)
	}
	return s.Description
}

// P2, P17, P133.
func TestExecuteCodeStructure(t *testing.T) {
	s, err := ExecuteCode(codeOptions(allNames()...))
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.Format("openai")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        struct {
				Type       string
				Properties map[string]struct{ Type, Description string }
				Required   []string
			}
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	f := got.Function
	if got.Type != "function" || f.Name != "execute_code" || f.Description != s.Description || f.Parameters.Type != "object" {
		t.Errorf("got %+v", got)
	}
	if !slices.Equal(f.Parameters.Required, []string{"code"}) || len(f.Parameters.Properties) != 2 ||
		f.Parameters.Properties["code"].Type != "string" || f.Parameters.Properties["reset"].Type != "boolean" {
		t.Errorf("got %+v", f.Parameters)
	}
}

// P16, P18, P57, P61: what is enabled stands there with signature and result, and nothing else does.
func TestExecuteCodeListsTools(t *testing.T) {
	for _, names := range [][]string{allNames(), {"terminal", "read_file"}, {"patch"}, nil} {
		got := describeCode(t, codeOptions(names...))
		for _, tool := range Seven() {
			s := tool.Spec()
			signature, err := Signature(s)
			if err != nil {
				t.Fatal(err)
			}
			enabled := slices.Contains(names, s.Name)
			for _, text := range []string{signature, "Returns " + s.Returns, s.Name + "("} {
				if strings.Contains(got, text) != enabled {
					t.Errorf("%q: %q is there: %v", names, text, !enabled)
				}
			}
		}
		if strings.Contains(got, "search(query: str") != slices.Contains(names, "web_search") || strings.Contains(got, " search(") {
			t.Errorf("%q: the alias is shown", names)
		}
	}
}

// P58, P59, P60, P61.
func TestExecuteCodeImportExample(t *testing.T) {
	for want, names := range map[string][]string{
		"from hermes_tools import web_search, terminal)": allNames(),
		"from hermes_tools import terminal)":             {"patch", "terminal"},
		"from hermes_tools import patch, read_file)":     {"patch", "read_file", "write_file"},
		"from hermes_tools import write_file)":           {"write_file"},
		"No tools are enabled":                           nil,
	} {
		got := describeCode(t, codeOptions(names...))
		if !strings.Contains(got, want) || strings.Contains(got, "import ,") || strings.Contains(got, "import )") {
			t.Errorf("%q: got %s", names, got)
		}
	}
}

// P62: the limits are those that hold.
func TestExecuteCodeLimits(t *testing.T) {
	tests := []struct {
		timeout time.Duration
		stdout  int64
		calls   int
		want    string
	}{
		{300 * time.Second, 50_000, 50, "5-minute timeout, 50 KB of stdout (head and tail of more are kept), 50 tool calls per"},
		{90 * time.Second, 2_500_000, 1, "90-second timeout, 2.5 MB of stdout (head and tail of more are kept), 1 tool call per"},
		{1500 * time.Millisecond, 50_001, 2, "1.5-second timeout, 50001 bytes of stdout (head and tail of more are kept), 2 tool calls per"},
	}
	for _, tt := range tests {
		o := CodeOptions{Timeout: tt.timeout, MaxStdout: tt.stdout, MaxCalls: tt.calls}
		if got := describeCode(t, o); !strings.Contains(got, tt.want) {
			t.Errorf("%v: got %s", tt, got)
		}
	}
}

// P63 and what SPEC 2 wants said.
func TestExecuteCodeSays(t *testing.T) {
	got := describeCode(t, codeOptions(allNames()...))
	for _, want := range []string{"json_parse(", "shell_quote(", "retry(", "Use it for", "Do not use it for", "The final result is what the script prints"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
}

// P99, P100, P101.
func TestExecuteCodeModes(t *testing.T) {
	o := codeOptions(allNames()...)
	project := describeCode(t, o)
	o.Strict = true
	strict := describeCode(t, o)
	if !strings.Contains(project, "session's working directory") || !strings.Contains(project, "venv") || strings.Contains(project, "temp dir") {
		t.Errorf("project: %s", project)
	}
	if !strings.Contains(strict, "temp dir") || strings.Contains(strict, "venv") {
		t.Errorf("strict: %s", strict)
	}
	for _, word := range []string{"sandbox", "isolated", "cloud"} {
		if strings.Contains(strings.ToLower(project+strict), word) {
			t.Errorf("the word %s", word)
		}
	}
	if d := len(project) - len(strict); d <= -200 || d >= 200 {
		t.Errorf("the lengths differ by %d", d)
	}
}

func TestExecuteCodeMarksUnconfigured(t *testing.T) {
	spec := Spec{Name: "web_search", Unconfigured: "no web.provider is set"}
	const want = "web_search()\n    \n    Not configured, every call fails: no web.provider is set"
	if got := describeCode(t, CodeOptions{Tools: []Spec{spec}}); !strings.Contains(got, want) {
		t.Errorf("got %s", got)
	}
	spec.Unconfigured = ""
	if got := describeCode(t, CodeOptions{Tools: []Spec{spec}}); strings.Contains(got, "onfigured") {
		t.Errorf("got %s", got)
	}
}

func TestFormats(t *testing.T) {
	s := Schema{Name: "n", Description: `<&> "é"`, Parameters: json.RawMessage(`{"type":"object"}`)}
	const inner = "    \"type\": \"object\"\n  }\n}\n"
	for format, want := range map[string]string{
		"anthropic": "{\n  \"name\": \"n\",\n  \"description\": \"<&> \\\"é\\\"\",\n  \"input_schema\": {\n" + inner,
		"mcp":       "{\n  \"name\": \"n\",\n  \"description\": \"<&> \\\"é\\\"\",\n  \"inputSchema\": {\n" + inner,
	} {
		got, err := s.Format(format)
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v", format, got, err)
		}
	}
	_, err := s.Format("gemini")
	wantError(t, err, `unknown schema format "gemini"; there are openai, anthropic, mcp`)
}

func TestSchemaOf(t *testing.T) {
	spec := everything()
	spec.Summary = "Does it all."
	spec.Params = append(spec.Params,
		Param{Name: "how", Type: String, Nullable: true, Enum: []string{"a"}, Default: "a", Doc: "How <it> is."},
		Param{Name: "which", Type: StringList, Nullable: true},
	)
	got, err := SchemaOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"object","properties":{` +
		`"s":{"type":"string"},"n":{"type":"integer","minimum":1,"default":1},"maybe":{"type":["integer","null"]},` +
		`"f":{"type":"number"},"b":{"type":"boolean","default":false},` +
		`"list":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]},` +
		`"mode":{"type":"string","enum":["fast","slow"]},` +
		`"how":{"type":["string","null"],"description":"How <it> is.","enum":["a",null],"default":"a"},` +
		`"which":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}},{"type":"null"}]}` +
		`},"required":["s"],"additionalProperties":false}` + "\n"
	if got.Name != "every" || got.Description != "Does it all." || string(got.Parameters) != want {
		t.Errorf("got %s\nwant %s", got.Parameters, want)
	}
	if _, err := SchemaOf(Spec{Params: []Param{{Default: func() {}}}}); err == nil {
		t.Error("a function is a default")
	}
}

func TestSignature(t *testing.T) {
	for want, spec := range map[string]Spec{
		"bare()": {Name: "bare"},
		"read_file(path: str, offset: int = 1, limit: int = 2000)": readTool{}.Spec(),
		"every(s: str, n: int = 1, maybe: int | None = None, f: float | None = None, b: bool = False, list: str | list[str] | None = None, mode: str | None = None)": everything(),
	} {
		if got, err := Signature(spec); err != nil || got != want {
			t.Errorf("got %s, %v", got, err)
		}
	}
}

func TestParamName(t *testing.T) {
	for name, want := range map[string]string{
		"path": "path", "from": "from_", "max-results": "max_results", "": "p", "_x": "p_x", "1": "p1", "é": "p_", "None": "None_",
	} {
		if got := ParamName(name); got != want {
			t.Errorf("%q is %s", name, got)
		}
	}
}

func TestLiteral(t *testing.T) {
	for _, v := range []any{struct{}{}, []int{1}, []any{map[string]int{}}, 1 + 2i} {
		if got, err := Literal(v); err == nil {
			t.Errorf("%s is %s", fmt.Sprint(v), got)
		}
	}
}
