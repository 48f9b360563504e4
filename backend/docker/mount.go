package docker

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/docker/docker/api/types/mount"

	"github.com/hermes-exec/hermes-exec/backend"
)

// workspace is where MountCwd mounts the caller's directory.
const workspace = "/workspace"

// mounts are the volumes that were asked for. Hosts tells whether a directory of the host is among
// them.
func (c Config) mounts() (list []mount.Mount, hosts bool, err error) {
	for _, text := range c.Volumes {
		m, err := parseVolume(text, c.HostDir, home(c.Env))
		if err != nil {
			return nil, false, fmt.Errorf("%w: volume %q: %w", backend.ErrSetting, text, err)
		}
		list = append(list, m)
	}
	if c.MountCwd {
		list = append(list, mount.Mount{Type: mount.TypeBind, Source: c.HostDir, Target: workspace})
	}
	hosts = slices.ContainsFunc(list, func(m mount.Mount) bool { return m.Type == mount.TypeBind })
	return list, hosts, nil
}

// onDrive tells whether a path is one of Windows, such as C:\data.
func onDrive(name string) bool {
	return len(name) > 2 && unicode.IsLetter(rune(name[0])) && name[1] == ':' && strings.ContainsRune(`/\`, rune(name[2]))
}

// parseVolume reads HOST:CONTAINER[:ro] or NAME:CONTAINER[:ro] as docker run -v does, but for a
// directory of the host that does not exist: that is an error, and not made as root. Dir is where
// relative paths lead from.
func parseVolume(text, dir, home string) (mount.Mount, error) {
	letter := ""
	if onDrive(text) && strings.Count(text, ":") > 1 {
		letter, text = text[:2], text[2:] // C:\data:/data
	}
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" {
		return mount.Mount{}, errors.New("want HOST:CONTAINER or HOST:CONTAINER:ro")
	}
	m := mount.Mount{Source: letter + parts[0], Target: parts[1]}
	if !path.IsAbs(m.Target) {
		return mount.Mount{}, fmt.Errorf("%q is no absolute path", m.Target)
	}
	if m.Type, m.Source = source(m.Source, dir, home); m.Source == "" {
		return mount.Mount{}, errors.New("there is no home directory that ~ could be")
	}
	if len(parts) == 3 {
		switch parts[2] {
		case "ro":
			m.ReadOnly = true
		case "rw", "":
		default:
			return mount.Mount{}, fmt.Errorf("unknown option %q: there are ro and rw", parts[2])
		}
	}
	return m, nil
}

// source tells a directory of the host from a volume, which is a name alone. It is "" for a home that is
// none.
func source(text, dir, home string) (mount.Type, string) {
	switch {
	case (text == "~" || strings.HasPrefix(text, "~/")) && home == "":
		return mount.TypeBind, ""
	case text == "~" || strings.HasPrefix(text, "~/"):
		return mount.TypeBind, filepath.Join(home, text[1:])
	case !strings.ContainsAny(text, `/\`) && text != "." && text != "..":
		return mount.TypeVolume, text
	case strings.HasPrefix(text, "/"), filepath.IsAbs(text), onDrive(text):
		return mount.TypeBind, text
	default:
		return mount.TypeBind, filepath.Join(dir, text)
	}
}
