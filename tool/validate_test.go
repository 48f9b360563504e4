package tool

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// everything has a parameter of every kind.
func everything() Spec {
	return Spec{
		Name: "every",
		Params: []Param{
			{Name: "s", Type: String, Required: true},
			{Name: "n", Type: Integer, Default: 1, Min: atLeast(1)},
			{Name: "maybe", Type: Integer, Nullable: true},
			{Name: "f", Type: Number},
			{Name: "b", Type: Boolean, Default: false},
			{Name: "list", Type: StringList},
			{Name: "mode", Type: String, Enum: []string{"fast", "slow"}},
		},
	}
}

// validated makes both checks of arguments, as for a call that comes by no transport.
func validated(s Spec, args json.RawMessage) (json.RawMessage, error) {
	if err := checkJSON(args); err != nil {
		return nil, err
	}
	return validate(s, args, nil)
}

func TestValidate(t *testing.T) {
	tests := []struct{ name, args, want, err string }{
		{name: "the least", args: `{"s":""}`},
		{name: "everything", args: ` { "s" : "x", "n" : 3, "maybe" : -1, "f" : 1.5e3, "b" : true, "list" : ["a","b"], "mode" : "slow" } `},
		{name: "escaped name", args: `{"\u0073":"x"}`},
		{name: "a large whole number", args: `{"s":"","maybe":9223372036854775807}`},
		{name: "an integer is a number", args: `{"s":"","f":-3}`},
		{name: "an empty list", args: `{"s":"","list":[]}`},

		{name: "null for what takes it", args: `{"s":"x","maybe":null}`, want: `{"s":"x"}`},
		{name: "a whole number as float", args: `{"s":"x","n":5.0}`, want: `{"s":"x","n":5}`},
		{name: "a whole number with exponent", args: `{"s":"x","n":2e3}`, want: `{"s":"x","n":2000}`},
		{name: "negative zero", args: `{"s":"x","maybe":-0.0}`, want: `{"s":"x","maybe":0}`},
		{name: "one string for a list", args: `{"s":"x","list":"a\"b"}`, want: `{"s":"x","list":["a\"b"]}`},
		{name: "names keep their meaning", args: `{"\u0073":"x","list":"a"}`, want: `{"s":"x","list":["a"]}`},

		{name: "nothing", args: ``, err: "unexpected EOF"},
		{name: "B086 a list", args: `[1,2]`, err: "every: arguments must be a JSON object"},
		{name: "B086 a string", args: `"x"`, err: "every: arguments must be a JSON object"},
		{name: "B086 null", args: `null`, err: "every: arguments must be a JSON object"},
		{name: "two objects", args: `{"s":""} {}`, err: "something follows the value"},
		{name: "unknown", args: `{"s":"","foo":1}`, err: "every: unknown argument 'foo'; it takes s, n, maybe, f, b, list, mode"},
		{name: "missing", args: `{}`, err: "every: missing argument 's'; it takes s, n, maybe, f, b, list, mode"},
		{name: "null", args: `{"s":null}`, err: "every: argument 's' must be a string, not null"},
		{name: "null for a plain integer", args: `{"s":"","n":null}`, err: "every: argument 'n' must be an integer, not null"},
		{name: "number for string", args: `{"s":12}`, err: "every: argument 's' must be a string, not the number 12"},
		{name: "string for integer", args: `{"s":"","n":"3"}`, err: "every: argument 'n' must be an integer, not a string"},
		{name: "boolean for integer", args: `{"s":"","n":true}`, err: "every: argument 'n' must be an integer, not a boolean"},
		{name: "fraction for integer", args: `{"s":"","n":1.5}`, err: "every: argument 'n' must be an integer of 64 bits, not 1.5"},
		{name: "a huge integer", args: `{"s":"","n":9223372036854775808}`, err: "every: argument 'n' must be an integer of 64 bits, not 9223372036854775808"},
		{name: "a monstrous exponent", args: `{"s":"","n":1e999999999}`, err: "every: argument 'n' must be an integer of 64 bits, not 1e999999999"},
		{name: "a huge number", args: `{"s":"","f":1e999}`, err: "every: argument 'f' must be a number of 64 bits, not 1e999"},
		{name: "too small", args: `{"s":"","n":0}`, err: "every: argument 'n' must be at least 1, not 0"},
		{name: "too small as float", args: `{"s":"","n":-2.0}`, err: "every: argument 'n' must be at least 1, not -2"},
		{name: "integer for boolean", args: `{"s":"","b":1}`, err: "every: argument 'b' must be a boolean, not the number 1"},
		{name: "list for string", args: `{"s":["a"]}`, err: "every: argument 's' must be a string, not a list"},
		{name: "object for list", args: `{"s":"","list":{}}`, err: "every: argument 'list' must be a string or a list of strings, not an object"},
		{name: "list of numbers", args: `{"s":"","list":["a",1]}`, err: "every: argument 'list' must be a string or a list of strings, not a list with the number 1"},
		{name: "list of lists", args: `{"s":"","list":[["a"]]}`, err: "every: argument 'list' must be a string or a list of strings, not a list with a list"},
		{name: "enum", args: `{"s":"","mode":"grep"}`, err: "every: argument 'mode' must be one of fast, slow, not 'grep'"},
		{
			name: "all mistakes at once", args: `{"x":1,"n":"2"}`,
			err: "every: unknown argument 'x'; argument 'n' must be an integer, not a string; missing argument 's'; it takes s, n, maybe, f, b, list, mode",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := validated(everything(), json.RawMessage(tt.args))
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Fatalf("got %s, error %v\nwant error %s", got, err, tt.err)
				}
				return
			}
			want := tt.want
			if want == "" {
				want = tt.args
			}
			if err != nil || string(got) != want {
				t.Fatalf("got %s, error %v\nwant %s", got, err, want)
			}
		})
	}
}

