package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// platform is what Go calls GOOS and GOARCH.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "_" + p.arch }

// program is the file of the program for a platform.
func (p platform) program() string {
	if p.os == "windows" {
		return name + ".exe"
	}
	return name
}

func platforms() []platform {
	var all []platform
	for _, goos := range []string{"darwin", "linux", "windows"} {
		all = append(all, platform{goos, "amd64"}, platform{goos, "arm64"})
	}
	return all
}

// program is the program for a platform, with what the linker has put into it.
type program struct {
	platform
	data []byte
	info *debug.BuildInfo
}

// source is a tree of hermes-exec.
type source struct {
	root string
	tags string // of the build, separated by commas
}

// build builds the program for all platforms below temp.
func (s source) build(ctx context.Context, id identity, temp string) ([]program, error) {
	all := platforms()
	programs := make([]program, len(all))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2) // half of a build is one linker; go itself compiles in parallel
	for i, p := range all {
		g.Go(func() error {
			file := filepath.Join(temp, p.String(), p.program())
			if err := s.buildFor(ctx, id, p, file); err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			info, err := buildinfo.Read(bytes.NewReader(data))
			programs[i] = program{p, data, info}
			return err
		})
	}
	return programs, g.Wait()
}

// buildFor builds the program for a platform. What changes its bytes is said here, whatever the
// environment has: also the lowest processor that is to run it.
func (s source) buildFor(ctx context.Context, id identity, p platform, file string) error {
	flags := "-s -w -X main.version=" + id.version
	if id.revision != "" {
		flags += " -X main.revision=" + id.revision
	}
	_, err := commandEnv(ctx, s.root, []string{
		"GOOS=" + p.os, "GOARCH=" + p.arch, "GOAMD64=v1", "GOARM64=v8.0", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off",
		"GOEXPERIMENT=", "GOFIPS140=off",
	}, "go", "build", "-trimpath", "-buildvcs=false", "-tags", s.tags, "-ldflags", flags, "-o", file, "./cmd/hermes-exec")
	return err
}

// contents is what comes with the program.
type contents struct {
	license, readme, man, notices []byte
	completions                   map[string][]byte  // by shell
	licenses                      map[string]license // by module
}

// contents gathers it from the tree, the module cache and the program itself.
func (s source) contents(ctx context.Context, programs []program, temp string) (contents, error) {
	c := contents{completions: map[string][]byte{}}
	var err error
	if c.license, err = os.ReadFile(filepath.Join(s.root, "LICENSE")); err != nil {
		return c, err
	}
	if c.readme, err = os.ReadFile(filepath.Join(s.root, "README.md")); err != nil {
		return c, err
	}
	here := platform{runtime.GOOS, runtime.GOARCH}
	if !slices.Contains(platforms(), here) {
		return c, fmt.Errorf("a release cannot be built on %s, where hermes-exec does not run", here)
	}
	own := filepath.Join(temp, here.String(), here.program())
	man, err := command(ctx, temp, own, "man")
	if err != nil {
		return c, err
	}
	c.man = []byte(man + "\n")
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		text, err := command(ctx, temp, own, "completion", shell)
		if err != nil {
			return c, err
		}
		c.completions[shell] = []byte(text + "\n")
	}
	c.licenses, err = s.licenses(ctx, modules(programs))
	c.notices = notices(c.licenses)
	return c, err
}

// command runs a program in dir and returns what it prints, without the last newlines.
func command(ctx context.Context, dir string, args ...string) (string, error) {
	return commandEnv(ctx, dir, nil, args...)
}

// commandEnv is command with changes to the environment.
func commandEnv(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		err = errors.Join(fmt.Errorf("%s: %w", strings.Join(args, " "), err), errors.New(strings.TrimSpace(errOut.String())))
	}
	return strings.TrimRight(string(out), "\n"), err
}
