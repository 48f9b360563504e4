package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
)

// candidate is an interpreter that may be used.
type candidate struct {
	path string
	args []string // before its own: a launcher wants to know which interpreter
	from string   // why it is one, for messages
}

// String is the candidate as a user would start it.
func (c candidate) String() string { return strings.Join(append([]string{c.path}, c.args...), " ") }

// candidateWait is how long an interpreter gets that is not the last one. It takes 10 ms where
// nothing is wrong, and seconds on a network file system.
const candidateWait = 10 * time.Second

// errSlow is why one is passed over that took longer.
var errSlow = fmt.Errorf("it did not start within %s", candidateWait)

// patience bounds the start of the first of so many candidates. One that hangs must not be the end of
// the others, but how long it gets is no matter of the caller's time: which interpreter runs must not
// depend on that, and a session that was in a hurry once would keep the wrong one.
func patience(ctx context.Context, candidates int) (context.Context, context.CancelFunc) {
	if candidates > 1 {
		return context.WithTimeoutCause(ctx, candidateWait, errSlow)
	}
	return ctx, func() {}
}

// candidates lists interpreters in the order in which they are tried. An interpreter that was asked
// for is the only one.
func candidates(cfg Config) ([]candidate, error) {
	if cfg.Python != "" {
		path, err := explicit(cfg)
		if err != nil {
			return nil, err
		}
		return []candidate{{path: path, from: "asked for"}}, nil
	}
	var list []candidate
	environments := []string{"VIRTUAL_ENV", "CONDA_PREFIX"}
	if !cfg.Strict {
		for _, name := range environments {
			if prefix := cfg.Env[name]; prefix != "" {
				list = append(list, candidate{path: filepath.Join(prefix, "bin", "python3"), from: name})
			}
		}
	}
	for _, name := range []string{"python3", "python"} {
		for _, path := range lookAll(name, cfg.Env["PATH"]) {
			if cfg.Strict && slices.ContainsFunc(environments, func(v string) bool { return within(path, cfg.Env[v]) }) {
				continue
			}
			list = append(list, candidate{path: path, from: "PATH"})
		}
	}
	return list, nil
}

func explicit(cfg Config) (string, error) {
	path := cfg.Python
	if home := cfg.Env["HOME"]; home != "" && strings.HasPrefix(path, "~/") {
		path = filepath.Join(home, path[2:])
	}
	if !strings.Contains(path, "/") {
		if found := lookAll(path, cfg.Env["PATH"]); len(found) > 0 {
			return found[0], nil
		}
		return "", backend.Advise(fmt.Errorf("%w: %s is not on PATH", backend.ErrNoPython, path),
			"name an interpreter by its path, or leave --python out: then python3 is looked for")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(cfg.Dir, path)
	}
	return path, nil
}

// lookAll finds every executable of that name on a search path.
func lookAll(name, searchPath string) []string {
	var found []string
	for _, dir := range filepath.SplitList(searchPath) {
		path := filepath.Join(dir, name)
		if filepath.IsAbs(path) && executable(path) && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	return found
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

func within(path, dir string) bool {
	return dir != "" && strings.HasPrefix(path, filepath.Clean(dir)+string(filepath.Separator))
}

// unstarted is why an interpreter did not start, without its path, which who tells it has named.
func unstarted(path string, err error) error {
	if of := (*fs.PathError)(nil); errors.As(err, &of) && of.Path == path {
		return of.Err
	}
	return err
}

// noPython explains a search that found nothing.
func noPython(passedOver []string) error {
	if len(passedOver) == 0 {
		return fmt.Errorf("%w: no python3 on PATH; install Python 3.8 or newer, or name one with --python", backend.ErrNoPython)
	}
	return fmt.Errorf("%w: %s; install Python 3.8 or newer, or name one with --python",
		backend.ErrNoPython, strings.Join(passedOver, "; "))
}

// shimEnv is what an interpreter, or the shim or launcher in its place, needs to start on that system.
// The script's own environment comes with each process.
func shimEnv(goos string, env map[string]string) map[string]string {
	needed := map[string]string{}
	for name, value := range env {
		switch {
		case name == "PATH", name == "HOME", name == "LANG", name == "TMPDIR", name == "TEMP", name == "TMP",
			strings.HasPrefix(name, "LC_"), strings.HasPrefix(name, "PYENV_"), strings.HasPrefix(name, "ASDF_"),
			goos == "windows" && winShim(name):
			needed[name] = value
		}
	}
	return needed
}
