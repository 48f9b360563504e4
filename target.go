package hermes

import (
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/config"
)

// directories are the working directories to try, in order. One without an Origin was asked for and
// may not be passed over. The last one is the caller's, or the environment's own.
func directories(o Options) []config.Dir {
	if o.Settings.Cwd != "" {
		return []config.Dir{{Path: o.Settings.Cwd}}
	}
	return append(slices.Clone(o.Settings.CwdFallbacks), config.Dir{Path: o.Dir, Origin: "the caller's"})
}

// target is the URL of the environment, for the opener of its scheme.
func target(s config.Settings, dir string) *url.URL {
	query := url.Values{}
	set := func(key, value string) {
		if value != "" {
			query.Set(key, value)
		}
	}
	set("mode", string(s.Mode))
	if set("python", s.Python); s.Python == "" && s.Mode == config.Strict {
		set("python", s.StrictPython)
	}
	return &url.URL{Scheme: s.Backend, Path: filepath.ToSlash(dir), OmitHost: true, RawQuery: query.Encode()}
}

// names lists the backends for a message.
func names(openers map[string]backend.Opener) string {
	return strings.Join(slices.Sorted(maps.Keys(openers)), ", ")
}

// seconds writes a duration as a number of seconds without needless decimals.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
