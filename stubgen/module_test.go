package stubgen

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
	"github.com/hermes-exec/hermes-exec/python"
	"github.com/hermes-exec/hermes-exec/schema"
	"github.com/hermes-exec/hermes-exec/tool"
)

// P41, P56 and P176: the module as a script gets it, on every Python.
func TestModule(t *testing.T) {
	module, err := Generate(append(seven(), strange()))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "hermes_tools.py"), module, 0o600); err != nil {
		t.Fatal(err)
	}
	socket := serve(t)
	calls := everyParameter(append(seven(), strange()))
	for _, python := range testenv.Pythons(t) {
		if !python.Usable() {
			continue
		}
		t.Run(python.Version, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), python.Path, filepath.Join("testdata", "call.py"), encode(t, keywords(calls)))
			cmd.Env = []string{"PYTHONPATH=" + dir, "PYTHONDONTWRITEBYTECODE=1", "HERMES_RPC_SOCKET=" + socket, "HERMES_RPC_TOKEN=" + token}
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]answer
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			for name, args := range calls {
				want := answer{name, args}
				if name == "search" {
					want.Tool = "search_files"
				}
				if !reflect.DeepEqual(got[name], want) {
					t.Errorf("%s: the host got %v\nwant %v", name, got[name], want)
				}
			}
		})
	}
}

const token = "0123456789abcdef"

// answer is what the endpoint returns of a call.
type answer struct {
	Tool string         `json:"tool"`
	Args map[string]any `json:"args"`
}

// everyParameter returns a call of every function, with all arguments, by the names of the specs.
func everyParameter(specs []tool.Spec) map[string]map[string]any {
	values := map[tool.Type]any{
		tool.String: "é\"\\\n😀", tool.Integer: 7.0, tool.Number: 1.5, tool.StringList: []any{"x", "y"},
	}
	calls := map[string]map[string]any{}
	for _, s := range specs {
		args := map[string]any{}
		for _, p := range s.Params {
			args[p.Name] = values[p.Type]
			if p.Type == tool.Boolean {
				args[p.Name] = p.Default != true
			}
		}
		calls[s.Name] = args
		if s.Name == "search_files" {
			calls["search"] = args
		}
	}
	return calls
}

// keywords are calls by the names that parameters have in Python.
func keywords(calls map[string]map[string]any) map[string]map[string]any {
	renamed := map[string]map[string]any{}
	for name, args := range calls {
		renamed[name] = map[string]any{}
		for param, value := range args {
			renamed[name][tool.ParamName(param)] = value
		}
	}
	return renamed
}

func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// serve answers calls on a socket with what they are, and returns its path.
func serve(t *testing.T) string {
	dir, err := os.MkdirTemp("", "stub") //nolint:usetesting // t.TempDir can be too long for a socket.
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { answerLines(t, conn) })
		}
	})
	t.Cleanup(func() {
		if err := errors.Join(l.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
	return l.Addr().String()
}

func answerLines(t *testing.T, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		var request struct {
			ID    int64
			Token string
			answer
		}
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil || request.Token != token {
			t.Errorf("request %s: %v", lines.Bytes(), err)
			return
		}
		if err := json.NewEncoder(conn).Encode(map[string]any{"id": request.ID, "result": request.answer}); err != nil {
			t.Errorf("answer: %v", err)
		}
	}
}

// P176: what the schema says of the helpers works as it stands there, after a future import too.
func TestSchemaInstructionsWork(t *testing.T) {
	text, err := schema.Description(schema.Options{})
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`from hermes_tools import [a-z_, ]+`).FindString(text)
	module, err := Generate(nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "hermes_tools.py"), module, 0o600); err != nil {
		t.Fatal(err)
	}
	code := "from __future__ import annotations\n" + line + `
tries = []
def fn():
    tries.append(1)
    if len(tries) < 3: raise OSError
    return len(tries)
print(json_parse("plain"), json_parse('["\t"]'), shell_quote("a b"), retry(fn, max_attempts=3, delay=0))
`
	cmd := exec.CommandContext(t.Context(), testenv.Python(t), "-c", code)
	cmd.Env = []string{"PYTHONPATH=" + dir, "PYTHONDONTWRITEBYTECODE=1"}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if want := "plain ['\\t'] 'a b' 3\n"; err != nil || string(out) != want {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
}

// A tool must not take a name that the runtime uses: it would replace what the runtime means by it.
func TestRuntimeNamesAreReserved(t *testing.T) {
	runtime, err := python.Stub()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), testenv.Python(t), "-I", filepath.Join("testdata", "globals.py"))
	cmd.Stdin = bytes.NewReader(runtime)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(out))
	if len(names) < 10 {
		t.Fatalf("the runtime uses %q", names)
	}
	for _, name := range names {
		if err := tool.CheckSpec(tool.Spec{Name: name}); err == nil {
			t.Errorf("a tool can be called %s", name)
		}
	}
}
