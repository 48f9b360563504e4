//go:build unix

package local

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// alive tells whether a process has not ended; a zombie has.
func alive(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		return !strings.Contains(string(stat), ") Z ")
	}
	return syscall.Kill(pid, 0) == nil
}
