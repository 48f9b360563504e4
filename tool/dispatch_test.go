package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/transport"
)

// fake is a tool whose call is a function.
type fake struct {
	spec Spec
	call func(ctx context.Context, env *Env, args json.RawMessage) (json.RawMessage, error)
}

func (f fake) Spec() Spec { return f.spec }

func (f fake) Call(ctx context.Context, env *Env, args json.RawMessage) (json.RawMessage, error) {
	if f.call == nil {
		return args, nil
	}
	return f.call(ctx, env, args)
}

// named returns a tool without parameters.
func named(name string, call func(ctx context.Context, env *Env, args json.RawMessage) (json.RawMessage, error)) fake {
	return fake{spec: Spec{Name: name}, call: call}
}

func registry(t *testing.T, tools ...Tool) *Registry {
	t.Helper()
	r, warnings, err := NewRegistry(tools, nil)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	return r
}

// begin starts a cell that the test ends, unless it did.
func begin(t *testing.T, d *Dispatcher, g Grant) {
	t.Helper()
	if err := d.Begin(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.End(context.WithoutCancel(t.Context())) })
}

func call(d *Dispatcher, t *testing.T, name, args string) (string, error) {
	t.Helper()
	result, err := d.Handle(t.Context(), &transport.Call{Tool: name, Args: json.RawMessage(args)})
	return string(result), err
}

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || err.Error() != text {
		t.Errorf("got error %v\nwant      %s", err, text)
	}
}

func TestDispatch(t *testing.T) {
	d := NewDispatcher(0, nil)
	echo := fake{spec: everything()}
	begin(t, d, Grant{Tools: registry(t, named("aa", nil), echo), MaxCalls: 2, Trace: true})

	result, err := call(d, t, "every", `{"s":"x","n":2.0}`)
	if err != nil || result != `{"s":"x","n":2}` {
		t.Errorf("got %s, %v", result, err)
	}
	_, err = call(d, t, "execute_code", `{}`)
	wantError(t, err, "Tool 'execute_code' is not available in execute_code. Available: aa, every")
	_, err = call(d, t, "every", `{"s":1}`)
	wantError(t, err, "every: argument 's' must be a string, not the number 1")
	if _, err = call(d, t, "aa", `{}`); err != nil {
		t.Error(err)
	}
	_, err = call(d, t, "aa", `{}`)
	wantError(t, err, "Tool call limit reached (2). No more tool calls allowed in this execution.")
	d.Refuse(transport.ErrUnauthorized) // B124: nobody's call
	d.Refuse(errors.New("Invalid RPC request: bad"))

	got := d.End(t.Context())
	if got.Made != 2 || got.Refused != 4 || got.OverBudget != 1 || got.LastError != "Invalid RPC request: bad" || !strings.HasPrefix(got.Refusal, "Tool 'execute_code' is not") {
		t.Errorf("report %+v", got)
	}
	var trace []string
	for _, e := range got.Trace {
		trace = append(trace, fmt.Sprint(e.Tool, " ", e.ArgsPreview, " ", e.Error != nil))
	}
	want := []string{`every {"s":"x","n":2} false`, `execute_code {} true`, `every {"s":1} true`, `aa {} false`, `aa {} true`, `  true`}
	if !reflect.DeepEqual(trace, want) {
		t.Errorf("trace %q\nwant  %q", trace, want)
	}
}

// Call makes the checks that a transport would have made.
func TestDispatchCall(t *testing.T) {
	d := NewDispatcher(0, nil)
	begin(t, d, Grant{Tools: registry(t, fake{spec: everything()}), MaxCalls: 1})
	for _, args := range []string{``, `{"s":"x"} {}`, "{\"s\":\"\xff\"}", `{"s":"x","s":"y"}`} {
		if result, err := d.Call(t.Context(), "every", json.RawMessage(args)); err == nil {
			t.Errorf("%s: got %s", args, result)
		}
	}
	if result, err := d.Call(t.Context(), "every", json.RawMessage(`{"s":"x"}`)); err != nil || string(result) != `{"s":"x"}` {
		t.Errorf("got %s, %v", result, err)
	}
	if got := d.End(t.Context()); got.Made != 1 || got.Refused != 4 {
		t.Errorf("report %+v", got)
	}
}

// A wrong name costs nothing, whatever it is, and the text stays short.
func TestDispatchStrangeName(t *testing.T) {
	d := NewDispatcher(0, nil)
	begin(t, d, Grant{MaxCalls: 1})
	_, err := call(d, t, strings.Repeat("x", 1000)+"\n", `{}`)
	wantError(t, err, "Tool '"+strings.Repeat("x", 59)+"…' is not available in execute_code. Available: none")
}

