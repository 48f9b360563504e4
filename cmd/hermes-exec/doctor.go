package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/keep"
	"github.com/hermes-exec/hermes-exec/tool"
)

//go:embed probe.py
var probe []byte

// report is what doctor found.
type report struct {
	Backend    string            `json:"backend"`
	Config     *string           `json:"config"` // the file that was read; null is none
	Python     *pythonReport     `json:"python"` // null: none that can be used
	Directory  string            `json:"directory,omitempty"`
	Temp       string            `json:"temp,omitempty"`
	Notes      []string          `json:"notes"`     // of the environment itself
	Transport  *string           `json:"transport"` // the one that runs get; null: none works
	Transports []transportReport `json:"transports"`
	Limits     limitsReport      `json:"limits"`
	Tools      []toolReport      `json:"tools"`
	Warnings   []string          `json:"warnings"`
	Error      string            `json:"error,omitempty"`

	// Of the table alone.
	status       int
	failed       string // what the error is about
	reason, next string // the error, and what to do about it
}

type pythonReport struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Found   string `json:"found"` // how
}

type transportReport struct {
	Name   string  `json:"name"`
	Works  bool    `json:"works"`
	CallMS float64 `json:"call_ms,omitempty"` // the median of some calls from inside
	Chosen bool    `json:"chosen"`
	Reason string  `json:"reason,omitempty"` // why it does not work, or why it was chosen
}

type limitsReport struct {
	Timeout      float64 `json:"timeout_seconds"`
	MaxToolCalls int     `json:"max_tool_calls"`
	MaxParallel  int     `json:"max_parallel_tool_calls"`
	MaxStdout    int64   `json:"max_stdout_bytes"`
	MaxStderr    int64   `json:"max_stderr_bytes"`
	MaxSpill     int64   `json:"max_spill_bytes"`
	MaxLine      int64   `json:"max_line_bytes"`
}

type toolReport struct {
	Name         string `json:"name"`
	Unconfigured string `json:"unconfigured,omitempty"` // why it cannot work
	Asks         string `json:"asks,omitempty"`         // the service that it asks
}

func (a *app) doctorCommand() *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Usage:     "tell what can be used here, by trying it",
		UsageText: "hermes-exec doctor [flags]",
		Description: described(
			"Every transport is tried with real calls from a script. The exit status is 0 if scripts can run,\n"+
				"127 if there is no usable Python, 125 if something else is missing.",
			"hermes-exec doctor", "hermes-exec doctor --mode strict --output json", "hermes-exec doctor --backend docker",
		),
		Flags: append(
			a.settingFlags(),
			&cli.StringFlag{Name: "output", Usage: "print `FORMAT`: text or json (default text)"},
		),
		Action: noArguments(a.doctor),
	}
}

func (a *app) doctor(ctx context.Context, c *cli.Context) error {
	asJSON, err := a.wantsJSON(c)
	if err != nil {
		return err
	}
	loaded, err := a.load(c)
	if err != nil {
		return err
	}
	ctx, stop := a.interrupts(ctx, nil)
	defer stop()
	r := a.examine(ctx, loaded)
	if asJSON {
		err = a.printIndented(r)
	} else {
		err = r.print(a.out, a.lookOf(a.out.w))
	}
	if err == nil && r.status != 0 {
		return statusError(r.status)
	}
	return err
}

// examine tries what there is.
func (a *app) examine(ctx context.Context, loaded *config.Loaded) *report {
	s := loaded.Settings
	r := &report{
		Backend: s.Backend,
		Limits: limitsReport{
			s.Timeout.Seconds(), s.MaxToolCalls, s.MaxParallelToolCalls, s.MaxStdout, s.MaxStderr, s.MaxSpill, s.MaxLine,
		},
		Notes:      []string{},
		Transports: []transportReport{},
		Warnings:   []string{},
	}
	if loaded.File != "" {
		r.Config = &loaded.File
	}
	r.addTools(s)
	examined := []string{}
	chosen := a.try(ctx, loaded, func(ctx context.Context, env *hermes.Env) { examined = env.Examine(ctx) })
	r.addRun(chosen, a.found(s, chosen))
	r.Notes = append(r.Notes, examined...)
	for _, name := range []string{"uds", "tcp", "file"} {
		if ctx.Err() != nil || chosen.hopeless() {
			break
		}
		only := *loaded
		only.Settings.Transport = name
		r.addTransport(name, a.try(ctx, &only, nil), chosen, s.Transport)
	}
	return r
}

// addTools lists the enabled tools.
func (r *report) addTools(s config.Settings) {
	registry, warnings, err := enabledTools(s)
	if err != nil {
		r.Warnings = append(r.Warnings, err.Error())
		return
	}
	r.Warnings = append(r.Warnings, warnings...)
	r.Tools = []toolReport{}
	for _, spec := range registry.Specs() {
		r.Tools = append(r.Tools, toolReport{spec.Name, spec.Unconfigured, spec.Asks})
		if spec.Name == "web_extract" && s.Web.AllowPrivate {
			r.Warnings = append(r.Warnings, "web.allow_private lets scripts reach this machine and its network by web_extract, "+
				"and 169.254.169.254, where a cloud hands out the credentials of its machine")
		}
	}
}

