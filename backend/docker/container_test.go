package docker

import (
	"strings"
	"testing"

	"github.com/docker/docker/api/types/mount"
)

// The temporary directory has half of the memory, but never less than what a run needs there.
func TestTemp(t *testing.T) {
	for memory, want := range map[int64]string{2 << 30: ",size=1073741824", 64 << 20: ",size=33554432", 20 << 20: ",size=16777216", 0: "mode=1777"} {
		got := Config{Memory: memory}.spec("python3", nil, nil).host.Tmpfs[temp]
		if !strings.HasPrefix(got, "rw,exec,") || !strings.HasSuffix(got, want) {
			t.Errorf("%d bytes of memory: %q, want %q", memory, got, want)
		}
	}
	mounted := Config{Memory: 64 << 20}.spec("python3", []mount.Mount{{Target: temp}}, nil)
	if mounted.host.Tmpfs != nil {
		t.Errorf("%v beside a directory that is mounted there", mounted.host.Tmpfs)
	}
}
