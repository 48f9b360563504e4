// Package config holds the settings of hermes-exec: what they are, where they come from, and what
// is wrong with them.
//
// Settings is a plain struct. Load computes it from flags, environment variables and a file, which
// it is all given: it reads nothing of the process it runs in but the files that it is told of. The
// package does not know what the settings are used for.
package config

import (
	"time"
)

// Mode says where a script runs and with which interpreter.
type Mode string

// The modes.
const (
	Project Mode = "project" // the project's directory and interpreter
	Strict  Mode = "strict"  // a private directory and an interpreter outside any environment
)

// OnTimeout says what happens to a session when a cell of it runs out of time.
type OnTimeout string

// What may happen on a timeout.
const (
	KillOnTimeout      OnTimeout = "kill"
	InterruptOnTimeout OnTimeout = "interrupt" // KeyboardInterrupt first, for 2 s
)

// Settings are the effective settings. Defaults is a good start; the zero value is not usable.
type Settings struct {
	Home string // the directory of $HERMES_HOME, absolute

	Mode              Mode
	Timeout           time.Duration // of one run or cell
	MaxToolCalls      int           // of one run or cell
	KernelIdleTimeout time.Duration
	MaxSessionKernels int
	OnTimeout         OnTimeout
	Python            string // interpreter asked for; "" is the rules of the mode
	// StrictPython is what strict mode uses when Python is empty: code_execution.python, which the
	// project mode does not look at.
	StrictPython string

	MaxStdout            int64 // bytes of stdout in a result
	MaxStderr            int64 // bytes of stderr in a result
	MaxSpill             int64 // bytes of the spill file
	MaxParallelToolCalls int
	KillGrace            time.Duration // between SIGTERM and SIGKILL; 0 kills at once
	MaxLine              int64         // bytes of one RPC line
	Tools                []string      // tools enabled, search spelled search_files; nil is all, empty is none
	Transport            string        // "auto", "uds", "tcp" or "file"
	Figures              bool          // matplotlib saves its figures as artifacts, where they are wanted

	Backend string // a name that Input.Backends offers

	// Cwd is the directory that was asked for by flag: it has to exist. "" is the first of
	// CwdFallbacks that exists, else the caller's directory. One that is missing is passed over
	// with a warning.
	Cwd          string
	CwdFallbacks []Dir

	// EnvPassthrough are the variables that the environment filter readmits: those of the file, of
	// --env and of --skill. EnvSet are the ones that --env NAME=value sets.
	EnvPassthrough []string
	EnvSet         map[string]string

	// EnvNamed are those of EnvPassthrough that --env names: that one of them is not set is a warning,
	// where a file and a skill name what other runs have.
	EnvNamed []string

	Docker Docker
	SSH    SSH
	Web    Web

	// OperatorTools is the tools section: one entry a tool, by name, not yet interpreted.
	OperatorTools map[string]any

	// ReservedEnv are the variables that the sections web and tools read: like those that
	// IsProviderCredential knows, no script gets them.
	ReservedEnv []string

	// Timezone is the TZ of scripts: an IANA name that was looked up, or "".
	Timezone string

	// RedactSecrets says that known secrets are masked in results and events.
	RedactSecrets bool

	// Warnings are what Load found that is no mistake, but that every result should tell.
	Warnings []string
}

// Dir is a directory with the place that named it, for messages.
type Dir struct {
	Path   string
	Origin string // for example "environment TERMINAL_CWD"
}

// Docker are the settings of containers.
type Docker struct {
	Image      string
	Container  string   // an existing container to enter; "" makes one
	Volumes    []string // as docker run -v takes them
	MountCwd   bool     // mount the caller's directory at /workspace
	Env        map[string]string
	ForwardEnv []string // host variables that the container gets
	Network    string   // "none", "bridge" or the name of a network
	User       string
	Runtime    string
	CPUs       float64
	Memory     int64 // bytes
	PidsLimit  int64
}

// SSH are the settings of remote hosts.
type SSH struct {
	Host            string // a name of ~/.ssh/config or an address; "" is none
	User            string
	Port            int // 0 is what the ssh configuration says
	Key             string
	Env             map[string]string
	HostKeyChecking string // "yes" or "accept-new"
	Spool           string // "agent" or "sftp"
}

// Web are the settings of the web tools.
type Web struct {
	Provider     string // "searxng", "brave" or "tavily"; "" is the first that is configured
	SearxngURL   string
	BraveAPIKey  string
	TavilyAPIKey string
	AllowPrivate bool
}

// Defaults returns the settings of a program that was told nothing. Home is empty.
func Defaults() Settings {
	return Settings{
		Mode:                 Project,
		Timeout:              300 * time.Second,
		MaxToolCalls:         50,
		KernelIdleTimeout:    1800 * time.Second,
		MaxSessionKernels:    4,
		OnTimeout:            KillOnTimeout,
		MaxStdout:            50_000,
		MaxStderr:            10_000,
		MaxSpill:             5_000_000,
		MaxParallelToolCalls: 16,
		KillGrace:            5 * time.Second,
		MaxLine:              64 << 20,
		Transport:            "auto",
		Backend:              "local",
		RedactSecrets:        true,
		Docker: Docker{
			Image:     "python:3.13-slim",
			Network:   "none",
			CPUs:      2,
			Memory:    2 << 30,
			PidsLimit: 512,
		},
		SSH: SSH{HostKeyChecking: "yes", Spool: "agent"},
	}
}