// facts are what the probe saw from inside.
type facts struct {
	Python    string  `json:"python"`
	Version   string  `json:"version"`
	Directory string  `json:"directory"`
	Temp      string  `json:"temp"`
	Call      float64 `json:"call_seconds"`
}

// trial is one run of the probe.
type trial struct {
	info   backend.Info
	facts  facts
	result *hermes.Result
	err    error
}

// hopeless reports whether no transport can help: there is no environment that one could lead out of. Each
// trial would wait for the same, and tell it once more.
func (t trial) hopeless() bool {
	switch t.result.ErrorKind {
	case hermes.KindPython, hermes.KindUsage:
		return true
	case hermes.KindBackend, hermes.KindOOM, hermes.KindPolicy:
		return t.info.Name == "" // it was not opened
	case hermes.KindScript, hermes.KindTimeout, hermes.KindInterrupted, hermes.KindSignal, hermes.KindTransport:
	}
	return false
}

// try runs the probe with these settings. More, if not nil, is done with the environment afterwards.
func (a *app) try(ctx context.Context, loaded *config.Loaded, more func(context.Context, *hermes.Env)) trial {
	o := a.options(loaded, a.progress(false))
	d := config.Defaults() // what the probe needs may be more than scripts are allowed
	o.Settings.MaxToolCalls, o.Settings.MaxStdout = d.MaxToolCalls, d.MaxStdout
	o.Settings.Tools = []string{pingName}
	o.Tools = []tool.Tool{ping{}}
	var t trial
	err := a.withEnv(ctx, o, func(ctx context.Context, env *hermes.Env) error {
		t.info = env.Info()
		t.result = env.Run(ctx, hermes.Script{Code: probe})
		if more != nil {
			more(ctx, env)
		}
		return nil
	})
	switch {
	case err != nil:
		t.result = hermes.Failed(err)
		t.err = err
	case t.result.Status != hermes.Success:
		t.err = errors.New(keep.LastLine(t.result.Error))
	default:
		t.err = json.Unmarshal([]byte(t.result.Output), &t.facts)
	}
	return t
}

// addRun takes over what the run with the real settings showed.
func (r *report) addRun(t trial, found string) {
	r.Notes = append(r.Notes, t.info.Notes...)
	if t.result.Warning != "" {
		r.Warnings = append(r.Warnings, strings.Split(t.result.Warning, "\n")...)
	}
	if t.err != nil {
		r.Error, r.status = t.err.Error(), t.result.ExitStatus()
		r.failed, r.next = remedy(t)
		r.reason = strings.TrimSuffix(r.Error, "; "+r.next)
		return
	}
	name := string(t.result.Transport)
	r.Transport = &name
	r.Python = &pythonReport{t.facts.Python, t.facts.Version, found}
	r.Directory, r.Temp = t.facts.Directory, t.facts.Temp
}

// remedy says what an error is about, and what to do: as it says itself, else what helps as a rule.
func remedy(t trial) (about, next string) {
	switch t.result.ErrorKind {
	case hermes.KindPython:
		about, next = "python", "install Python 3.8 or newer, or name one with --python"
	case hermes.KindUsage:
		about, next = "settings", "change the flag, or the setting: hermes-exec config show --origin tells where it comes from"
	case hermes.KindTransport:
		about, next = "transport", "leave --transport out: the first that works is taken"
	case hermes.KindTimeout:
		about, next = "timeout", "allow more time: --timeout 60"
	case hermes.KindPolicy:
		about, next = "error", "hermes-exec config show --origin tells which setting forbids it"
	case hermes.KindBackend, hermes.KindOOM, hermes.KindScript, hermes.KindInterrupted, hermes.KindSignal:
		about, next = "error", "try again; hermes-exec logs tells what was logged"
	}
	if advice, ok := errors.AsType[*backend.AdviceError](t.err); ok {
		next = advice.Next
	}
	return about, next
}

// addTransport takes over what the trial of one transport showed. Asked is the setting.
func (r *report) addTransport(name string, t, chosen trial, asked string) {
	row := transportReport{Name: name, Works: t.err == nil, CallMS: t.facts.Call * 1000}
	if t.err != nil {
		row.Reason = t.err.Error()
	}
	if r.Transport != nil && *r.Transport == name {
		row.Chosen = true
		row.Reason = why(chosen.result, asked)
	}
	r.Transports = append(r.Transports, row)
}

// why says why the transport of a run was taken.
func why(r *hermes.Result, asked string) string {
	if asked != "auto" {
		return "asked for"
	}
	reasons := []string{}
	for _, f := range r.Fallback {
		reasons = append(reasons, fmt.Sprintf("instead of %s: %s", f.From, f.Reason))
	}
	if len(reasons) > 0 {
		return strings.Join(reasons, "; ")
	}
	return "the first that works"
}

// found says by which rule the interpreter was found.
func (a *app) found(s config.Settings, t trial) string {
	switch {
	case s.Python != "":
		return "--python"
	case s.Mode == config.Strict && s.StrictPython != "":
		return "code_execution.python"
	case !t.info.SameHost:
		return "python3 on the PATH there"
	case s.Mode == config.Strict:
		return "python3 on PATH, outside VIRTUAL_ENV and CONDA_PREFIX"
	}
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if dir := a.environ[name]; dir != "" && strings.HasPrefix(t.facts.Python, filepath.Clean(dir)+string(filepath.Separator)) {
			return name
		}
	}
	return "python3 on PATH"
}
