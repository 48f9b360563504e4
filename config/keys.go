package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// key is one setting: where it can be said, how it is read, and how it is told.
type key struct {
	name    string   // in the file; "" for what only a flag can say
	flag    string   // "" if there is none
	env     []string // variables besides HERMES_EXEC_ and the flag
	want    string   // what a value is, for the documentation
	example string
	help    string

	secret  bool // never shown; may come from a file that the key or variable with _file names
	command bool // names a command or a tool, or readmits secrets: not believed from a file that others may write to
	adds    bool // places add to each other instead of the highest winning

	backend string // the only one that it matters to; "": to all

	apply func(s *Settings, v value) error
	show  func(s *Settings) string
}

// only marks keys that matter to one backend.
func only(backend string, keys []key) []key {
	for i := range keys {
		keys[i].backend = backend
	}
	return keys
}

// id is how the key is called in listings.
func (k key) id() string {
	if k.name == "" {
		return k.flag
	}
	return k.name
}

// variable is the environment variable of the flag.
func (k key) variable() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(k.flag, "-", "_"))
}

// scalar makes the functions of a key with a single value.
func scalar[T any](k key, parse func(string) (T, error), show func(T) string, field func(*Settings) *T) key {
	k.apply = func(s *Settings, v value) error {
		text, err := v.text()
		if err != nil {
			return err
		}
		parsed, err := parse(strings.TrimSpace(text))
		if err != nil {
			return err
		}
		*field(s) = parsed
		return nil
	}
	k.show = func(s *Settings) string { return show(*field(s)) }
	return k
}

// hostPath makes the functions of a key that holds a path of the host.
func hostPath(k key, field func(*Settings) *string) key {
	k = scalar(k, plain, text, field)
	read := k.apply
	k.apply = func(s *Settings, v value) error {
		if err := read(s, v); err != nil {
			return err
		}
		*field(s) = v.path(*field(s))
		return nil
	}
	return k
}

// list makes the functions of a key with many values.
func list(k key, split string, field func(*Settings) *[]string) key {
	k.apply = func(s *Settings, v value) error {
		items, err := v.list(split)
		if err != nil {
			return err
		}
		if k.adds {
			items = union(*field(s), items)
		}
		*field(s) = items
		return nil
	}
	k.show = func(s *Settings) string { return strings.Join(*field(s), ",") }
	return k
}

