package hermes

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/environ"
	"github.com/hermes-exec/hermes-exec/internal/output"
	"github.com/hermes-exec/hermes-exec/internal/web"
	"github.com/hermes-exec/hermes-exec/tool"
)

// stubName is the module of the tools in a staging directory.
const stubName = "hermes_tools.py"

// newStaging is a staging directory that comes with the first file in it.
func (e *Env) newStaging() string {
	return path.Join(e.Info().Scratch, "hermes_sandbox_"+strings.ToLower(rand.Text()[:12]))
}

// staged is what a run finds there: the module of the tools.
func (e *Env) staged(dir string) []backend.File {
	return []backend.File{{Name: path.Join(dir, stubName), Data: e.stub, Mode: 0o600}}
}

// stage makes the staging directory of a session, with the modules that it needs in it.
func (e *Env) stage(ctx context.Context) (string, error) {
	dir := e.newStaging()
	for _, f := range e.staged(dir) {
		if err := e.backend.Put(ctx, f.Name, bytes.NewReader(f.Data), f.Mode); err != nil {
			return "", fmt.Errorf("stage %s: %w", path.Base(f.Name), err)
		}
	}
	return dir, nil
}

// shadowing warns of a module beside a script run in place that Python takes for the run's own: the
// directory of the script comes first.
func shadowing(script string) []string {
	if script == "" {
		return nil
	}
	if target, err := filepath.EvalSymlinks(script); err == nil {
		script = target // as Python does
	}
	for _, name := range []string{stubName, "hermes_tools/__init__.py"} {
		found := filepath.Join(filepath.Dir(script), name)
		if _, err := os.Stat(found); err == nil {
			return []string{found + " stands in for the hermes_tools of this run, so that tool calls may fail: rename or remove it"}
		}
	}
	return nil
}

// home is where a script runs that is staged in a directory.
func (e *Env) home(staging string) string {
	if e.options.Settings.Mode == config.Strict {
		return staging
	}
	return e.Info().Dir
}

// leave gives up the staging directory of a run that is over. It goes with the scratch when the
// environment is closed, or when the next run begins: a single run does not wait for that.
func (e *Env) leave(staging string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stale = append(e.stale, staging)
}

// sweep removes the staging directories of runs that are over, in the background. If that fails they
// go with the scratch.
func (e *Env) sweep() {
	e.mu.Lock()
	stale := e.stale
	e.stale = nil
	e.mu.Unlock()
	if len(stale) == 0 {
		return
	}
	leave, err := e.enter()
	if err != nil {
		return
	}
	go func() {
		defer leave()
		const code = "import shutil,sys\nfor d in sys.argv[1:]: shutil.rmtree(d, True)"
		cmd := backend.Cmd{Args: append([]string{e.Info().Python.Path, "-I", "-S", "-c", code}, stale...), Dir: e.Info().Scratch}
		if _, err := backend.Run(e.life, e.backend, cmd, nil); err != nil {
			e.log.DebugContext(e.life, "remove staging directories", "error", err)
		}
	}()
}

// environ builds the variables of a script that is staged in a directory, or of what runs for it.
func (e *Env) environ(staging string, rpc map[string]string) (map[string]string, environ.Report) {
	return e.environFrom(e.backend.Info().Env, staging, rpc)
}

// environFrom is environ for a process that would inherit base.
func (e *Env) environFrom(base map[string]string, staging string, rpc map[string]string) (map[string]string, environ.Report) {
	s, info := e.options.Settings, e.backend.Info()
	passthrough, set := s.Environment(e.options.Environ)
	o := environ.Options{
		OS: info.OS, Passthrough: passthrough, Named: s.EnvNamed, Set: set, Reserved: s.ReservedEnv,
		Python: info.Python.Path, Staging: staging, Strict: s.Mode == config.Strict,
		Home: info.Scratch, HomeBad: info.NoHome, Timezone: s.Timezone, NoZones: info.NoZones, RPC: rpc,
	}
	if !o.Strict {
		o.Cwd = info.Dir
	}
	if !info.SameHost {
		o.Host = e.options.Environ
	}
	return environ.Build(base, o)
}

// keep is what tools may read on the host, and where they may put what is too long.
func (e *Env) keep(named []string, secrets *output.Secrets) *kept {
	return &kept{cache: e.cache, limit: e.options.Settings.MaxSpill, secrets: secrets, named: named}
}

// toolEnv is where tool calls act.
func (e *Env) toolEnv(b backend.Backend, vars map[string]string, dir string, k *kept) *tool.Env {
	t := &tool.Env{
		Backend: b, Dir: dir, Environ: vars, Grace: e.options.Settings.KillGrace, Files: e.files,
		Spills: k.has, Pages: &web.Cache{},
	}
	if k.cache != nil {
		t.Keep = k.store
	}
	return t
}
