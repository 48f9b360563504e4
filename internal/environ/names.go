package environ

import (
	"path"
	"slices"
	"strings"

	"github.com/hermes-exec/hermes-exec/config"
)

// Kept tells whether the filter keeps a variable of this name that nobody asked for. What it holds
// may still drop it: see Build.
func Kept(name, goos string) bool {
	if goos == "windows" {
		name = strings.ToUpper(name)
	}
	if config.IsSecretName(name) {
		return false
	}
	if slices.Contains(exact(), name) || goos == "windows" && slices.Contains(windows(), name) {
		return true
	}
	return slices.ContainsFunc([]string{"LC_", "XDG_"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// exact are the names that are kept everywhere.
func exact() []string {
	return []string{
		"CONDA_PREFIX", "HERMES_CONFIG", "HERMES_ENV", "HERMES_HOME", "HERMES_PROFILE", "HOME", "LANG", "LOGNAME", "PATH",
		"PYTHONPATH", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV",
	}
}

// windows are the names without which programs do not start there, or do not find their files.
func windows() []string {
	return []string{
		"ALLUSERSPROFILE", "APPDATA", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432", "COMPUTERNAME",
		"COMSPEC", "DRIVERDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATHEXT",
		"PROCESSOR_ARCHITECTURE", "PROCESSOR_IDENTIFIER", "PROCESSOR_LEVEL", "PROCESSOR_REVISION", "PROGRAMDATA", "PROGRAMFILES",
		"PROGRAMFILES(X86)", "PROGRAMW6432", "PSMODULEPATH", "PUBLIC", "SYSTEMDRIVE", "SYSTEMROOT", "USERDOMAIN", "USERNAME",
		"USERPROFILE", "WINDIR",
	}
}

// internal tells whether a variable is hermes-exec's own: what it tells its scripts, its settings,
// and the marks of its processes. The allow-list has none of them, and asking does not help, so that
// a run within a run starts clean.
func internal(name string) bool {
	return slices.ContainsFunc([]string{"HERMES_RPC_", "HERMES_EXEC_", "_HERMES_"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// ownsInterpreter tells whether an interpreter belongs to the environment in prefix, as far as the
// spelling of their paths tells: it lies in bin, or on Windows in Scripts or in the prefix itself.
func ownsInterpreter(prefix, interpreter, goos string) bool {
	if prefix == "" || interpreter == "" {
		return false
	}
	if goos != "windows" {
		return path.Dir(path.Dir(interpreter)) == path.Clean(prefix)
	}
	slashes := func(name string) string { return strings.ToLower(strings.ReplaceAll(name, `\`, "/")) }
	dir := path.Dir(slashes(interpreter))
	prefix = path.Clean(slashes(prefix))
	return dir == prefix || path.Dir(dir) == prefix
}