// variables makes the functions of a key that names variables.
func variables(k key, field func(*Settings) *[]string) key {
	return checked(list(k, ",", field), func(s *Settings) error {
		for _, name := range *field(s) {
			if name, _, set := strings.Cut(name, "="); set {
				return fmt.Errorf("%q gives a variable a value: want its name alone", name+"="+masked)
			}
			if err := variableName(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// variableName refuses what is the name of no variable.
func variableName(name string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r == '=' || unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return fmt.Errorf("%q is no name of a variable", name)
	}
	return nil
}

// checked makes a key refuse what check finds wrong with the settings once they have its value.
func checked(k key, check func(*Settings) error) key {
	read := k.apply
	k.apply = func(s *Settings, v value) error {
		if err := read(s, v); err != nil {
			return err
		}
		return check(s)
	}
	return k
}

// table makes the functions of a key with variables and their values. A listing tells the names alone.
func table(k key, field func(*Settings) *map[string]string) key {
	k.apply = func(s *Settings, v value) error {
		m, err := v.table()
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if err := variableName(name); err != nil {
				return err
			}
		}
		*field(s) = m
		return nil
	}
	k.show = func(s *Settings) string { return names(*field(s)) }
	return k
}

// union appends the items that are not there yet.
func union(items, more []string) []string {
	for _, item := range more {
		if !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	return items
}

// How values are shown.
func text[T ~string](v T) string     { return string(v) }
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
func byteCount(n int64) string       { return strconv.FormatInt(n, 10) }
func number(f float64) string        { return strconv.FormatFloat(f, 'f', -1, 64) }
func megabytes(n int64) string       { return number(float64(n) / (1 << 20)) }

// The largest values that are believed to be meant.
const (
	maxCount  = 1_000_000
	maxInline = 1 << 30
	maxSpill  = 1 << 40
	// maxLine is as much as a transport reads of all connections together.
	maxLine = 256 << 20
)

// keys is the table of all settings, in the order of the documentation.
func keys() []key {
	return slices.Concat(executionKeys(), sizeKeys(), placeKeys(), only("docker", dockerKeys()), only("ssh", sshKeys()), otherKeys())
}

func executionKeys() []key {
	return []key{
		scalar(key{
			name: "code_execution.mode", flag: "mode", want: "`project` or `strict`", example: "strict",
			help: "where a script runs and with which interpreter",
		}, oneOf(Project, Strict), text, func(s *Settings) *Mode { return &s.Mode }),
		scalar(key{
			name: "code_execution.timeout", flag: "timeout", want: "seconds", example: "10m",
			help: "how long one run or cell may take",
		}, duration(1), seconds, func(s *Settings) *time.Duration { return &s.Timeout }),
		scalar(key{
			name: "code_execution.max_tool_calls", flag: "max-tool-calls", want: "count", example: "200",
			help: "tool calls of one run or cell",
		}, whole(maxCount), strconv.Itoa, func(s *Settings) *int { return &s.MaxToolCalls }),
		scalar(key{
			name: "code_execution.max_parallel_tool_calls", want: "count", example: "4",
			help: "tool calls that are served at once",
		}, whole(4096), strconv.Itoa, func(s *Settings) *int { return &s.MaxParallelToolCalls }),
		scalar(key{
			name: "code_execution.kernel_idle_timeout", want: "seconds", example: "1h",
			help: "after which an idle session ends",
		}, duration(1), seconds, func(s *Settings) *time.Duration { return &s.KernelIdleTimeout }),
		scalar(key{
			name: "code_execution.max_session_kernels", want: "count", example: "8",
			help: "kernels that live at a time; the least recently used idle one ends for a new one, and of several callers the largest count holds",
		}, whole(1000), strconv.Itoa, func(s *Settings) *int { return &s.MaxSessionKernels }),
		scalar(key{
			name: "code_execution.on_timeout", want: "`kill` or `interrupt`", example: "interrupt",
			help: "what a session's timeout does; `interrupt` tries KeyboardInterrupt for 2 s first",
		}, oneOf(KillOnTimeout, InterruptOnTimeout), text, func(s *Settings) *OnTimeout { return &s.OnTimeout }),
		scalar(key{
			name: "code_execution.figures", flag: "figures", want: "`true` or `false`", example: "true",
			help: "matplotlib saves what a script shows, and what it has not shown at its end, as `figure-N.png` among the artifacts of a run that has `--artifacts`",
		}, boolean, strconv.FormatBool, func(s *Settings) *bool { return &s.Figures }),
		scalar(key{
			name: "code_execution.kill_grace", want: "seconds", example: "1",
			help: "between SIGTERM and SIGKILL; 0 kills at once",
		}, duration(0), seconds, func(s *Settings) *time.Duration { return &s.KillGrace }),
		pythonKey(),
		scalar(key{
			name: "code_execution.python", want: "path or name", example: "/usr/bin/python3", command: true,
			help: "the interpreter of mode strict",
		}, plain, text, func(s *Settings) *string { return &s.StrictPython }),
		toolsKey(),
		scalar(key{
			name: "code_execution.transport", flag: "transport", want: "`auto`, `uds`, `tcp` or `file`", example: "file",
			help: "how tool calls travel; `auto` takes the first that works",
		}, oneOf("auto", "uds", "tcp", "file"), text, func(s *Settings) *string { return &s.Transport }),
	}
}

// pythonKey is --python, which wins in both modes, where the file's key is for strict alone.
func pythonKey() key {
	return scalar(key{
		flag: "python", want: "path or name", example: "python3.12",
		help: "the interpreter, in both modes",
	}, plain, text, func(s *Settings) *string { return &s.Python })
}

// toolsKey is the list of tools that scripts may call.
func toolsKey() key {
	k := list(key{
		name: "code_execution.tools", flag: "tools", want: "list of tools", example: "read_file,search_files", command: true,
		help: "what scripts may call; without it all seven, with an empty list none",
	}, ",", func(s *Settings) *[]string { return &s.Tools })
	read := k.apply
	k.apply = func(s *Settings, v value) error {
		if err := read(s, v); err != nil {
			return err
		}
		s.Tools = canonicalTools(s.Tools)
		return nil
	}
	k.show = func(s *Settings) string {
		if s.Tools == nil {
			return "all"
		}
		return strings.Join(s.Tools, ",")
	}
	return k
}

// canonicalTools knows search_files by its early name, and every tool once.
func canonicalTools(tools []string) []string {
	out := []string{}
	for _, name := range tools {
		if name == "search" {
			name = "search_files"
		}
		out = union(out, []string{name})
	}
	return out
}

func sizeKeys() []key {
	return []key{
		scalar(key{
			name: "code_execution.max_stdout_bytes", want: "bytes", example: "200k",
			help: "stdout in a result; the rest is in the spill file",
		}, size(1, 1, maxInline), byteCount, func(s *Settings) *int64 { return &s.MaxStdout }),
		scalar(key{
			name: "code_execution.max_stderr_bytes", want: "bytes", example: "20k",
			help: "stderr in a result",
		}, size(1, 1, maxInline), byteCount, func(s *Settings) *int64 { return &s.MaxStderr }),
		scalar(key{
			name: "code_execution.max_spill_bytes", want: "bytes", example: "50m",
			help: "the spill file of one run",
		}, size(1, 1, maxSpill), byteCount, func(s *Settings) *int64 { return &s.MaxSpill }),
		scalar(key{
			name: "code_execution.max_line_bytes", want: "bytes", example: "16m",
			help: "one request or answer of a tool call, as JSON",
		}, size(1, 1024, maxLine), byteCount, func(s *Settings) *int64 { return &s.MaxLine }),
	}
}

func placeKeys() []key {
	return []key{
		scalar(key{
			name: "terminal.backend", flag: "backend", want: "`local`, `docker` or `ssh`", example: "docker",
			help: "where scripts run",
		}, lower, text, func(s *Settings) *string { return &s.Backend }),
		scalar(key{
			flag: "cwd", want: "path", example: "~/src/app",
			help: "the working directory; it has to exist",
		}, plain, text, func(s *Settings) *string { return &s.Cwd }),
		cwdKey(),
		variables(key{
			name: "terminal.env_passthrough", want: "list of names", example: "[TENOR_API_KEY]", adds: true, command: true,
			help: "variables that scripts get although the filter drops them",
		}, func(s *Settings) *[]string { return &s.EnvPassthrough }),
		envKey(),
		skillKey(),
	}
}

// lower reads a name in any case.
func lower(text string) (string, error) { return strings.ToLower(text), nil }

// cwdKey is the directory that may be missing. Hermes Agent's variable comes before the file.
func cwdKey() key {
	return key{
		name: "terminal.cwd", env: []string{"TERMINAL_CWD"}, want: "path", example: "/srv/app",
		help: "the working directory without `--cwd`; passed over if it is missing",
		apply: func(s *Settings, v value) error {
			text, err := v.text()
			if err != nil {
				return err
			}
			s.CwdFallbacks = slices.Insert(s.CwdFallbacks, 0, Dir{Path: text, Origin: v.origin})
			return nil
		},
		show: func(s *Settings) string {
			if len(s.CwdFallbacks) == 0 {
				return ""
			}
			return s.CwdFallbacks[0].Path
		},
	}
}

// envKey is --env, which passes a variable or sets it.
func envKey() key {
	return key{
		flag: "env", want: "`NAME` or `NAME=value`, repeated", example: "MODE=fast", adds: true,
		help: "passes a variable through the filter, or sets one",
		apply: func(s *Settings, v value) error {
			items, err := v.list("")
			if err != nil {
				return err
			}
			if !v.variable && v.node == nil {
				items = v.texts // with the spaces of values
			}
			for _, item := range items {
				if err := addEnv(s, item); err != nil {
					return err
				}
			}
			return nil
		},
		show: func(s *Settings) string { return names(s.EnvSet) },
	}
}

// addEnv adds one argument of --env.
func addEnv(s *Settings, item string) error {
	name, text, set := strings.Cut(item, "=")
	switch {
	case name == "":
		return fmt.Errorf("%q has no name before =: want NAME or NAME=value", "="+masked)
	case variableName(name) != nil:
		return fmt.Errorf("%w: want NAME or NAME=value", variableName(name))
	case strings.ContainsRune(text, 0):
		return fmt.Errorf("the value of %s holds a NUL", name)
	case !set:
		s.EnvPassthrough, s.EnvNamed = union(s.EnvPassthrough, []string{name}), union(s.EnvNamed, []string{name})
	default:
		s.EnvSet = maps.Clone(s.EnvSet)
		if s.EnvSet == nil {
			s.EnvSet = map[string]string{}
		}
		s.EnvSet[name] = text
	}
	return nil
}

// skillKey is --skill, which passes the variables that a skill says it needs.
func skillKey() key {
	return key{
		flag: "skill", want: "path of a SKILL.md, repeated", example: "skills/gifs/SKILL.md", adds: true,
		help: "passes the `required_environment_variables` of its frontmatter",
		apply: func(s *Settings, v value) error {
			files, err := v.list("")
			if err != nil {
				return err
			}
			for _, file := range files {
				names, err := skillFile(v.path(file))
				if err != nil {
					return err
				}
				s.EnvPassthrough = union(s.EnvPassthrough, names)
			}
			return nil
		},
		show: func(*Settings) string { return "" },
	}
}