// The JSON of a script reaches a message only clipped to one short line.
func TestValidateErrorsAreShort(t *testing.T) {
	for _, args := range []string{
		`{"s":"","` + strings.Repeat("x", 1000) + `\n":1}`,
		`{"s":"","n":1` + strings.Repeat("0", 1000) + `}`,
		`{"s":"","mode":"` + strings.Repeat(`\u2028`, 1000) + `"}`,
	} {
		_, err := validated(everything(), json.RawMessage(args))
		if err == nil {
			t.Fatalf("%.30s… is valid", args)
		}
		if text := err.Error(); len(text) > 400 || strings.ContainsAny(text, "\n\u2028") {
			t.Errorf("%.30s…: %q", args, text)
		}
	}
}

func TestValidateJSON(t *testing.T) {
	for _, args := range []string{`{`, `{"s"`, `{"s":`, `{"s":"a",}`, `{"s":"a","s":"b"}`, `{s:1}`, "{\"s\":\"\xff\"}", `{"s":"\ud800"}`, `{"s":"a"}}`} {
		if got, err := validated(everything(), json.RawMessage(args)); err == nil {
			t.Errorf("%s: got %s", args, got)
		}
	}
}

// FuzzValidate checks that what passes is an object of known parameters in normal form, which
// passes unchanged when it is checked again.
func FuzzValidate(f *testing.F) {
	for _, seed := range []string{`{"s":"x","n":5.0,"maybe":null,"f":1,"b":true,"list":"a","mode":"fast"}`, `[1]`, `{"s":1e9}`, `{"n":`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		got, err := validated(everything(), args)
		if err != nil {
			if got != nil || len(err.Error()) > 5000+len(args) {
				t.Fatalf("%q: %q and %v", args, got, err)
			}
			return
		}
		again, err := validated(everything(), got)
		if err != nil || string(again) != string(got) {
			t.Fatalf("%q became %q, which became %q, %v", args, got, again, err)
		}
		checkNormal(t, got)
	})
}

