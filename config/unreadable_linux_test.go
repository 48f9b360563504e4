package config

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// nobody is a user who owns none of the files here.
const nobody = 65534

// The administrator may read everything, and looks here as somebody else does.
func TestUnreadable(t *testing.T) {
	in := input(t)
	in.File = write(t, "")
	if err := os.Chmod(in.File, 0); err != nil {
		t.Fatal(err)
	}
	loaded := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this, and nobody else is that user
		if os.Geteuid() == 0 {
			if err := unix.Setfsuid(nobody); err != nil {
				t.Error(err)
			}
		}
		_, err := Load(in)
		loaded <- err
	}()
	if err := <-loaded; !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v", err)
	}
}
