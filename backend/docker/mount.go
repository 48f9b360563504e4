package docker

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/mount"
)

// workspace is where MountCwd mounts the caller's directory.
const workspace = "/workspace"

// mounts are the volumes that were asked for. Hosts tells whether a directory of the host is among
// them.
func (c Config) mounts() (list []mount.Mount, hosts bool, err error) {
	for _, text := range c.Volumes {
		m, err := parseVolume(text, c.HostDir, c.Env["HOME"])
		if err != nil {
			return nil, false, fmt.Errorf("volume %q: %w", text, err)
		}
		list = append(list, m)
	}
	if c.MountCwd {
		list = append(list, mount.Mount{Type: mount.TypeBind, Source: c.HostDir, Target: workspace})
	}
	hosts = slices.ContainsFunc(list, func(m mount.Mount) bool { return m.Type == mount.TypeBind })
	return list, hosts, nil
}

// parseVolume reads HOST:CONTAINER[:ro] or NAME:CONTAINER[:ro] as docker run -v does, but for a
// directory of the host that does not exist: that is an error, and not made as root.
func parseVolume(text, dir, home string) (mount.Mount, error) {
	drive := ""
	if len(text) > 2 && text[1] == ':' && (text[2] == '\\' || text[2] == '/') {
		drive, text = text[:2], text[2:] // C:\data:/data
	}
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" {
		return mount.Mount{}, fmt.Errorf("want HOST:CONTAINER or HOST:CONTAINER:ro")
	}
	m := mount.Mount{Type: mount.TypeVolume, Source: drive + parts[0], Target: parts[1]}
	if !path.IsAbs(m.Target) {
		return mount.Mount{}, fmt.Errorf("%q is no absolute path", m.Target)
	}
	switch {
	case strings.HasPrefix(parts[0], "~/") && home != "":
		m.Type, m.Source = mount.TypeBind, filepath.Join(home, parts[0][2:])
	case strings.HasPrefix(parts[0], "."):
		m.Type, m.Source = mount.TypeBind, filepath.Join(dir, parts[0])
	case strings.ContainsAny(parts[0], `/\`):
		m.Type = mount.TypeBind
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
