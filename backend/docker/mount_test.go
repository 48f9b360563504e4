package docker

import (
	"testing"

	"github.com/docker/docker/api/types/mount"
)

func TestVolumes(t *testing.T) {
	for text, want := range map[string]mount.Mount{
		"/srv:/data":         {Type: mount.TypeBind, Source: "/srv", Target: "/data"},
		"/srv:/data:ro":      {Type: mount.TypeBind, Source: "/srv", Target: "/data", ReadOnly: true},
		"/srv:/data:rw":      {Type: mount.TypeBind, Source: "/srv", Target: "/data"},
		"~:/data":            {Type: mount.TypeBind, Source: "/home/me", Target: "/data"},
		"~/x:/data":          {Type: mount.TypeBind, Source: "/home/me/x", Target: "/data"},
		".:/data":            {Type: mount.TypeBind, Source: "/home/me/app", Target: "/data"},
		"..:/data":           {Type: mount.TypeBind, Source: "/home/me", Target: "/data"},
		"./x:/data":          {Type: mount.TypeBind, Source: "/home/me/app/x", Target: "/data"},
		"x/y:/data":          {Type: mount.TypeBind, Source: "/home/me/app/x/y", Target: "/data"},
		"cache:/data":        {Type: mount.TypeVolume, Source: "cache", Target: "/data"},
		".cache:/data:ro":    {Type: mount.TypeVolume, Source: ".cache", Target: "/data", ReadOnly: true},
		"v:/data":            {Type: mount.TypeVolume, Source: "v", Target: "/data"},
		`C:\srv:/data`:       {Type: mount.TypeBind, Source: `C:\srv`, Target: "/data"},
		`C:/srv:/data:ro`:    {Type: mount.TypeBind, Source: `C:/srv`, Target: "/data", ReadOnly: true},
		"/a dir with é:/x y": {Type: mount.TypeBind, Source: "/a dir with é", Target: "/x y"},
	} {
		got, err := parseVolume(text, "/home/me/app", "/home/me")
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	if _, err := parseVolume("~/x:/data", "/home/me/app", ""); err == nil || err.Error() != "there is no home directory that ~ could be" {
		t.Errorf("without a home: %v", err)
	}
	for text, want := range map[string]string{
		"/srv":              "want HOST:CONTAINER or HOST:CONTAINER:ro",
		":/data":            "want HOST:CONTAINER or HOST:CONTAINER:ro",
		"/srv:/data:ro:z":   "want HOST:CONTAINER or HOST:CONTAINER:ro",
		"/srv:data":         `"data" is no absolute path`,
		"/srv:":             `"" is no absolute path`,
		"/srv:/data:readon": `unknown option "readon": there are ro and rw`,
	} {
		if _, err := parseVolume(text, "/home/me/app", "/home/me"); err == nil || err.Error() != want {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}
