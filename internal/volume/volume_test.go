package volume_test

import (
	"slices"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/volume"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]volume.Volume{
		"/srv:/data":         {Source: "/srv", Target: "/data"},
		"/srv:/data/":        {Source: "/srv", Target: "/data"},
		"/srv:/data:ro":      {Source: "/srv", Target: "/data", ReadOnly: true},
		"/srv:/data:rw":      {Source: "/srv", Target: "/data"},
		"~/x:/data":          {Source: "~/x", Target: "/data"},
		"cache:/data":        {Source: "cache", Target: "/data"},
		`C:\srv:/data`:       {Source: `C:\srv`, Target: "/data"},
		`C:/srv:/data:ro`:    {Source: `C:/srv`, Target: "/data", ReadOnly: true},
		"/a dir with é:/x y": {Source: "/a dir with é", Target: "/x y"},
		"/srv:/run":          {Source: "/srv", Target: "/run"},
		"/srv:/run/hermes":   {Source: "/srv", Target: "/run/hermes"},
	} {
		if got, err := volume.Parse(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	const meeting = "/run/hermes-exec is where hermes-exec itself and the container meet: mount it elsewhere"
	for text, want := range map[string]string{
		"/srv":                      "want HOST:CONTAINER or HOST:CONTAINER:ro",
		":/data":                    "want HOST:CONTAINER or HOST:CONTAINER:ro",
		"/srv:/data:ro:z":           "want HOST:CONTAINER or HOST:CONTAINER:ro",
		"/srv:data":                 `"data" is no absolute path`,
		"/srv:":                     `"" is no absolute path`,
		"/srv:/data:readon":         `unknown option "readon": there are ro and rw`,
		"/srv:/":                    "the root of a container is its image's",
		"/srv:/data/..":             "the root of a container is its image's",
		"/srv:/run/hermes-exec":     meeting,
		"/srv:/run/./hermes-exec/x": meeting,
	} {
		if _, err := volume.Parse(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

func TestParseAll(t *testing.T) {
	got, err := volume.ParseAll([]string{"/a:/x", "/a:/y:ro"})
	if want := []volume.Volume{{Source: "/a", Target: "/x"}, {Source: "/a", Target: "/y", ReadOnly: true}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	_, err = volume.ParseAll([]string{"/a:/x", "/b:/x/", "c", "/d:/x:no"})
	const want = `"/b:/x/": /x is where "/a:/x" is mounted already; "c": want HOST:CONTAINER or HOST:CONTAINER:ro; ` +
		`"/d:/x:no": unknown option "no": there are ro and rw`
	if err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
}
