//go:build unix

package local_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/backend/local"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
	"github.com/hermes-exec/hermes-exec/python"
)

// TestDamagedLibrary: bytecode that cannot be loaded, of the first module, of a later one or in the bundle,
// costs one start that is slower, after which the library is as it should be.
func TestDamagedLibrary(t *testing.T) {
	t.Parallel()
	const header = 16 // bytes of a .pyc that say what it was compiled from
	spoil := func(t *testing.T, file string) {
		t.Helper()
		code, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, append(code[:header], "damaged"...), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, damage := range map[string]func(t *testing.T, library string){
		"bootstrap": func(t *testing.T, library string) {
			spoil(t, only(t, library, python.Package, "__pycache__", "bootstrap.*.pyc"))
		},
		"agent": func(t *testing.T, library string) {
			if err := os.Remove(only(t, library, "agent-*")); err != nil {
				t.Fatal(err)
			}
			spoil(t, only(t, library, python.Package, "__pycache__", "agent.*.pyc"))
		},
		"bundle": func(t *testing.T, library string) {
			const rewrite = "import marshal,sys\n" +
				"code=marshal.load(open(sys.argv[1],'rb'));code['_hermes_exec.agent']=b'damaged'\n" +
				"marshal.dump(code,open(sys.argv[1],'wb'))"
			file := only(t, library, "agent-*")
			if out, err := exec.Command(testenv.Python(t), "-I", "-S", "-c", rewrite, file).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := testenv.Environ()
			env["HERMES_HOME"] = t.TempDir()
			kept := filepath.Join(env["HERMES_HOME"], "cache", "guest")
			used := libraryOf(t, env)
			if !strings.HasPrefix(used, kept) {
				t.Fatalf("the first start uses %s, not what is kept in %s", used, kept)
			}
			damage(t, used)
			if used := libraryOf(t, env); strings.HasPrefix(used, kept) {
				t.Errorf("a start uses %s, which is damaged", used)
			}
			if used := libraryOf(t, env); !strings.HasPrefix(used, kept) {
				t.Errorf("the start after that uses %s, not what is kept in %s", used, kept)
			}
		})
	}
}

// only is the one file that matches.
func only(t *testing.T, pattern ...string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil || len(found) != 1 {
		t.Fatalf("files like %s: %v, %v", filepath.Join(pattern...), found, err)
	}
	return found[0]
}

// TestUnusedLibraries: one version's library goes when nobody has used it for a month, whenever it was
// installed.
func TestUnusedLibraries(t *testing.T) {
	t.Parallel()
	env := testenv.Environ()
	env["HERMES_HOME"] = t.TempDir()
	used := libraryOf(t, env)
	month := 30 * 24 * time.Hour
	age := func(dir string, by time.Duration) {
		t.Helper()
		if err := os.Chtimes(dir, time.Time{}, time.Now().Add(-by)); err != nil {
			t.Fatal(err)
		}
	}
	age(used, month+time.Hour)
	libraryOf(t, env)
	info, err := os.Stat(used)
	if err != nil {
		t.Fatal(err)
	}
	if time.Since(info.ModTime()) > time.Hour {
		t.Errorf("a use is not written down: %v", info.ModTime())
	}
	unused, lately := used+"-unused", used+"-lately"
	for _, dir := range []string{unused, lately} {
		if err := os.Rename(used, dir); err != nil {
			t.Fatal(err)
		}
		libraryOf(t, env) // installs it again
	}
	age(unused, month+time.Hour)
	age(lately, month-time.Hour)
	if err := os.RemoveAll(used); err != nil {
		t.Fatal(err)
	}
	libraryOf(t, env)
	for dir, want := range map[string]bool{used: true, lately: true, unused: false} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s is there: %v; want %v", filepath.Base(dir), err == nil, want)
		}
	}
}

// libraryOf opens an environment and returns where its library lies.
func libraryOf(t *testing.T, env map[string]string) string {
	t.Helper()
	b, err := local.Open(t.Context(), local.Config{Dir: t.TempDir(), Env: env, Python: testenv.Python(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	return b.Info().Library
}
