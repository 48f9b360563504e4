package hermes

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/config"
)

// identity says whose state a kernel holds: that of an interpreter in a target of a backend. A cell
// that asks for another one cannot run in it.
type identity struct {
	url    string // of the environment, without the directory
	python string // what chooses the interpreter, where that is the host's business
	access string // what leads to the target, where that is another machine
}

// accessVariables are those of the caller that lead to Docker and to SSH hosts.
func accessVariables() []string {
	return []string{"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "SSH_AUTH_SOCK"}
}

// identify finds the identity of what o names, if that is an environment like info.
func identify(o Options, info backend.Info) identity {
	id := identity{url: o.Settings.Target("").String()}
	switch {
	case !info.SameHost:
		id.access = values(o.Environ, accessVariables())
		if o.Settings.Relative() {
			id.access += "directory=" + o.Dir
		}
	case o.Settings.Python == "" && o.Settings.Mode == config.Strict:
		id.python = pythonOnPath(o.Environ["PATH"])
	case o.Settings.Python == "":
		id.python = cmp.Or(values(o.Environ, []string{"VIRTUAL_ENV", "CONDA_PREFIX"}), pythonOnPath(o.Environ["PATH"]))
	}
	return id
}

// values writes down variables.
func values(environ map[string]string, names []string) string {
	var b strings.Builder
	for _, name := range names {
		if value := environ[name]; value != "" {
			b.WriteString(name + "=" + value + "\n")
		}
	}
	return b.String()
}

// pythonOnPath is the first python3 that PATH leads to. It is compared, never run.
func pythonOnPath(list string) string {
	for _, dir := range filepath.SplitList(list) {
		for _, name := range []string{"python3", "python.exe"} {
			file := filepath.Join(dir, name)
			if is, err := os.Stat(file); err == nil && !is.IsDir() {
				return file
			}
		}
	}
	return ""
}

// spawn is what else a new kernel depends on. One that lives keeps what it has.
type spawn struct {
	environ     map[string]string
	set         map[string]string
	passthrough []string
	reserved    []string
	directories []config.Dir
	timezone    string
	transport   string
	maxLine     int64
	parallel    int
	grace       time.Duration
}

func spawnOf(o Options) spawn {
	s := o.Settings
	passthrough, set := s.Environment(o.Environ)
	return spawn{
		environ: maps.Clone(o.Environ), set: set, passthrough: passthrough, reserved: slices.Clone(s.ReservedEnv),
		directories: directories(o, true), timezone: s.Timezone, transport: s.Transport, maxLine: s.MaxLine,
		parallel: s.MaxParallelToolCalls, grace: s.KillGrace,
	}
}

func (s spawn) same(other spawn) bool { return reflect.DeepEqual(s, other) }
