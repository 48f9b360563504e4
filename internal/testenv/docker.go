package testenv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// image is what `make image` builds.
const image = "hermes-exec/python:3"

// Engine is a Docker engine that answers.
type Engine struct {
	Endpoint string // as DOCKER_HOST takes it
	Image    string // Python, git and a user that is not root: Dockerfile.python
}

// Docker returns the engine that the docker program talks to. Without one, or without the image
// that `make image` builds there, the test ends as with Missing.
func Docker(t testing.TB) Engine {
	t.Helper()
	endpoint, err := docker(nil, "context", "inspect", "--format", "{{.Endpoints.docker.Host}}")
	if err != nil {
		Missing(t, "docker", err.Error())
	}
	e := Engine{Endpoint: endpoint, Image: image}
	if _, err := e.docker(nil, "version"); err != nil {
		Missing(t, "docker", err.Error())
	}
	if _, err := e.docker(nil, "image", "inspect", image); err != nil {
		Missing(t, "docker", fmt.Sprintf("%v; make image builds it", err))
	}
	return e
}

// NoContainers waits until the engine has no container with the label, which is a key or KEY=VALUE,
// and fails with their names if some stay. One that has ended and was not removed counts.
func (e Engine) NoContainers(t testing.TB, label string) {
	t.Helper()
	var left []string
	defer func() {
		if t.Failed() && len(left) > 0 {
			t.Logf("left: %s", strings.Join(left, "; "))
		}
	}()
	Eventually(t, "all containers with label "+label+" are gone", func() bool {
		left = e.Containers(t, label)
		return len(left) == 0
	})
}

// Containers lists the containers with the label in whatever state, as "name (image, status)".
func (e Engine) Containers(t testing.TB, label string) []string {
	t.Helper()
	const format = "{{.Names}} ({{.Image}}, {{.Status}})"
	out := e.Docker(t, "ps", "--all", "--no-trunc", "--filter", "label="+label, "--format", format)
	return strings.FieldsFunc(out, func(r rune) bool { return r == '\n' })
}

// Container starts a container that is not the product's and returns its id. It does nothing, and goes
// with the test. The arguments are options of docker run and, as the last one, the image.
func (e Engine) Container(t testing.TB, args ...string) string {
	t.Helper()
	args = append([]string{"run", "--detach", "--init", "--entrypoint", "sleep"}, args...)
	id := e.Docker(t, append(args, "infinity")...)
	t.Cleanup(func() {
		// A test may have removed it.
		if _, err := e.docker(nil, "rm", "--force", id); err != nil && !strings.Contains(err.Error(), "No such container") {
			t.Error(err)
		}
	})
	return id
}

// Docker runs Docker's own program on this engine, past the product, and returns what it printed.
func (e Engine) Docker(t testing.TB, args ...string) string {
	t.Helper()
	out, err := e.docker(nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Try is Docker for what may fail.
func (e Engine) Try(args ...string) (string, error) { return e.docker(nil, args...) }

// docker runs Docker's own program on this engine, whatever the environment says by now.
func (e Engine) docker(stdin io.Reader, args ...string) (string, error) {
	return docker(stdin, append([]string{"--host", e.Endpoint}, args...)...)
}

// docker returns what the program printed, or what it complained of. Tests look at an engine past
// the product. It takes no context: a test's own has ended by the time of its cleanup.
func docker(stdin io.Reader, args ...string) (string, error) {
	cmd := exec.Command("docker", args...) //nolint:forbidigo // Not the product: see above.
	cmd.Stdin = stdin
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = errors.New(string(bytes.TrimSpace(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("docker %s: %w", strings.Join(args, " "), err)
	}
	return string(bytes.TrimSpace(out)), nil
}
