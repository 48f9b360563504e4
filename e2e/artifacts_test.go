//go:build unix

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/scripttest"
)

// TestDockerArtifacts and TestSSHArtifacts bring files back from where a script runs.
func TestDockerArtifacts(t *testing.T) {
	t.Parallel()
	testArtifacts(t, dockerPlaces(t))
}

func TestSSHArtifacts(t *testing.T) {
	t.Parallel()
	testArtifacts(t, sshPlaces(t))
}

func testArtifacts(t *testing.T, places []scripttest.Place) {
	t.Helper()
	const code = `
import os
d = os.environ["HERMES_ARTIFACTS"]
os.mkdir(d + "/sub")
with open(d + "/sub/big", "wb") as f: f.write(bytes(range(256)) * 40000)
with open(d + "/a.csv", "w") as f: f.write("a,b\n")
`
	big := make([]byte, 256*40000)
	for i := range big {
		big[i] = byte(i)
	}
	inEach(t, places, nil, func(t *testing.T, env *hermes.Env) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "out")
		got := env.Run(t.Context(), hermes.Script{Code: []byte(code), Artifacts: dir})
		want := []hermes.Artifact{
			{Path: dir + "/a.csv", Bytes: 4, MediaType: "text/csv; charset=utf-8"},
			{Path: dir + "/sub/big", Bytes: int64(len(big)), MediaType: "application/octet-stream"},
		}
		if len(got.Artifacts) != 2 || got.Artifacts[0] != want[0] || got.Artifacts[1] != want[1] || got.Warning != "" {
			t.Errorf("%v, want %v; %s %s", got.Artifacts, want, got.Warning, got.Error)
		}
		if data, err := os.ReadFile(dir + "/sub/big"); err != nil || !bytes.Equal(data, big) {
			t.Errorf("%d bytes, %v", len(data), err)
		}
	})
}

// TestDockerFigures and TestSSHFigures have matplotlib save its figures, with a stand-in for it that
// needs no installation there.
func TestDockerFigures(t *testing.T) {
	t.Parallel()
	testFigures(t, dockerPlaces(t))
}

func TestSSHFigures(t *testing.T) {
	t.Parallel()
	testFigures(t, sshPlaces(t))
}

func testFigures(t *testing.T, places []scripttest.Place) {
	t.Helper()
	fake, err := os.ReadFile("../python/testdata/fakeplot.py")
	if err != nil {
		t.Fatal(err)
	}
	code := append(fake, "import matplotlib.pyplot as plt\nplt.figure('shown')\nplt.show()\nplt.figure('late')\n"...)
	figures := func(o *hermes.Options) { o.Settings.Figures = true }
	inEach(t, places, figures, func(t *testing.T, env *hermes.Env) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "out")
		got := env.Run(t.Context(), hermes.Script{Code: code, Artifacts: dir})
		want := []hermes.Artifact{
			{Path: dir + "/figure-1.png", Bytes: 13, MediaType: "image/png"},
			{Path: dir + "/figure-2.png", Bytes: 12, MediaType: "image/png"},
		}
		if !slices.Equal(got.Artifacts, want) || got.Warning != "" {
			t.Errorf("%v, want %v; %s %s", got.Artifacts, want, got.Warning, got.Error)
		}
	})
}
