//go:build unix

package server

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/hermes-exec/hermes-exec/internal/owner"
)

// surroundings tell apart the processes of which none could serve the other: those of other users,
// machines and containers that share the directory.
func surroundings() string {
	m := owner.Self()
	machine := m.Node
	if id, err := os.ReadFile("/etc/machine-id"); err == nil && len(id) > 0 {
		machine = strings.TrimSpace(string(id)) // a laptop's name changes with its network
	}
	return fmt.Sprintf("%d %s %s", os.Geteuid(), machine, m.Space)
}

// private checks a directory: a real one, of this user, closed to all others.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is no directory: remove it", dir)
	case !ok || int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s is not this user's: remove it", dir)
	case info.Mode().Perm()&0o077 != 0: // a server may live in it
		return fmt.Errorf("%s is open to others: chmod 700 %[1]s", dir)
	}
	return nil
}
