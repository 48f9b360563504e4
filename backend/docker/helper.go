package docker

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/docker/cli/cli/config/types"
	"github.com/docker/docker-credential-helpers/client"
	"github.com/docker/docker-credential-helpers/credentials"
)

// helperGrace is how long a credential helper that is killed may hold on to its output.
const helperGrace = time.Second

var _ client.Program = (*helper)(nil)

// helper is a program that knows credentials. It is found and run with the caller's variables, and may ask
// somebody, but not longer than its context lasts.
type helper struct{ cmd *exec.Cmd }

// ask has a credential helper say what it knows about a registry.
func (e *engine) ask(ctx context.Context, name, host string) (types.AuthConfig, error) {
	name = "docker-credential-" + name
	path := onPath(name, e.env["PATH"])
	if path == "" {
		return types.AuthConfig{}, fmt.Errorf("%s is not on PATH", name)
	}
	got, err := client.Get(func(args ...string) client.Program { return e.helper(ctx, path, args) }, host)
	switch {
	case credentials.IsErrCredentialsNotFound(err):
		return types.AuthConfig{}, nil
	case err != nil:
		return types.AuthConfig{}, fmt.Errorf("%s: %w", name, err)
	case got.Username == "<token>":
		return types.AuthConfig{ServerAddress: host, IdentityToken: got.Secret}, nil
	}
	return types.AuthConfig{ServerAddress: host, Username: got.Username, Password: got.Secret}, nil
}

func (e *engine) helper(ctx context.Context, path string, args []string) *helper {
	cmd := exec.CommandContext(ctx, path, args...) //nolint:forbidigo // no script, and no part of one
	for name, value := range e.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.WaitDelay = helperGrace
	return &helper{cmd}
}

// onPath is where a search path leads for a program, "" if it is not there. The one of this process is not
// asked.
func onPath(name, list string) string {
	if runtime.GOOS == "windows" {
		return name // there the extensions matter too
	}
	for _, dir := range filepath.SplitList(list) {
		path := filepath.Join(dir, name)
		if found, err := exec.LookPath(path); err == nil && filepath.IsAbs(path) {
			return found
		}
	}
	return ""
}

// Input implements client.Program.
func (h *helper) Input(in io.Reader) { h.cmd.Stdin = in }

// Output implements client.Program.
func (h *helper) Output() ([]byte, error) { return h.cmd.Output() }
