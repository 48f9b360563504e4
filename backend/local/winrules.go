package local

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/hermes-exec/hermes-exec/backend"
)

// This file has the rules of Windows for names and exit codes, as functions that are the same, and
// tested, on every system. Variables are those of inherited: their names are in capitals.

// winAbs tells whether a path leads to the same file from everywhere.
func winAbs(path string) bool {
	path = strings.ReplaceAll(path, `\`, "/")
	if strings.HasPrefix(path, "//") {
		return true
	}
	return len(path) > 2 && path[1] == ':' && path[2] == '/'
}

func winJoin(dir, name string) string { return strings.TrimRight(dir, `/\`) + `\` + name }

// winList splits a search path. Its entries may be quoted.
func winList(searchPath string) []string {
	var list []string
	for entry := range strings.SplitSeq(searchPath, ";") {
		if entry = strings.ReplaceAll(entry, `"`, ""); winAbs(entry) && !slices.Contains(list, entry) {
			list = append(list, entry)
		}
	}
	return list
}

// winLook finds every file of that name on a search path.
func winLook(name, searchPath string, isFile func(string) bool) []string {
	var found []string
	for _, dir := range winList(searchPath) {
		if path := winJoin(dir, name); isFile(path) {
			found = append(found, path)
		}
	}
	return found
}

// winPrograms are the endings of files that the system executes itself. What PATHEXT may have besides
// are scripts, for which a shell starts an interpreter; how a batch file takes an argument apart makes
// it no program to hand arguments to.
func winPrograms() []string { return []string{".exe", ".com"} }

// winProgram finds the file that a command starts. It is never looked for in the working directory,
// unless its name says so.
func winProgram(name, dir string, env map[string]string, isFile func(string) bool) (string, error) {
	places, missing := []string{name}, fs.ErrNotExist
	switch {
	case name == "":
		return "", fmt.Errorf("%w: it has no name", fs.ErrNotExist)
	case winAbs(name):
	case strings.ContainsAny(name, `/\:`):
		places = []string{winJoin(dir, name)}
	default:
		places, missing = nil, fmt.Errorf("%w: it is not on PATH", fs.ErrNotExist)
		for _, dir := range winList(env["PATH"]) {
			places = append(places, winJoin(dir, name))
		}
	}
	for _, place := range places {
		if found := winComplete(place, isFile); found != "" {
			return found, nil
		}
	}
	if slices.ContainsFunc(places, isFile) {
		return "", fmt.Errorf("%w: it is no .exe", backend.ErrNotExecutable)
	}
	return "", missing
}

// winComplete is path with the ending that makes it a program, "" if there is none.
func winComplete(path string, isFile func(string) bool) string {
	for _, ending := range winPrograms() {
		if strings.HasSuffix(strings.ToLower(path), ending) && isFile(path) {
			return path
		}
	}
	for _, ending := range winPrograms() {
		if isFile(path + ending) {
			return path + ending
		}
	}
	return ""
}

// winCandidates lists interpreters in the order in which they are tried: the environment that is active,
// what the launcher takes for the newest Python 3, then PATH. An interpreter that was asked for is the
// only one.
func winCandidates(cfg Config, isFile func(string) bool) ([]candidate, error) {
	if cfg.Python != "" {
		return winExplicit(cfg, isFile)
	}
	var list []candidate
	environments := []string{"VIRTUAL_ENV", "CONDA_PREFIX"}
	for i, python := range []string{`Scripts\python.exe`, "python.exe"} {
		if prefix := cfg.Env[environments[i]]; prefix != "" && !cfg.Strict {
			list = append(list, candidate{path: winJoin(prefix, python), from: environments[i]})
		}
	}
	for _, path := range winLook("py.exe", cfg.Env["PATH"], isFile) {
		list = append(list, candidate{path: path, args: []string{"-3"}, from: "the launcher"})
	}
	for _, name := range []string{"python.exe", "python3.exe"} {
		for _, path := range winLook(name, cfg.Env["PATH"], isFile) {
			if winStub(path) || cfg.Strict && slices.ContainsFunc(environments, func(v string) bool { return winWithin(path, cfg.Env[v]) }) {
				continue
			}
			list = append(list, candidate{path: path, from: "PATH"})
		}
	}
	if len(list) == 0 {
		return nil, errNoWindowsPython
	}
	return list, nil
}

// errNoWindowsPython is what a Windows without Python comes to.
var errNoWindowsPython = fmt.Errorf("%w: neither py.exe nor python.exe is on PATH, that of the Microsoft Store aside, "+
	"which keeps temporary files to itself; install Python 3.8 or newer from python.org, or name one with --python", backend.ErrNoPython)

// winStub tells whether path is an alias of the Microsoft Store: it offers to install Python, or starts
// one that sees a temporary directory of its own.
func winStub(path string) bool {
	return strings.Contains(strings.ToLower(strings.ReplaceAll(path, "/", `\`)), `\microsoft\windowsapps\`)
}

func winWithin(path, dir string) bool {
	fold := func(name string) string { return strings.ToLower(strings.ReplaceAll(name, "/", `\`)) }
	return dir != "" && strings.HasPrefix(fold(path), strings.TrimRight(fold(dir), `\`)+`\`)
}

func winExplicit(cfg Config, isFile func(string) bool) ([]candidate, error) {
	name := cfg.Python
	if rest, ok := strings.CutPrefix(strings.ReplaceAll(name, `\`, "/"), "~/"); ok && cfg.Env["HOME"] != "" {
		name = winJoin(cfg.Env["HOME"], rest)
	}
	path, err := winProgram(name, cfg.Dir, cfg.Env, isFile)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", backend.ErrNoPython, name, err)
	}
	c := candidate{path: path, from: "asked for"}
	if base := strings.ToLower(path); strings.HasSuffix(base, `\py.exe`) || strings.HasSuffix(base, "/py.exe") {
		c.args = []string{"-3"}
	}
	return []candidate{c}, nil
}

// winShim tells whether a launcher needs a variable to start an interpreter.
func winShim(name string) bool {
	switch name {
	case "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA":
		return true
	}
	return strings.HasPrefix(name, "PROGRAMFILES") || strings.HasPrefix(name, "PY_PYTHON")
}

// winKilled is the exit status of what was killed as a part of its job: one that nothing else gives.
const winKilled = 0x48580009

// Exit statuses that stand for what is a signal elsewhere.
const (
	winAccessViolation = 0xC0000005
	winIllegal         = 0xC000001D
	winDivideByZero    = 0xC0000094
	winStackOverflow   = 0xC00000FD
	winControlC        = 0xC000013A // also a break
)

// winFate is how a process ended with that status, to which that signal had been sent, or none. Statuses
// have 32 bits there and 8 in the contract; those that tell of an exception are the signals that it would
// have been elsewhere.
func winFate(status uint32, sent backend.Signal) error {
	var sig backend.Signal
	switch {
	case status == 0:
		return nil
	case status == winKilled:
		sig = backend.Kill
	case status == winControlC && sent != 0:
		sig = sent
	case status == winControlC:
		sig = backend.Interrupt
	case status == winAccessViolation, status == winStackOverflow:
		sig = 11 // SIGSEGV
	case status == winIllegal:
		sig = 4 // SIGILL
	case status == winDivideByZero:
		sig = 8 // SIGFPE
	case status>>28 == 0xC: // another NTSTATUS of severity "error"
		sig = 6 // SIGABRT
	case status&0xFF == 0:
		return nil
	default:
		return &backend.ExitError{Code: int(status & 0xFF)}
	}
	return &backend.ExitError{Code: -int(sig), Signal: sig}
}
