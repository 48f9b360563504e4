package all_test

import (
	"runtime"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend/all"
)

// Only where there is no POSIX has the local environment no kernels.
func TestKeepsState(t *testing.T) {
	for _, name := range all.Names() {
		want := name != "local" || runtime.GOOS != "windows"
		if got := all.KeepsState(name); got != want {
			t.Errorf("%s keeps state: %t, want %t", name, got, want)
		}
	}
}
