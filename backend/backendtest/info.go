package backendtest

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

func infoCases() []testCase {
	return []testCase{
		{"info facts", infoFacts},
		{"info python is proven", infoPython},
		{"info library can be imported", infoLibrary},
	}
}

// perm turns a number as chmod takes it into a FileMode.
func perm(mode int) fs.FileMode { return fs.FileMode(mode) & fs.ModePerm }

// stat tells what a path is inside the environment. Its zero value is a path that is not there.
type stat struct {
	Kind, Target   string // "file", "dir", "link", "fifo", "socket" or "other"; of a link
	Mode           int
	Size, Dev, Ino int64
}

// stat looks at paths from inside, without following symlinks.
func (e *env) stat(ctx context.Context, names ...string) []stat {
	e.Helper()
	var found []stat
	if err := json.Unmarshal([]byte(e.output(ctx, e.script("stat.py", names...))), &found); err != nil {
		e.Fatalf("stat: %v", err)
	}
	return found
}

func infoFacts(ctx context.Context, e *env) {
	info := e.Info()
	if info.Name == "" || info.Target == "" || info.OS == "" || info.Env["PATH"] == "" {
		e.Errorf("facts are missing: %+v", info)
	}
	if path.Dir(info.Scratch) != path.Clean(info.Temp) {
		e.Errorf("scratch %s is not in the temporary directory %s", info.Scratch, info.Temp)
	}
	found := e.stat(ctx, info.Dir, info.Temp, info.Scratch)
	for i, want := range []string{"dir", "dir", "dir"} {
		if found[i].Kind != want {
			e.Errorf("%d: %+v, want a %s", i, found[i], want)
		}
	}
	if _, err := os.Stat(info.Scratch); info.SameHost && err != nil {
		e.Errorf("this host does not see the scratch: %v", err)
	}
	if found[2].Mode != 0o700 {
		e.Errorf("scratch has mode %o", found[2].Mode)
	}
}

func infoPython(ctx context.Context, e *env) {
	python := e.Info().Python
	// A shim runs another binary, which then calls itself by its own name.
	code := "import os,sys;print(os.path.realpath(sys.executable)==os.path.realpath(sys.argv[1]),'%d.%d.%d'%sys.version_info[:3])"
	if got := e.output(ctx, e.py(code, python.Path)); got != "True "+python.Version+"\n" || !path.IsAbs(python.Path) {
		e.Errorf("%+v: got %q", python, got)
	}
	major, rest, _ := strings.Cut(python.Version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	if n, err := strconv.Atoi(minor); major != "3" || err != nil || n < 8 {
		e.Errorf("version %q", python.Version)
	}
}

func infoLibrary(ctx context.Context, e *env) {
	cmd := e.py("")
	cmd.Args = []string{
		e.Info().Python.Path, "-I", "-S", "-c",
		"import sys;sys.path.insert(0,sys.argv[1]);import _hermes_exec;print('imported')", e.Info().Library,
	}
	if got := e.output(ctx, cmd); got != "imported\n" {
		e.Errorf("got %q", got)
	}
}
