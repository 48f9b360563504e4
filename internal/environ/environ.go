// Package environ builds the environment variables of what runs for a script: the script itself, a
// kernel, and the children of terminal. There is one builder for all of them, so that none can get
// what another is denied.
//
// It is an allow-list. What a variable is called decides, and for URLs what they hold; nothing is
// read from the process that builds.
package environ

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hermes-exec/hermes-exec/config"
)

// Options say what the environment is for. All paths are the environment's own.
type Options struct {
	OS string // as runtime.GOOS spells it

	Passthrough []string          // exact names to readmit
	Named       []string          // those of them whose absence is a warning: config.Settings.EnvNamed
	Set         map[string]string // variables to set: --env NAME=value, docker_env, ssh_env
	Reserved    []string          // config.Settings.ReservedEnv

	// Host are the variables of this machine, where the environment is another one: of them the
	// script gets what Passthrough names, and nothing else. nil if the environment is this machine.
	Host map[string]string

	// Python is the path of the interpreter in use: VIRTUAL_ENV and CONDA_PREFIX are kept only if
	// it is theirs. "" drops both.
	Python string

	Staging string // first on PYTHONPATH; "" is none
	Cwd     string // second on PYTHONPATH: for a staged script in project mode; "" is none
	Strict  bool   // leaves the user's PYTHONPATH out

	Home     string            // for HOME, where that is missing or HomeBad is set; "" leaves it
	HomeBad  bool              // HOME is there, but cannot be written to
	Timezone string            // for TZ; "" leaves it
	NoZones  bool              // every zone would be UTC there
	RPC      map[string]string // the variables of the endpoint
}

// Report tells what was done to an environment. It holds names, never values.
type Report struct {
	Dropped  []string // sorted
	Warnings []string // for the result
}

// Debug are the lines for the debug log.
func (r Report) Debug() []string {
	var hermes, other []string
	for _, name := range r.Dropped {
		if strings.HasPrefix(name, "HERMES_") {
			hermes = append(hermes, name)
		} else {
			other = append(other, name)
		}
	}
	var lines []string
	if len(hermes) > 0 {
		lines = append(lines, fmt.Sprintf("execute_code: dropped %d non-allowlisted HERMES_* var(s): %s (see terminal.env_passthrough)",
			len(hermes), strings.Join(hermes, ", ")))
	}
	if len(other) > 0 {
		lines = append(lines, fmt.Sprintf("execute_code: dropped %d other var(s): %s", len(other), strings.Join(other, ", ")))
	}
	return lines
}

// Build filters base, the variables that a process of the environment would inherit, and adds what
// o says. It does not change base.
func Build(base map[string]string, o Options) (map[string]string, Report) {
	b := &builder{Options: o, env: map[string]string{}}
	asked := b.asked()
	for _, name := range slices.Sorted(maps.Keys(base)) {
		value := base[name]
		if !valid(name, value) {
			continue
		}
		if asked[b.fold(name)] || b.keep(name, value) {
			b.set(name, value)
		} else {
			b.report.Dropped = append(b.report.Dropped, name)
		}
	}
	for name, value := range o.Host {
		if asked[b.fold(name)] && valid(name, value) {
			b.give(name, value)
		}
	}
	b.add()
	b.missed()
	return b.env, b.report
}

// builder is one Build.
type builder struct {
	Options
	env    map[string]string
	report Report
}

// fold makes names comparable: on Windows their case does not count.
func (b *builder) fold(name string) string {
	if b.OS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

// set puts a variable in place of one whose name differs in case only, on Windows.
func (b *builder) set(name, value string) {
	if b.OS == "windows" {
		for other := range b.env {
			if strings.EqualFold(other, name) {
				delete(b.env, other)
			}
		}
	}
	b.env[name] = value
}

// get looks a variable of the result up; name is in capitals.
func (b *builder) get(name string) string {
	for other, value := range b.env {
		if b.fold(other) == name {
			return value
		}
	}
	return ""
}

// asked are the names that pass because somebody asked, folded. What nobody may have is refused.
func (b *builder) asked() map[string]bool {
	asked := map[string]bool{}
	for _, name := range b.Passthrough {
		if !b.refused(name) {
			asked[b.fold(name)] = true
		}
	}
	return asked
}

// missed warns of names that somebody asked for and nobody has.
func (b *builder) missed() {
	for _, name := range b.Named {
		is := func(other string) bool { return b.fold(other) == b.fold(name) }
		if !b.refused(name) && !slices.ContainsFunc(slices.Collect(maps.Keys(b.env)), is) {
			b.report.Warnings = append(b.report.Warnings,
				fmt.Sprintf("%s was not passed to the script: it is not set here; --env %[1]s=VALUE sets it", name))
		}
	}
}

// refused tells whether a script may not have a variable even if somebody asked for it, and warns.
func (b *builder) refused(name string) bool {
	var why string
	switch {
	case internal(strings.ToUpper(name)):
		why = "hermes-exec sets it itself"
	case config.IsCredential(name, b.Reserved):
		why = "it is one of the agent's own credentials"
	default:
		return false
	}
	warning := fmt.Sprintf("%s was not passed to the script: %s", name, why)
	if !slices.Contains(b.report.Warnings, warning) {
		b.report.Warnings = append(b.report.Warnings, warning)
	}
	return true
}

// valid tells whether a process can be given the variable at all. Windows has variables with an
// empty name, such as =C:, which belong to its shell.
func valid(name, value string) bool {
	return name != "" && !strings.ContainsAny(name, "=\x00") && !strings.ContainsRune(value, 0)
}

// keep tells whether the filter keeps a variable that nobody asked for.
func (b *builder) keep(name, value string) bool {
	switch folded := b.fold(name); {
	case !Kept(name, b.OS):
		return false
	case folded == "VIRTUAL_ENV" || folded == "CONDA_PREFIX":
		return ownsInterpreter(value, b.Python, b.OS)
	case folded == "PYTHONPATH":
		return !b.Strict
	default:
		return !hasUserInfo(value)
	}
}

// hasUserInfo tells whether a value holds a URL with a user, as those of databases do. What a
// password may look like is not looked at: an @ after a scheme is enough.
func hasUserInfo(value string) bool {
	_, rest, found := strings.Cut(value, "://")
	return found && strings.Contains(rest, "@")
}
