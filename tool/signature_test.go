package tool

import (
	"fmt"
	"testing"
)

func TestSignature(t *testing.T) {
	for want, spec := range map[string]Spec{
		"bare()": {Name: "bare"},
		"read_file(path: str, offset: int = 1, limit: int = 2000)": readTool{}.Spec(),
		"every(s: str, n: int = 1, maybe: int | None = None, f: float | None = None, b: bool = False, list: str | list[str] | None = None, mode: Literal[\"fast\", \"slow\"] | None = None)": everything(),
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
