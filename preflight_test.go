package hermes

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/tool"
)

// What a look at a script knows of results is what the tools say of themselves.
func TestLookTools(t *testing.T) {
	own := tool.Spec{Name: "ticket", Returns: `{"id": int}`}
	specs := []tool.Spec{own}
	for _, of := range tool.Seven() {
		specs = append(specs, of.Spec())
	}
	for i, got := range lookTools(specs) {
		want := specs[i]
		if got.Name != want.Name || !slices.Equal(got.Keys, want.Keys) || got.Holds != want.Holds {
			t.Errorf("%s: %q and %q, want %q and %q", want.Name, got.Keys, got.Holds, want.Keys, want.Holds)
		}
		for _, p := range specs[i].Params {
			if of := got.Types[tool.ParamName(p.Name)]; of.Type != p.Type || of.Nullable != p.Nullable || !slices.Equal(of.Enum, p.Enum) {
				t.Errorf("%s of %s: %+v, want what %+v has", p.Name, want.Name, of, p)
			}
		}
		if (got.Rows == nil) != (want.Rows == nil) || got.Rows != nil && !slices.Equal(got.Rows.Keys, want.Rows.Keys) {
			t.Errorf("%s: the rows are %+v, want %+v", want.Name, got.Rows, want.Rows)
		}
		if (len(got.Keys) == 0) != (want.Name == own.Name) {
			t.Errorf("%s: the keys are %q: they are known of ours, and of no other", want.Name, got.Keys)
		}
		if got.Keys == nil {
			t.Errorf("%s: no list of keys", want.Name)
		}
	}
}

// stuck is a backend that starts nothing, for as long as somebody waits for it.
type stuck struct{ backend.Backend }

func (stuck) Info() backend.Info { return backend.Info{} }

func (stuck) Start(ctx context.Context, _ backend.Cmd) (backend.Process, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// What is too much to be checked is said, with what to do, and is no script without findings.
func TestCheckIsBounded(t *testing.T) {
	e := &Env{terms: &terms{toolset: &toolset{tools: &tool.Registry{}}}, environment: &environment{backend: stuck{}}}

	_, err := e.Check(t.Context(), Script{Code: bytes.Repeat([]byte("#"), maxCheck+1)}, false)
	const large = "check the script: it has 4194305 bytes, and at most 4194304 are looked at; keep its data in a file, or run it unchecked"
	if err == nil || err.Error() != large || kindOf(err) != KindUsage {
		t.Errorf("a large one: %v", err)
	}

	_, err = e.check(t.Context(), []byte("pass"), lookAt{}, time.Millisecond)
	const slow = "check the script: it takes longer than 1ms; check it in parts, or run it unchecked"
	if err == nil || err.Error() != slow || kindOf(err) == KindInterrupted {
		t.Errorf("a slow one: %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = e.check(ctx, []byte("pass"), lookAt{}, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("one that nobody waits for: %v", err)
	}
}

// A hint is about what went wrong, and not about another line that is wrong too.
func TestTracedLines(t *testing.T) {
	const text = `Traceback (most recent call last):
  File "/home/me/job.py", line 3, in <module>
OSError: first

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/me/job.py", line 9, in <module>
    f()
  File "/home/me/lib.py", line 4, in f
    g()
  File "/home/me/job.py", line 7, in g
ValueError: File "/home/me/job.py", line 5
`
	for name, tt := range map[string]struct {
		text, file string
		want       []int
	}{
		"the last one":        {text, "/home/me/job.py", []int{9, 7}},
		"of another file":     {text, "/home/me/other.py", []int{}},
		"a staged script":     {strings.ReplaceAll(text, "job.py", "script.py"), "", []int{9, 7}},
		"a cell":              {strings.ReplaceAll(text, "/home/me/job.py", "<cell 2>"), "", []int{9, 7}},
		"there is none":       {"sorry\n", "/home/me/job.py", nil},
		"nothing was printed": {"", "", nil},
	} {
		if got := tracedLines(tt.text, tt.file); !slices.Equal(got, tt.want) || (got == nil) != (tt.want == nil) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// A loop over what is no list ends where it uses what it got.
func TestSighting(t *testing.T) {
	s := sighting{Finding: Finding{Line: 2}, Raises: []int{4, 5}}
	for line, want := range map[int]bool{1: false, 2: true, 3: false, 5: true} {
		if s.in([]int{9, line}) != want {
			t.Errorf("line %d: not %v", line, want)
		}
	}
}
