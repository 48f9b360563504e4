//go:build unix

// Package e2e tests the product against real environments that are not this machine. Tests of one
// environment stand in files that begin with its name.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend/all"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/owner"
	"github.com/hermes-exec/hermes-exec/internal/scripttest"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(binDir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		os.Exit(code)
	}))
}

// binDir is where the command is built; "" as long as no test has asked for it.
var binDir string

// command returns the path of the hermes-exec command of this tree.
var command = sync.OnceValues(func() (string, error) {
	var err error
	if binDir, err = os.MkdirTemp("", "hermes-exec-e2e-"); err != nil {
		return "", err
	}
	path := filepath.Join(binDir, "hermes-exec")
	if out, err := exec.Command("go", "build", "-o", path, "../cmd/hermes-exec").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the command: %w: %s", err, out)
	}
	return path, os.Chmod(binDir, 0o755) // other users call it too
})

// engine returns the Docker engine of this machine. At the end of the test no container of this process
// may be left there, so that the test has to be one that others do not run beside; what it runs itself
// may be parallel.
func engine(t *testing.T) testenv.Engine {
	t.Helper()
	e := testenv.Docker(t)
	t.Cleanup(func() { e.NoContainers(t, "hermes-exec.owner="+owner.Self().String()) })
	return e
}

// environ are the variables of a caller.
func environ() map[string]string {
	vars := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	return vars
}

// localPlace is this machine, for tables of scripts, with that directory for temporary files.
func localPlace(tmp string) scripttest.Place {
	return scripttest.Place{Name: "local", Transports: []string{"uds"}, Options: func(t *testing.T) hermes.Options {
		t.Helper()
		o := scripttest.Options(t)
		o.Environ["TMPDIR"] = tmp
		o.Openers = all.Openers(all.Host{Env: o.Environ, Dir: o.Dir})
		o.Settings.Python = testenv.Python(t)
		return o
	}}
}

// echo runs a script that prints a little, often in one environment.
func echo(t *testing.T, s config.Settings, vars map[string]string, runs int) {
	t.Helper()
	env, err := hermes.Open(t.Context(), hermes.Options{
		Settings: s, Environ: vars, Dir: vars["TMPDIR"], Openers: all.Openers(all.Host{Env: vars, Dir: vars["TMPDIR"]}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for range runs {
		if r := env.Run(t.Context(), hermes.Script{Code: []byte("print('x')")}); r.Status != hermes.Success || r.Output != "x\n" {
			t.Errorf("%s, output %q, error %q", r.Status, r.Output, r.Error)
		}
	}
	if err := env.Close(); err != nil {
		t.Error(err)
	}
}
