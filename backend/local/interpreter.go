package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-exec/hermes-exec/backend"
)

// candidate is an interpreter that may be used.
type candidate struct {
	path string
	from string // why it is one, for messages
}

// candidates lists interpreters in the order in which they are tried. An interpreter that was asked
// for is the only one.
func candidates(cfg Config) ([]candidate, error) {
	if cfg.Python != "" {
		path, err := explicit(cfg)
		if err != nil {
			return nil, err
		}
		return []candidate{{path, "asked for"}}, nil
	}
	var list []candidate
	environments := []string{"VIRTUAL_ENV", "CONDA_PREFIX"}
	if !cfg.Strict {
		for _, name := range environments {
			if prefix := cfg.Env[name]; prefix != "" {
				list = append(list, candidate{filepath.Join(prefix, "bin", "python3"), name})
			}
		}
	}
	for _, name := range []string{"python3", "python"} {
		for _, path := range lookAll(name, cfg.Env["PATH"]) {
			if cfg.Strict && slices.ContainsFunc(environments, func(v string) bool { return within(path, cfg.Env[v]) }) {
				continue
			}
			list = append(list, candidate{path, "PATH"})
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
		return "", fmt.Errorf("%w: %s is not on PATH", backend.ErrNoPython, path)
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

// noPython explains a search that found nothing.
func noPython(passedOver []string) error {
	if len(passedOver) == 0 {
		return fmt.Errorf("%w: no python3 on PATH; install Python 3.8 or newer, or name one with --python", backend.ErrNoPython)
	}
	return fmt.Errorf("%w: %s; install Python 3.8 or newer, or name one with --python",
		backend.ErrNoPython, strings.Join(passedOver, "; "))
}
