//go:build unix

package e2e

import (
	"os"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend/all"
	"github.com/hermes-exec/hermes-exec/internal/scripttest"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// TestDockerScripts runs the table of scripts in containers, whose results are those of this machine.
func TestDockerScripts(t *testing.T) {
	scripttest.Everywhere(t, scripttest.TestScripts, dockerPlaces(t)...)
}

// TestDockerCells runs the table of sessions in containers, whose results are those of this machine.
func TestDockerCells(t *testing.T) {
	scripttest.Everywhere(t, scripttest.TestCells, dockerPlaces(t)...)
}

// inEach calls test with an environment at each place, beside each other. Set changes what it is opened with;
// nil: nothing.
func inEach(t *testing.T, places []scripttest.Place, set func(*hermes.Options), test func(t *testing.T, env *hermes.Env)) {
	t.Helper()
	for _, p := range places {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			o := p.Options(t)
			if set != nil {
				set(&o)
			}
			env, err := hermes.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			testenv.CloseAfter(t, env)
			test(t, env)
		})
	}
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
