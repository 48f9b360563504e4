package scripttest

import (
	"maps"
	"os"
	"testing"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/config"
)

// Place is a kind of environment that a table runs in.
type Place struct {
	Name    string
	Options func(t *testing.T) hermes.Options // as Config has it
	Dir     string                            // as Config has it

	Transports []string          // nil: all
	Lacks      map[string]string // as Config has it
}

// Everywhere runs a table at every place over every transport. A row has to come to the same
// everywhere, which is what it came to at the first place.
func Everywhere(t *testing.T, table func(*testing.T, Config) Results, places ...Place) {
	t.Helper()
	var first Results
	for _, p := range places {
		transports := p.Transports
		if transports == nil {
			transports = []string{"uds", "tcp", "file"}
		}
		for _, transport := range transports {
			t.Run(p.Name+"/"+transport, func(t *testing.T) {
				got := table(t, Config{Options: p.Options, Dir: p.Dir, Transport: transport, Lacks: p.Lacks})
				if first == nil {
					first = got
				}
				Same(t, first, got)
			})
		}
	}
}

// Options are those of a caller in a directory of its own. They lack the environment: Openers, and the
// settings that choose one of them.
func Options(t testing.TB) hermes.Options {
	t.Helper()
	vars := map[string]string{"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "LANG": "C.UTF-8", "TMPDIR": os.TempDir()}
	maps.Copy(vars, Variables())
	o := hermes.Options{Settings: config.Defaults(), Environ: vars, Dir: t.TempDir()}
	o.Settings.Home = t.TempDir()
	o.Settings.Timeout = time.Minute
	return o
}
