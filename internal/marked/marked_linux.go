package marked

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// endWait bounds the search: a killed process that is in a system call may take long.
const endWait = 2 * time.Second

// End kills every process of this user that has a mark of the environment with this scratch
// directory, and waits until it finds none.
func End(scratch string) {
	pause := time.Millisecond
	for deadline := time.Now().Add(endWait); ; pause *= 2 {
		found := processes(scratch)
		if len(found) == 0 || time.Now().After(deadline) {
			return
		}
		for _, pid := range found {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		<-time.After(pause)
	}
}

func processes(scratch string) []int {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	var found []int
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err == nil && pid != os.Getpid() && (hasVariable(dir, scratch) || writes(dir, scratch)) {
			found = append(found, pid)
		}
	}
	return found
}

// hasVariable tells whether a process has the scratch in its environment. That of another user's
// cannot be read, and of a zombie there is nothing to read.
func hasVariable(dir, scratch string) bool {
	vars, err := os.ReadFile(filepath.Join(dir, "environ"))
	return err == nil && bytes.Contains(vars, []byte(scratch))
}

// writes tells whether a process holds a FIFO of the scratch, which is unlinked by then, to write to.
// The reader is the host, which may be another hermes-exec that still has to tell of the end.
func writes(dir, scratch string) bool {
	files, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return false
	}
	for _, file := range files {
		link := filepath.Join(dir, "fd", file.Name())
		path, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(path, filepath.Join(scratch, FIFO)) {
			continue
		}
		if info, err := os.Lstat(link); err == nil && info.Mode()&0o200 != 0 {
			return true
		}
	}
	return false
}