func TestDispatchAlias(t *testing.T) {
	d := NewDispatcher(0, nil)
	begin(t, d, Grant{Tools: registry(t, named(searchFiles, nil)), MaxCalls: 1, Trace: true})
	if result, err := call(d, t, "search", `{}`); err != nil || result != `{}` {
		t.Error(result, err)
	}
	if got := d.End(t.Context()); got.Trace[0].Tool != searchFiles {
		t.Errorf("trace %+v", got.Trace)
	}
}

// SPEC 5: what terminal takes from a model, but not from a script, is removed on the host.
func TestDispatchBlockedParameters(t *testing.T) {
	d := NewDispatcher(0, nil)
	terminal := fake{spec: terminalTool{}.Spec()}
	other := named("other", nil)
	begin(t, d, Grant{Tools: registry(t, terminal, other), MaxCalls: 9})
	args := `{"background":true,"command":"ls","pty":1,"check_interval":null,"notify_on_complete":[{"a":"}"}],"watch_patterns":"x","workdir":null}`
	if result, err := call(d, t, "terminal", args); err != nil || result != `{"command":"ls"}` {
		t.Errorf("got %s, %v", result, err)
	}
	_, err := call(d, t, "other", `{"pty":true}`)
	wantError(t, err, "other: unknown argument 'pty'; it takes no arguments")
}

// P72 and B070: of many calls at once exactly the budget gets through.
// What the arguments alone show to be wrong costs nothing; what only the tool can know is made.
func TestDispatchWrongValuesCostNothing(t *testing.T) {
	d := NewDispatcher(0, nil)
	begin(t, d, Grant{Tools: registry(t, Seven()...)})
	for _, c := range [][2]string{
		{"terminal", `{"command":"x","timeout":0}`},
		{"terminal", `{"command":"x","timeout":-1.5}`},
		{"terminal", `{"command":"x","timeout":1e99}`},
		{"terminal", `{"command":"x","timeout":1e999}`},
		{"terminal", `{"command":"a\u0000"}`},
		{"terminal", `{"command":"x","workdir":""}`},
		{"read_file", `{"path":""}`},
		{"read_file", `{"path":"a\u0000"}`},
		{"write_file", `{"path":"","content":""}`},
		{"search_files", `{"pattern":"x","path":""}`},
		{"patch", `{}`},
		{"patch", `{"path":"a"}`},
		{"patch", `{"path":"a","old_string":"b"}`},
		{"patch", `{"path":"","old_string":"b","new_string":"c"}`},
		{"patch", `{"path":"a","old_string":"","new_string":"c"}`},
		{"patch", `{"path":"a","old_string":"b","new_string":"b"}`},
		{"patch", `{"mode":"patch"}`},
	} {
		if result, err := call(d, t, c[0], c[1]); err == nil || strings.Contains(err.Error(), "limit reached") {
			t.Errorf("%s(%s): %s, %v", c[0], c[1], result, err)
		}
	}
	if report := d.End(t.Context()); report.Made != 0 || report.OverBudget != 0 || report.Refused != 17 {
		t.Errorf("%+v", report)
	}
}

func TestDispatchBudgetIsAtomic(t *testing.T) {
	for _, budget := range []int{0, 1, 7} {
		d := NewDispatcher(3, nil)
		var reached atomic.Int64
		tool := named("t", func(context.Context, *Env, json.RawMessage) (json.RawMessage, error) {
			reached.Add(1)
			return json.RawMessage(`{}`), nil
		})
		begin(t, d, Grant{Tools: registry(t, tool), MaxCalls: budget})
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { call(d, t, "t", `{}`) }) //nolint:errcheck // counted in the report
		}
		wg.Wait()
		got := d.End(t.Context())
		if n := int64(budget); reached.Load() != n || got.Made != n || got.Refused != 10-n || got.OverBudget != 10-n {
			t.Errorf("budget %d: %d calls reached the tool, report %+v", budget, reached.Load(), got)
		}
	}
}

// P145, P146: calls belong to a cell, and each has its own budget and counters.
func TestDispatchCells(t *testing.T) {
	d := NewDispatcher(0, nil)
	if _, err := call(d, t, "t", `{}`); !errors.Is(err, ErrNoCell) {
		t.Errorf("before: %v", err)
	}
	d.Refuse(io.EOF)
	if got := d.End(t.Context()); !reflect.DeepEqual(got, Report{}) {
		t.Errorf("before: %+v", got)
	}
	r := registry(t, named("t", nil))
	for range 2 {
		begin(t, d, Grant{Tools: r, MaxCalls: 1})
		if _, err := call(d, t, "t", `{}`); err != nil {
			t.Error(err)
		}
		if err := d.Begin(t.Context(), Grant{}); err == nil {
			t.Error("a second cell began")
		}
		if got := d.End(t.Context()); got.Made != 1 || got.Refused != 0 || got.Trace != nil {
			t.Errorf("report %+v", got)
		}
		_, err := call(d, t, "t", `{}`)
		wantError(t, err, "No active execute_code cell")
	}
}

