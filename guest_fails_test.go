//go:build unix

package hermes

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/local"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
	"github.com/hermes-exec/hermes-exec/tool"
)

// instead runs a shell script in place of each of the product's own programs.
type instead struct {
	backend.Backend
	script string
}

func (b instead) Start(ctx context.Context, cmd backend.Cmd) (backend.Process, error) {
	cmd.Args = []string{"/bin/sh", "-c", b.script}
	return b.Backend.Start(ctx, cmd)
}

// withGuest is an environment whose programs are a shell script.
func withGuest(t *testing.T, script string) *Env {
	t.Helper()
	dir := t.TempDir()
	b, err := local.Open(t.Context(), local.Config{Dir: dir, Env: map[string]string{"PATH": os.Getenv("PATH"), "HOME": dir}, Python: testenv.Python(t)})
	if err != nil {
		t.Fatal(err)
	}
	testenv.CloseAfter(t, b)
	return &Env{terms: &terms{toolset: &toolset{tools: &tool.Registry{}}}, environment: &environment{backend: instead{b, script}}}
}

// What the guest's programs say when they fail is in the error.
func TestReceiveTellsWhy(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	testenv.CloseAfter(t, root)
	for script, want := range map[string]string{
		"echo Traceback >&2; echo MemoryError >&2; exit 3": ": MemoryError",
		"printf %100s x; echo MemoryError >&2; exit 3":     ": MemoryError",
		"exit 3": "3",
		"head -c 1536 /dev/zero | tr '\\0' x; echo 1 >&2; exit 0": "tar: invalid tar header",
	} {
		r := &run{env: withGuest(t, script), artifacts: []Artifact{}}
		err := r.receive(t.Context(), root)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
}

func TestLookTellsWhy(t *testing.T) {
	for script, want := range map[string]string{
		"echo MemoryError >&2; exit 3": ": MemoryError",
		"exit 3":                       "3",
		"echo no JSON":                 "check the script: ",
	} {
		_, err := withGuest(t, script).look(t.Context(), []byte("pass"), lookAt{Alone: true})
		if err == nil || !strings.Contains(err.Error(), want) || strings.HasSuffix(err.Error(), " ") {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
}

// What a look tells is kept up to a limit: what comes behind it does not reach the host.
func TestLookIsBounded(t *testing.T) {
	const answer = `printf '{"findings":[]}'; head -c %d /dev/zero | tr '\0' ' '; printf x`
	for n, fails := range map[int]bool{maxFindings: false, 0: true} {
		script := strings.Replace(answer, "%d", strconv.Itoa(n), 1)
		if _, err := withGuest(t, script).look(t.Context(), []byte("pass"), lookAt{Alone: true}); (err != nil) != fails {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
