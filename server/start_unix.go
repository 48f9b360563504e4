//go:build unix

package server

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/hermes-exec/hermes-exec/backend"
)

// possible tells why there can be no server here.
func possible() error { return nil }

// Command returns a Client.Start that runs this program again with args: detached from the caller's
// terminal, session and streams, in / and with next to no environment. The listener is its
// descriptor 3; see Inherited.
func Command(args ...string) func(Place, *os.File) error {
	return func(p Place, listener *os.File) error {
		exe, err := executable()
		if err != nil {
			return err
		}
		crash, err := p.openCrash()
		if err != nil {
			return err
		}
		defer crash.Close()
		cmd := exec.Command(exe, args...) // it outlives this program
		cmd.Args[0] = os.Args[0]
		cmd.Dir = "/"
		cmd.Env = environment(os.Environ())
		cmd.Stderr = crash
		cmd.ExtraFiles = []*os.File{listener}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		keepOpenFiles()
		if err := cmd.Start(); err != nil {
			return backend.Exhausted(err)
		}
		return cmd.Process.Release()
	}
}

// keepOpenFiles keeps what this program has inherited, a lock or a pipe of the shell's, from a server
// that would hold it for hours.
func keepOpenFiles() {
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
				syscall.CloseOnExec(fd)
			}
		}
		return
	}
}

// executable is this program, also where its file was replaced meanwhile.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// environment keeps what the Go runtime and the system's libraries look at.
func environment(all []string) []string {
	kept := []string{}
	for _, entry := range all {
		switch name, _, _ := strings.Cut(entry, "="); name {
		case "PATH", "HOME", "TMPDIR", "GOTRACEBACK", "GOCOVERDIR":
			kept = append(kept, entry)
		}
	}
	return kept
}