func TestDispatchEnv(t *testing.T) {
	d := NewDispatcher(0, nil)
	var got Env
	tool := named("t", func(_ context.Context, env *Env, _ json.RawMessage) (json.RawMessage, error) {
		got = *env
		return json.RawMessage(`{}`), nil
	})
	env := &Env{Dir: "/run", Grace: time.Second}
	begin(t, d, Grant{Tools: registry(t, tool), MaxCalls: 9, Env: env})
	for dir, want := range map[string]string{"": "/run", "/there": "/there", "sub/../x": "/run/x"} {
		if _, err := d.Handle(t.Context(), &transport.Call{Tool: "t", Args: []byte(`{}`), Dir: dir}); err != nil {
			t.Fatal(err)
		}
		if got.Dir != want || got.Grace != time.Second || env.Dir != "/run" {
			t.Errorf("%q: %+v", dir, got)
		}
	}
}

// A script that calls on after its budget, for ever, fills no memory.
func TestDispatchTraceIsBounded(t *testing.T) {
	d := NewDispatcher(0, nil)
	begin(t, d, Grant{Tools: registry(t, named("t", nil)), MaxCalls: 1, Trace: true})
	for range 3 * maxRefusedTrace {
		call(d, t, "t", `{}`) //nolint:errcheck // counted
	}
	got := d.End(t.Context())
	if got.Refused != 3*maxRefusedTrace-1 || len(got.Trace) != maxRefusedTrace+1 {
		t.Errorf("%d refused, %d in the trace", got.Refused, len(got.Trace))
	}
}

func TestEntryJSON(t *testing.T) {
	text := "no"
	got, err := json.Marshal([]Entry{{Tool: "t", ArgsPreview: "{}", Duration: 0.5}, {Error: &text}})
	want := `[{"tool":"t","args_preview":"{}","duration_seconds":0.5,"error":null},{"tool":"","args_preview":"","duration_seconds":0,"error":"no"}]`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestChecked(t *testing.T) {
	tests := []struct{ name, result, want, err string }{
		{"an object", `{"a":1}`, `{"a":1}`, ""},
		{"several lines", "{\n \"a\": [1,\n2]\n}", `{"a":[1,2]}`, ""},
		{"an error that says nothing", `{"error":null,"a":1}`, `{"a":1}`, ""},
		{"an error that is false", `{"a":1,"error":false}`, `{"a":1}`, ""},
		{"an error that is empty", `{"a":1,"error":""}`, `{"a":1}`, ""},
		{"an error", `{"a":1,"error":"it \"broke\""}`, "", `it "broke"`},
		{"an error of another type", `{"error":{"code":7}}`, "", `{"code":7}`},
		{"a list", `[1]`, "", "op returned JSON that is no object"},
		{"nothing", ``, "", "op returned what is not JSON: unexpected EOF"},
		{"not UTF-8", "{\"a\":\"\xff\"}", "", `op returned what is not JSON: jsontext: invalid UTF-8 within "/a" after offset 6`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDispatcher(0, nil)
			kept := []byte(tt.result)
			tool := named("op", func(context.Context, *Env, json.RawMessage) (json.RawMessage, error) { return kept, nil })
			begin(t, d, Grant{Tools: registry(t, tool), MaxCalls: 1})
			result, err := call(d, t, "op", `{}`)
			if result != tt.want || (err != nil || tt.err != "") && (err == nil || err.Error() != tt.err) {
				t.Errorf("got %s, %v", result, err)
			}
			if string(kept) != tt.result {
				t.Errorf("the tool's own bytes became %s", kept)
			}
		})
	}
}

func BenchmarkDispatch(b *testing.B) {
	d := NewDispatcher(0, nil)
	r, _, err := NewRegistry([]Tool{readTool{}, fake{spec: writeTool{}.Spec()}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	defer cancel()
	if err := d.Begin(ctx, Grant{Tools: r, MaxCalls: 1 << 62, Trace: false}); err != nil {
		b.Fatal(err)
	}
	defer d.End(ctx)
	c := &transport.Call{Tool: "write_file", Args: []byte(`{"path":"a.txt","content":"` + strings.Repeat("x", 100) + `"}`), Dir: "/x"}
	for b.Loop() {
		if _, err := d.Handle(ctx, c); err != nil {
			b.Fatal(err)
		}
	}
}
