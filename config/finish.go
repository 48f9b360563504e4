package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // Windows and small images have no zone files

	"github.com/hashicorp/go-multierror"

	"github.com/hermes-exec/hermes-exec/internal/near"
	"github.com/hermes-exec/hermes-exec/internal/volume"
)

// finish checks and completes what depends on several keys.
func (l *loader) finish() {
	s := &l.loaded.Settings
	l.backend(s)
	l.misplaced(s)
	l.workspace(s)
	l.host(s)
	l.cwd(s)
	l.timezone(s)
}

// backend refuses one that is not on offer.
func (l *loader) backend(s *Settings) {
	offered := l.in.Backends
	if offered == nil || slices.Contains(offered, s.Backend) {
		return
	}
	what := "is not known"
	if slices.Contains([]string{"local", "docker", "ssh"}, s.Backend) {
		what = "comes in a later version"
	}
	l.errs.Errors = append(l.errs.Errors, &ValueError{
		Key: "terminal.backend", Value: s.Backend, Origin: l.loaded.Origin("terminal.backend"),
		Err: fmt.Errorf("backend %q %s: %s", s.Backend, what, near.Or(s.Backend, offered, "want "+strings.Join(offered, ", "))),
	})
}

// misplaced refuses flags that would have no effect: who names an image, or a host, does not want the
// script to run on this machine. Variables and files may name what other runs use.
func (l *loader) misplaced(s *Settings) {
	for _, k := range l.loaded.keys {
		given := k.flag != "" && slices.ContainsFunc(l.in.Flags, func(f Flag) bool { return f.Name == k.flag })
		switch {
		case !given || k.backend == "":
		case k.backend != s.Backend:
			l.mistake(k, "flag --"+k.flag, "", fmt.Errorf("it is for the backend %s, and this is %s: add --backend %[1]s", k.backend, s.Backend))
		case s.Docker.Container != "" && k.backend == "docker" && k.flag != "container" && k.flag != "user":
			l.mistake(k, "flag --"+k.flag, "", errors.New("it is for a container that is made, and --container enters one that is there: leave out either"))
		}
	}
}

// workspace refuses a second mount where the caller's directory is to be.
func (l *loader) workspace(s *Settings) {
	if s.Backend != "docker" || s.Docker.Container != "" || !s.Docker.MountCwd {
		return
	}
	volumes, _ := volume.ParseAll(s.Docker.Volumes) // mistakes were told already
	for _, v := range volumes {
		if v.Target == volume.Workspace {
			const key = "terminal.docker_mount_cwd_to_workspace"
			l.errs = multierror.Append(l.errs, &ValueError{
				Key: key, Value: "true", Origin: l.loaded.Origin(key),
				Err: fmt.Errorf("%s is where a volume (%s) is mounted already", volume.Workspace, l.loaded.Origin("terminal.docker_volumes")),
			})
		}
	}
}

// host splits what was said of the SSH host: a user and a port in it are the more specific ones.
func (l *loader) host(s *Settings) {
	user, host, port, err := splitHost(s.SSH.Host)
	if err != nil {
		return
	}
	if s.Backend == "ssh" && host == "" {
		l.errs.Errors = append(l.errs.Errors, &ValueError{
			Key: "terminal.backend", Value: s.Backend, Origin: l.loaded.Origin("terminal.backend"),
			Err: errors.New("the backend ssh needs a host: --host [USER@]HOST[:PORT]"),
		})
	}
	origin := l.loaded.Origin("terminal.ssh_host")
	s.SSH.Host = host
	if user != "" {
		s.SSH.User = user
		l.loaded.origins["terminal.ssh_user"] = origin
	}
	if port != 0 {
		s.SSH.Port = port
		l.loaded.origins["terminal.ssh_port"] = origin
	}
}

// cwd expands ~ where this machine knows the home directory, and drops TERMINAL_CWD elsewhere: it
// names a directory of this machine.
func (l *loader) cwd(s *Settings) {
	if s.Backend != "local" {
		s.CwdFallbacks = slices.DeleteFunc(s.CwdFallbacks, func(d Dir) bool { return d.Origin == "environment TERMINAL_CWD" })
		if len(s.CwdFallbacks) > 0 {
			l.loaded.origins["terminal.cwd"] = s.CwdFallbacks[0].Origin
		} else {
			delete(l.loaded.origins, "terminal.cwd")
		}
		return
	}
	s.Cwd, s.Python, s.StrictPython = l.path(s.Cwd), l.program(s.Python), l.program(s.StrictPython)
	for i := range s.CwdFallbacks {
		s.CwdFallbacks[i].Path = l.path(s.CwdFallbacks[i].Path)
	}
}

// program makes the path of a program absolute. A bare name is looked up in PATH later.
func (l *loader) program(name string) string {
	if !strings.ContainsAny(name, `/\`) {
		return name
	}
	return l.path(name)
}

// timezone drops a zone that nobody knows, which Python would silently take for UTC.
func (l *loader) timezone(s *Settings) {
	if s.Timezone == "" {
		return
	}
	if _, err := time.LoadLocation(s.Timezone); err != nil || s.Timezone == "Local" {
		s.Warnings = append(s.Warnings, fmt.Sprintf("timezone %q (%s) is not known, want an IANA name as Europe/Athens: TZ is left alone",
			s.Timezone, l.loaded.Origin("timezone")))
		s.Timezone = ""
	}
}
