package hermes

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/config"
)

// directories are the working directories to try, in order. One without an Origin was asked for and
// may not be passed over. The last one is the caller's, where the environment sees that (here),
// else the environment's own, which is "".
func directories(o Options, here bool) []config.Dir {
	if o.Settings.Cwd != "" {
		return []config.Dir{{Path: o.Settings.Cwd}}
	}
	last := config.Dir{}
	if here {
		last = config.Dir{Path: o.Dir, Origin: "the caller's"}
	}
	return append(slices.Clone(o.Settings.CwdFallbacks), last)
}

// names lists the backends for a message.
func names(openers map[string]backend.Opener) string {
	return strings.Join(slices.Sorted(maps.Keys(openers)), ", ")
}

// seconds writes a duration as a number of seconds without needless decimals.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
