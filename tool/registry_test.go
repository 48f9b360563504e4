package tool

import (
	"slices"
	"strings"
	"testing"
)

func TestNewRegistry(t *testing.T) {
	const three = "there are patch, read_file, search_files"
	tests := []struct {
		name     string
		enabled  []string
		want     []string
		warnings []string
	}{
		{"P19 no list is all", nil, []string{"patch", "read_file", "search_files"}, nil},
		{"P38 a subset, in order", []string{"search_files", "patch"}, []string{"patch", "search_files"}, nil},
		{"the early name of search_files", []string{"search"}, []string{"search_files"}, nil},
		{"twice is once", []string{"search", " search_files ", "search"}, []string{"search_files"}, nil},
		{"P39 an empty list", []string{}, []string{}, []string{"the list of enabled tools is empty: the script has no tools; " + three}},
		{"P40 P61 none that is here", []string{"vision", "execute_code"}, []string{}, []string{"no tool is called 'vision', 'execute_code': the script has no tools; " + three}},
		{"one unknown", []string{"patch", "pach\n"}, []string{"patch"}, []string{"no tool is called 'pach' (did you mean patch?); " + three}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, warnings, err := NewRegistry([]Tool{searchTool{}, readTool{}, patchTool{}}, tt.enabled)
			if err != nil || !slices.Equal(r.Names(), tt.want) || !slices.Equal(warnings, tt.warnings) {
				t.Errorf("got %q, %q, %v", r.Names(), warnings, err)
			}
			for i, s := range r.Specs() {
				tool, ok := r.Lookup(s.Name)
				if s.Name != tt.want[i] || !ok || tool.Spec().Name != s.Name {
					t.Errorf("%d: %s", i, s.Name)
				}
			}
		})
	}
}

func TestRegistryLookup(t *testing.T) {
	r := registry(t, Seven()...)
	if tool, ok := r.Lookup("search"); !ok || tool != (searchTool{}) {
		t.Errorf("search is %v", tool)
	}
	for _, name := range []string{"", "execute_code", "READ_FILE", "zzz"} {
		if tool, ok := r.Lookup(name); ok {
			t.Errorf("%s is %v", name, tool)
		}
	}
}

func TestNewRegistryRefuses(t *testing.T) {
	one := func(p ...Param) Tool { return fake{spec: Spec{Name: "op", Params: p}} }
	tests := []struct {
		name  string
		tools []Tool
		err   string
	}{
		{"P111 execute_code", []Tool{named("execute_code", nil)}, `tool "execute_code": it cannot be called from inside execute_code`},
		{"P111 delegate_task", []Tool{named("delegate_task", nil)}, `tool "delegate_task": it cannot be called from inside execute_code`},
		{"an alias", []Tool{named("search", nil)}, `tool "search": the name is taken in hermes_tools`},
		{"a helper", []Tool{named("json_parse", nil)}, `tool "json_parse": the name is taken in hermes_tools`},
		{"a keyword", []Tool{named("import", nil)}, `tool "import": the name is a Python keyword`},
		{"no identifier", []Tool{named("a-b", nil)}, `tool "a-b": a name must be letters, digits and underscores, the first a letter`},
		{"a private name", []Tool{named("_call", nil)}, `tool "_call": a name must be letters, digits and underscores, the first a letter`},
		{"a digit first", []Tool{named("1st", nil)}, `tool "1st": a name must be letters, digits and underscores, the first a letter`},
		{"a dash", []Tool{named("a-b", nil)}, `tool "a-b": a name must be letters, digits and underscores, the first a letter`},
		{"a line end", []Tool{named("a\n", nil)}, `tool "a\n": a name must be letters, digits and underscores, the first a letter`},
		{"a letter beyond ASCII", []Tool{named("é", nil)}, `tool "é": a name must be letters, digits and underscores, the first a letter`},
		{"a bracket", []Tool{named("a[", nil)}, `tool "a[": a name must be letters, digits and underscores, the first a letter`},
		{"no name", []Tool{named("", nil)}, `tool "": a name must be letters, digits and underscores, the first a letter`},
		{"two of a name", append(Seven(), named("patch", nil)), `tool "patch": there are two of that name`},
		{"two parameters of a name", []Tool{one(Param{Name: "a-b", Type: String}, Param{Name: "a_b", Type: String})}, `tool "op": two parameters are a_b in Python`},
		{"no type", []Tool{one(Param{Name: "a"})}, `tool "op": parameter "a": unknown type ""`},
		{"a default without literal", []Tool{one(Param{Name: "a", Type: String, Default: struct{}{}})}, `tool "op": parameter "a": a default of the type struct {}`},
		{"required after optional", []Tool{one(Param{Name: "a", Type: String}, Param{Name: "b", Type: String, Required: true})}, `tool "op": parameter "b" is required but follows an optional one`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, _, err := NewRegistry(tt.tools, nil)
			if r != nil {
				t.Errorf("got %v", r.Names())
			}
			wantError(t, err, tt.err)
		})
	}
}

func TestSevenAreSound(t *testing.T) {
	r := registry(t, Seven()...)
	want := []string{"patch", "read_file", "search_files", "terminal", "web_extract", "web_search", "write_file"}
	if !slices.Equal(r.Names(), want) {
		t.Errorf("got %q", r.Names())
	}
}

// The keys that a Spec names are those that it explains, and its content is in one of them.
func TestSpecKeys(t *testing.T) {
	for _, of := range Seven() {
		s := of.Spec()
		if len(s.Keys) == 0 {
			t.Errorf("%s: no keys", s.Name)
		}
		for _, key := range s.Keys {
			if !strings.Contains(s.Returns, `"`+key+`": `) {
				t.Errorf("%s: Returns does not explain %q", s.Name, key)
			}
		}
		if rows := s.Rows; rows != nil {
			for _, key := range slices.Concat(rows.In, rows.Keys) {
				if !strings.Contains(s.Returns, `"`+key+`"`) {
					t.Errorf("%s: Returns does not explain %q", s.Name, key)
				}
			}
			if !slices.Contains(s.Keys, rows.In[0]) {
				t.Errorf("%s: %q is none of %q", s.Name, rows.In[0], s.Keys)
			}
		}
		if s.Holds != "" && !slices.ContainsFunc(s.Keys, func(key string) bool { return strings.Contains(s.Holds, `["`+key+`"]`) }) {
			t.Errorf("%s: %q is in none of %q", s.Name, s.Holds, s.Keys)
		}
	}
}
