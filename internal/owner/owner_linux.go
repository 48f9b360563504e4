package owner

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// stat is a field of a process's stat, by its number, which is above 2. The name before those may hold
// anything but is in brackets.
func stat(pid, number int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return unknown
	}
	text := string(data)
	parts := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(parts) <= number-3 {
		return unknown
	}
	return parts[number-3]
}

func started(pid int) string { return stat(pid, 22) }

func boot() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if text := strings.TrimSpace(string(data)); err == nil && text != "" {
		return text
	}
	return unknown
}

func space() string {
	text, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return unknown
	}
	return text
}

// exists tells whether the identifier belongs to a process, of whomever, that has not ended: one that
// nobody has waited for yet has.
func exists(pid int) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) && !zombie(pid)
}

// zombie tells whether all of a process has ended: the first of its threads may alone.
func zombie(pid int) bool {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return err == nil && len(threads) == 1 && stat(pid, 3) == "Z"
}

// nonBlock keeps a FIFO in the place of the file from holding up its reader.
const nonBlock = syscall.O_NONBLOCK
