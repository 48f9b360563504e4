package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hashicorp/go-multierror"
)

// envPrefix and a flag's name in capitals is the variable that stands for the flag.
const envPrefix = "HERMES_EXEC_"

// Flag is one flag of the command line. A flag that takes a list is given once an item; the value
// of a switch is "true" or "false".
type Flag struct {
	Name  string // without dashes
	Value string
}

// Input is all that settings are computed from.
type Input struct {
	Flags    []Flag            // in the order given, the last of a name wins; what no setting knows is left to the caller
	Environ  map[string]string // the caller's environment variables
	File     string            // the file of --config, which has to exist; "" is HERMES_EXEC_CONFIG, else config.yaml in Home
	Home     string            // "" is $HERMES_HOME, else .hermes in the home directory
	Dir      string            // the caller's directory, to which relative paths of files are relative
	Backends []string          // the backends on offer; nil allows any
}

// Loaded are settings with their history.
type Loaded struct {
	Settings Settings
	File     string   // the file that was read; "" is none
	Notes    []string // for the debug log: keys that nobody knows

	keys    []key
	origins map[string]string
}

// Setting is one line of a listing.
type Setting struct {
	Key    string // as in the file; a flag's name for what only a flag can say
	Value  string // secrets are masked
	Origin string
}

// Load computes the settings: flags before environment variables before the file before the
// defaults. All mistakes are reported together, as *ValueError or *FileError; an error that wraps
// ErrUnsafe means that the file was refused by policy.
func Load(in Input) (*Loaded, error) {
	l := &loader{
		in:     in,
		loaded: &Loaded{Settings: Defaults(), keys: keys(), origins: map[string]string{}},
		errs:   &multierror.Error{ErrorFormat: lines},
	}
	l.home(&l.loaded.Settings)
	l.file()
	l.environ()
	l.flags()
	l.finish()
	if err := l.errs.ErrorOrNil(); err != nil {
		return nil, err
	}
	return l.loaded, nil
}

// Origin tells where the value of a key came from: "flag --timeout", "environment
// HERMES_EXEC_TIMEOUT", "file PATH:LINE" or "default".
func (l *Loaded) Origin(key string) string {
	if origin, ok := l.origins[key]; ok {
		return origin
	}
	return "default"
}

// List returns every setting, in the order of the documentation.
func (l *Loaded) List() []Setting {
	list := make([]Setting, 0, len(l.keys))
	for _, k := range l.keys {
		value := k.show(&l.Settings)
		if k.secret && value != "" {
			value = masked
		}
		list = append(list, Setting{k.id(), value, l.Origin(k.id())})
	}
	return list
}

// loader collects what one Load finds.
type loader struct {
	in     Input
	loaded *Loaded
	errs   *multierror.Error
}

// Home returns the directory that holds the configuration, the cache and the logs: $HERMES_HOME,
// else .hermes in the home directory that environ names, else "". Dir is what it is relative to.
func Home(environ map[string]string, dir string) string {
	l := &loader{in: Input{Environ: environ, Dir: dir}}
	if home := environ["HERMES_HOME"]; home != "" {
		return l.path(home)
	}
	if home := l.userHome(); home != "" {
		return filepath.Join(home, ".hermes")
	}
	return ""
}

// userHome is the home directory that the caller's environment names.
func (l *loader) userHome() string {
	if runtime.GOOS == "windows" {
		return l.in.Environ["USERPROFILE"]
	}
	return l.in.Environ["HOME"]
}

// home finds the directory that holds the configuration.
func (l *loader) home(s *Settings) {
	if s.Home = l.path(l.in.Home); s.Home != "" {
		return
	}
	s.Home = Home(l.in.Environ, l.in.Dir)
	trouble := ""
	switch {
	case s.Home == "":
		trouble = "no home directory is known"
	case l.in.Environ["HERMES_HOME"] == "":
		trouble = barred(s.Home)
	}
	if trouble != "" {
		s.Home = ""
		s.Warnings = append(s.Warnings, trouble+": set HERMES_HOME to have a configuration and spill files")
	}
}

// barred tells why the default home cannot be used, "" if it can. A home directory that is not there
// is not made: it is a mistake, or meant.
func barred(home string) string {
	dir := filepath.Dir(home)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "the home directory " + dir + " does not exist or cannot be reached"
	}
	if _, err := os.Lstat(filepath.Join(home, "config.yaml")); errors.Is(err, fs.ErrPermission) {
		return "the home directory " + dir + " or " + filepath.Base(home) + " in it may not be entered"
	}
	return ""
}

// path makes a path of the host absolute.
func (l *loader) path(name string) string {
	name = l.expandHome(name)
	if name == "" || filepath.IsAbs(name) || l.in.Dir == "" {
		return name
	}
	return filepath.Join(l.in.Dir, name)
}

// expandHome replaces a leading ~ by the home directory, which YAML and the shell's --flag=~/x do
// not.
func (l *loader) expandHome(name string) string {
	home := l.userHome()
	if home == "" || (name != "~" && !strings.HasPrefix(name, "~/")) {
		return name
	}
	return filepath.Join(home, name[1:])
}

// environ applies the environment variables: first those of Hermes Agent, then our own.
func (l *loader) environ() {
	for _, k := range l.loaded.keys {
		for _, name := range k.env {
			l.variable(k, name)
		}
		if k.flag != "" {
			l.variable(k, k.variable())
		}
	}
}

// variable applies one environment variable. An empty one counts as not set.
func (l *loader) variable(k key, name string) {
	origin := "environment " + name
	text := l.in.Environ[name]
	file := ""
	if k.secret {
		file = l.in.Environ[name+"_FILE"]
	}
	switch {
	case text != "" && file != "":
		l.mistake(k, origin, "", errBoth(name, name+"_FILE"))
	case file != "":
		l.secretFile(k, origin+"_FILE", file)
	case text != "":
		l.apply(k, origin, value{texts: []string{text}, variable: true})
	}
}

// flags applies the command line.
func (l *loader) flags() {
	given := map[string][]string{}
	for _, f := range l.in.Flags {
		given[f.Name] = append(given[f.Name], f.Value)
	}
	for _, k := range l.loaded.keys {
		if texts, ok := given[k.flag]; ok && k.flag != "" {
			l.flag(k, texts)
		}
	}
}

// flag applies one flag. Only a list of tools may be empty: the empty value of another is a variable
// of the caller's that was not set, not a wish for the default.
func (l *loader) flag(k key, texts []string) {
	origin := "flag --" + k.flag
	for _, text := range texts {
		if strings.TrimSpace(text) == "" && k.flag != "tools" {
			l.mistake(k, origin, text, fmt.Errorf("%q is empty: want %s", text, strings.ReplaceAll(k.want, "`", "")))
			return
		}
	}
	l.apply(k, origin, value{texts: texts})
}

// apply gives one value to one key.
func (l *loader) apply(k key, origin string, v value) {
	v.origin, v.path = origin, l.path
	if err := k.apply(&l.loaded.Settings, v); err != nil {
		l.mistake(k, origin, v.String(), err)
		return
	}
	if k.adds && l.loaded.origins[k.id()] != "" {
		origin = l.loaded.origins[k.id()] + ", " + origin
	}
	l.loaded.origins[k.id()] = origin
}

// mistake records a wrong value.
func (l *loader) mistake(k key, origin, text string, err error) {
	if k.secret || k.flag == "env" {
		text = masked
	}
	l.errs = multierror.Append(l.errs, &ValueError{Key: k.id(), Value: text, Origin: origin, Err: err})
}
