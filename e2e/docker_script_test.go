//go:build unix

package e2e

import (
	"os"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend/all"
	"github.com/hermes-exec/hermes-exec/internal/scripttest"
)

// TestDockerScripts runs the table of scripts in containers, whose results are those of this machine.
func TestDockerScripts(t *testing.T) {
	scripttest.Everywhere(t, scripttest.TestScripts, dockerPlaces(t)...)
}

// TestDockerCells runs the table of sessions in containers, whose results are those of this machine.
func TestDockerCells(t *testing.T) {
	scripttest.Everywhere(t, scripttest.TestCells, dockerPlaces(t)...)
}

// dockerPlaces are this machine, whose results are those to come to, and containers.
func dockerPlaces(t *testing.T) []scripttest.Place {
	t.Helper()
	e := engine(t)
	image := e.Variables(t, "scripts", scripttest.Variables())
	return []scripttest.Place{
		localPlace(os.TempDir()),
		{Name: "docker", Dir: "/work", Options: func(t *testing.T) hermes.Options {
			o := scripttest.Options(t)
			o.Environ["DOCKER_HOST"] = e.Endpoint
			o.Openers = all.Openers(all.Host{Env: o.Environ, Dir: o.Dir})
			o.Settings.Backend, o.Settings.Docker.Image = "docker", image
			return o
		}},
	}
}
