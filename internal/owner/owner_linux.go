package owner

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// started is the 22nd field of stat. The name before it may hold anything but is in brackets.
func started(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return unknown
	}
	text := string(data)
	parts := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const index = 22 - 3 // the fields after the name begin with the third
	if len(parts) <= index {
		return unknown
	}
	return parts[index]
}

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

// exists tells whether the identifier belongs to a process, of whomever.
func exists(pid int) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// nonBlock keeps a FIFO in the place of the file from holding up its reader.
const nonBlock = syscall.O_NONBLOCK
