package tool

import (
	"fmt"
	"testing"
)

func TestArgsSchema(t *testing.T) {
	spec := everything()
	spec.Params = append(spec.Params,
		Param{Name: "how", Type: String, Nullable: true, Enum: []string{"a"}, Default: "a", Doc: "How <it> is."},
		Param{Name: "which", Type: StringList, Nullable: true},
	)
	got, err := ArgsSchema(spec)
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
		`},"required":["s"],"additionalProperties":false}`
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if _, err := ArgsSchema(Spec{Params: []Param{{Default: func() {}}}}); err == nil {
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
