package docker

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/mount"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/volume"
)

// mounts are the volumes that were asked for. Hosts tells whether a directory of the host is among
// them. One that does not exist is an error, and not made as root, as docker run -v would.
func (c Config) mounts() (list []mount.Mount, hosts bool, err error) {
	texts := c.Volumes
	if c.MountCwd {
		texts = append(slices.Clone(texts), ".:"+volume.Workspace)
	}
	volumes, err := volume.ParseAll(texts)
	if err != nil {
		return nil, false, fmt.Errorf("%w: volume %w", backend.ErrSetting, err)
	}
	for _, v := range volumes {
		m := mount.Mount{Target: v.Target, ReadOnly: v.ReadOnly}
		if m.Type, m.Source = source(v.Source, c.HostDir, home(c.Env)); m.Source == "" {
			return nil, false, fmt.Errorf("%w: volume %s: there is no home directory that ~ could be", backend.ErrSetting, v.Source)
		}
		hosts = hosts || m.Type == mount.TypeBind
		list = append(list, m)
	}
	return list, hosts, nil
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
	case strings.HasPrefix(text, "/"), filepath.IsAbs(text), volume.OnDrive(text):
		return mount.TypeBind, text
	default:
		return mount.TypeBind, filepath.Join(dir, text)
	}
}