// FuzzMembers checks that splitting agrees with a parser on valid text, and survives other text.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{` {"a":"\\\\","b" : [{"c":"}\\""}] , "d":-1.5e3}`, `{"a":tru`, `{"a":"b`, `{"a" 1}`, `{}`, `{"a":{"b":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		ms, err := members(text)
		want := map[string]jsontext.Value{}
		if !jsontext.Value(text).IsValid() || json.Unmarshal(text, &want) != nil || want == nil {
			return
		}
		if err != nil || len(ms) != len(want) {
			t.Fatalf("%q: %v, %v", text, ms, err)
		}
		for _, m := range ms {
			if string(m.value) != string(want[m.name]) {
				t.Errorf("%q: %q is %q", text, m.name, m.value)
			}
		}
		if joined := join(ms); !jsontext.Value(joined).IsValid() {
			t.Errorf("%q joined to %q", text, joined)
		}
	})
}

func checkNormal(t *testing.T, args json.RawMessage) {
	var into struct {
		S     *string
		N     *int64
		Maybe *int64
		F     *float64
		B     *bool
		List  []string
		Mode  *string
	}
	if err := json.Unmarshal(args, &into); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	if into.S == nil || into.N != nil && *into.N < 1 || into.F != nil && math.IsInf(*into.F, 0) {
		t.Fatalf("%q passed", args)
	}
	if into.Mode != nil && !slices.Contains([]string{"fast", "slow"}, *into.Mode) {
		t.Fatalf("%q passed", args)
	}
}

func TestPreview(t *testing.T) {
	long := strings.Repeat("ü", 100)
	tests := []struct{ name, args, want string }{
		{"spaces go", "{ \"a\" : [ 1,\n\t2 ] ,\"b c\":\"d  e\"}", `{"a":[1,2],"b c":"d  e"}`},
		{"escapes of characters are read", `{"a":"\u00e9\ud83d\ude00"}`, `{"a":"é😀"}`},
		{"other escapes stay", `{"a":"x\n\t\"\\\u2028\u0022"}`, `{"a":"x\n\t\"\\\u2028\u0022"}`},
		{"a quote in a string ends it not", `{"a":"\" b : c"}`, `{"a":"\" b : c"}`},
		{"nothing that breaks a line", "{\"a\":\"\u2028\u0085\x7f\"}", "{\"a\":\"\uFFFD\uFFFD\uFFFD\"}"},
		{"whole characters", `{"a":"` + long + `"}`, `{"a":"` + long[:2*73] + `…`},
		{"80 exactly", `{"a":"` + long[:2*72] + `"}`, `{"a":"` + long[:2*72] + `"}`},
		{"half an escape", `{"a":"\`, `{"a":"\`},
		{"half a pair", `{"a":"\ud83d"}`, `{"a":"\ud83d"}`},
		{"", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := preview([]byte(tt.args)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func FuzzPreview(f *testing.F) {
	f.Add([]byte(`{"a": "\ud83d\ude00 \" \\"}`))
	f.Fuzz(func(t *testing.T, args []byte) {
		got := preview(args)
		if n := len([]rune(got)); n > previewLen || strings.ContainsAny(got, "\n\r\u2028") {
			t.Fatalf("%q: %d characters: %q", args, n, got)
		}
	})
}

func BenchmarkValidate(b *testing.B) {
	args, err := jsontext.AppendQuote([]byte(`{"path":"a.txt","content":`), strings.Repeat("x", 1<<20))
	if err != nil {
		b.Fatal(err)
	}
	args = append(args, '}')
	b.SetBytes(int64(len(args)))
	for b.Loop() {
		if _, err := validate(writeTool{}.Spec(), args, nil); err != nil {
			b.Fatal(err)
		}
	}
}
