//go:build unix

package tool

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/backendtest"
	"github.com/hermes-exec/hermes-exec/backend/local"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// world is a real environment with a directory of its own.
type world struct {
	t   *testing.T
	env *Env
	dir string
	web config.Web
}

// eachWorld runs a test on this machine as local has it, and as docker and ssh have theirs: behind
// an agent that is reached by its stdio alone.
func eachWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("local", func(t *testing.T) { test(t, newWorld(t)) })
	t.Run("pipe", func(t *testing.T) {
		test(t, makeWorld(t, func(dir string, vars map[string]string) (backend.Backend, error) {
			cfg := backendtest.PipeConfig{Dir: dir, Env: vars, Python: testenv.Python(t)}
			return backendtest.Pipe(t.Context(), cfg)
		}))
	})
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return makeWorld(t, func(dir string, vars map[string]string) (backend.Backend, error) {
		return local.Open(t.Context(), local.Config{Dir: dir, Env: vars, Python: testenv.Python(t)})
	})
}

func makeWorld(t *testing.T, open func(dir string, vars map[string]string) (backend.Backend, error)) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"PATH": os.Getenv("PATH"), "HOME": dir, "MARK": dir}
	b, err := open(dir, vars)
	if err != nil {
		t.Fatal(err)
	}
	files := NewFiles(b, vars)
	t.Cleanup(func() {
		for _, c := range []func() error{files.Close, b.Close} {
			if err := c(); err != nil {
				t.Error(err)
			}
		}
		testenv.NoProcesses(t, dir)
	})
	return &world{t: t, dir: dir, env: &Env{Backend: b, Dir: dir, Environ: vars, Grace: 5 * time.Second, Files: files}}
}

type object = map[string]any

// try calls a tool the way the dispatcher does.
func (w *world) try(ctx context.Context, name string, args object) (object, error) {
	w.t.Helper()
	all := Builtin(w.web)
	i := slices.IndexFunc(all, func(t Tool) bool { return t.Spec().Name == name })
	raw, err := json.Marshal(args)
	if err != nil {
		w.t.Fatal(err)
	}
	normal, err := validated(all[i].Spec(), raw)
	if err != nil {
		return nil, err
	}
	if t, ok := all[i].(ArgsChecker); ok {
		if err := t.CheckArgs(normal); err != nil {
			return nil, err
		}
	}
	result, err := all[i].Call(ctx, w.env, normal)
	if err != nil {
		return nil, err
	}
	if strings.ContainsRune(string(result), '\n') {
		w.t.Errorf("%s: the result is not on one line", name)
	}
	var o object
	if err := json.Unmarshal(result, &o); err != nil {
		w.t.Errorf("%s: the result is no JSON object: %v", name, err)
	}
	if _, ok := o["error"]; ok {
		w.t.Errorf("%s: a success has the key error", name)
	}
	for key := range o {
		if !slices.Contains(all[i].Spec().Keys, key) {
			w.t.Errorf("%s(%s): the result has the key %q, which its Spec does not know", name, raw, key)
		}
	}
	w.checkRows(all[i].Spec(), o)
	return o, nil
}

// checkRows looks at the rows of a result, which are where its Spec says.
func (w *world) checkRows(s Spec, result any) {
	if s.Rows == nil {
		return
	}
	for _, key := range s.Rows.In {
		in, ok := result.(object)
		if !ok {
			w.t.Errorf("%s: no dict has %q", s.Name, key)
			return
		}
		result = in[key]
	}
	list, ok := result.([]any)
	if !ok {
		w.t.Errorf("%s: there is no list in %q", s.Name, s.Rows.In)
	}
	for _, row := range list {
		in, _ := row.(object)
		for _, key := range slices.Sorted(maps.Keys(in)) {
			if !slices.Contains(s.Rows.Keys, key) {
				w.t.Errorf("%s: a row has the key %q, which its Spec does not know", s.Name, key)
			}
		}
	}
}

// ok calls a tool that must succeed.
func (w *world) ok(name string, args object) object {
	w.t.Helper()
	o, err := w.try(w.t.Context(), name, args)
	if err != nil {
		w.t.Fatalf("%s(%v): %v", name, args, err)
	}
	return o
}

// fails calls a tool that must fail with a text.
func (w *world) fails(name string, args object, want string) {
	w.t.Helper()
	o, err := w.try(w.t.Context(), name, args)
	if err == nil {
		w.t.Errorf("%s(%v) = %v, want an error", name, args, o)
	} else if !strings.Contains(err.Error(), want) {
		w.t.Errorf("%s(%v): %q does not say %q", name, args, err, want)
	} else if strings.Contains(err.Error(), name+": "+name+": ") {
		w.t.Errorf("%s(%v): %q names the tool twice", name, args, err)
	}
}

func (w *world) put(name, data string) {
	w.t.Helper()
	full := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(data), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) get(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func keys(o object) []string { return slices.Sorted(maps.Keys(o)) }

// noLibrary is an environment whose guest library is gone.
type noLibrary struct{ backend.Backend }

func (b noLibrary) Info() backend.Info {
	info := b.Backend.Info()
	info.Library = "/nonexistent"
	return info
}
