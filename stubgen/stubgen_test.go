package stubgen

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
	"github.com/hermes-exec/hermes-exec/tool"
)

func seven() []tool.Spec {
	var specs []tool.Spec
	for _, t := range tool.Seven() {
		specs = append(specs, t.Spec())
	}
	return specs
}

// strange is a tool whose author meant ill, or used another language's names.
func strange() tool.Spec {
	return tool.Spec{
		Name:    "strange",
		Summary: "Ends it: \"\"\"\nimport os\\\nos.system('x') \\N{BULLET} \x00\r\u2028\xff",
		Params: []tool.Param{
			{Name: "from", Type: tool.String, Required: true, Doc: `"`},
			{Name: "max-results", Type: tool.Integer, Required: true},
			{Name: "_call", Type: tool.String, Required: true},
			{Name: "\"]\n", Type: tool.Number, Required: true},
			{Name: "1é", Type: tool.Boolean, Default: true, Doc: `\`},
			{Name: "self", Type: tool.String, Default: "\"'\\\n\x00\x7f\u00a0é😀\u2028"},
			{Name: "None", Type: tool.StringList, Default: []string{"a", "'"}},
			{Name: "any", Type: tool.StringList, Default: []any{"a"}, Enum: []string{`"""`}},
			{Name: "pi", Type: tool.Number, Default: -1.5e300},
			{Name: "n", Type: tool.Integer, Default: int64(math.MinInt64)},
		},
		Returns: `""" + 1`,
	}
}

func TestGolden(t *testing.T) {
	tests := map[string][]tool.Spec{
		"none.py":    nil,
		"subset.py":  {seven()[3], seven()[1]}, // P38
		"seven.py":   seven(),
		"strange.py": {strange()},
	}
	for name, specs := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := render(specs)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name)
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("%s differs; look at it with UPDATE=1 and git diff", file)
			}
		})
	}
}

func TestRenderIsPure(t *testing.T) {
	specs := append(seven(), strange())
	first, err := render(specs)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(specs)
	second, err := render(specs)
	if err != nil || string(second) != string(first) {
		t.Errorf("the order of specs matters: %v", err)
	}
	if specs[0].Name != "strange" {
		t.Error("the caller's list was sorted")
	}
}

func TestRenderRefuses(t *testing.T) {
	for name, specs := range map[string][]tool.Spec{
		"P111":      {{Name: "execute_code"}},
		"code":      {{Name: "f(): pass #"}},
		"a helper":  {{Name: "retry"}},
		"an alias":  {{Name: "search"}},
		"two":       {{Name: "a"}, {Name: "a"}},
		"infinity":  {{Name: "a", Params: []tool.Param{{Name: "b", Type: tool.Number, Default: math.Inf(1)}}}},
		"no type":   {{Name: "a", Params: []tool.Param{{Name: "b"}}}},
		"no syntax": {{Name: "a", Params: []tool.Param{{Name: "b", Type: tool.String}, {Name: "c", Type: tool.String, Required: true}}}},
	} {
		if got, err := render(specs); err == nil {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// P56: every function can be called with every parameter by keyword, on every Python.
func TestFunctions(t *testing.T) {
	specs := append(seven(), strange(), tool.Spec{Name: "bare"})
	for _, python := range testenv.Pythons(t) {
		if !python.Usable() {
			continue
		}
		t.Run(python.Version, func(t *testing.T) {
			check := startChecker(t, python.Path)
			if answer := check(specs); answer != "ok" {
				t.Error(answer)
			}
		})
	}
}

// FuzzFunctions checks that no text of a spec is taken for code, and all of it arrives.
func FuzzFunctions(f *testing.F) {
	f.Add("Summary", "name", "doc", "default", "enum")
	f.Add(`"""`, `\`, "\\\n\"", "'\"\x00\u2028", "\xff")
	f.Add("\\\r\n", "class", `""`, `\N{DASH}`, `{}%s`)
	check := startChecker(f, testenv.Python(f))
	f.Fuzz(func(t *testing.T, summary, name, doc, value, enum string) {
		value = strings.ToValidUTF8(value, "\uFFFD")
		spec := tool.Spec{Name: "t", Summary: summary, Returns: doc, Params: []tool.Param{
			{Name: strings.ToValidUTF8(name, "?"), Type: tool.String, Default: value, Doc: doc, Enum: []string{enum}},
		}}
		if answer := check([]tool.Spec{spec}); answer != "ok" {
			t.Errorf("%+v: %s", spec, answer)
		}
	})
}

// startChecker starts testdata/check.py and returns how to ask it.
func startChecker(t testing.TB, python string) func([]tool.Spec) string {
	cmd := exec.Command(python, "-I", filepath.Join("testdata", "check.py"))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Errorf("check.py: %v", err)
		}
	})
	answers := bufio.NewReader(out)
	return func(specs []tool.Spec) string {
		source, err := render(specs)
		if err != nil {
			return err.Error()
		}
		if err := json.NewEncoder(in).Encode(checkCase(string(source), specs)); err != nil {
			return err.Error()
		}
		answer, err := answers.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err.Error()
		}
		return strings.TrimSpace(answer)
	}
}

type (
	checkedParam struct {
		Name     string `json:"name"`
		Py       string `json:"py"`
		Required bool   `json:"required"`
		Default  any    `json:"default"`
	}
	checkedTool struct {
		Name   string         `json:"name"`
		Doc    string         `json:"doc"`
		Params []checkedParam `json:"params"`
	}
)

func checkCase(source string, specs []tool.Spec) any {
	var tools []checkedTool
	for _, s := range specs {
		c := checkedTool{Name: s.Name, Doc: strings.Join([]string{s.Summary, s.Returns}, "\n"), Params: []checkedParam{}}
		for _, p := range s.Params {
			c.Doc += "\n" + p.Doc + "\n" + strings.Join(p.Enum, ", ")
			c.Params = append(c.Params, checkedParam{p.Name, tool.ParamName(p.Name), p.Required, p.Default})
		}
		c.Doc = strings.ToValidUTF8(c.Doc, "\uFFFD")
		tools = append(tools, c)
	}
	return map[string]any{"source": source, "tools": tools}
}
