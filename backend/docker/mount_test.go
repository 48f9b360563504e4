package docker

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/mount"

	"github.com/hermes-exec/hermes-exec/backend"
)

func TestMounts(t *testing.T) {
	cfg := Config{HostDir: "/home/me/app", Env: map[string]string{"HOME": "/home/me"}}
	bind := func(source string) mount.Mount {
		return mount.Mount{Type: mount.TypeBind, Source: source, Target: "/data"}
	}
	for text, want := range map[string]mount.Mount{
		"/srv:/data":      bind("/srv"),
		"~:/data":         bind("/home/me"),
		"~/x:/data":       bind("/home/me/x"),
		".:/data":         bind("/home/me/app"),
		"..:/data":        bind("/home/me"),
		"./x:/data":       bind("/home/me/app/x"),
		"x/y:/data":       bind("/home/me/app/x/y"),
		`C:\srv:/data`:    bind(`C:\srv`),
		"cache:/data":     {Type: mount.TypeVolume, Source: "cache", Target: "/data"},
		".cache:/data:ro": {Type: mount.TypeVolume, Source: ".cache", Target: "/data", ReadOnly: true},
		"v:/data":         {Type: mount.TypeVolume, Source: "v", Target: "/data"},
	} {
		cfg.Volumes = []string{text}
		got, hosts, err := cfg.mounts()
		if err != nil || !slices.Equal(got, []mount.Mount{want}) || hosts != (want.Type == mount.TypeBind) {
			t.Errorf("%s: %+v, %t, %v; want %+v", text, got, hosts, err, want)
		}
	}
	for text, cfg := range map[string]Config{
		"there is no home directory that ~ could be":    {Volumes: []string{"~/x:/data"}},
		`volume "x": want HOST:CONTAINER`:               {Volumes: []string{"x"}},
		`/workspace is where "x:/workspace" is mounted`: {Volumes: []string{"x:/workspace"}, MountCwd: true},
	} {
		if _, _, err := cfg.mounts(); !errors.Is(err, backend.ErrSetting) || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %v; want %s", cfg, err, text)
		}
	}
}
