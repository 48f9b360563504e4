package local

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// markedPatience bounds the search for what outlived its supervisor.
const markedPatience = 2 * time.Second

// endMarked kills every process that has the scratch of an environment in its variables, which all
// that run in one have. It is the last line, for user code that killed the agent and a supervisor both:
// then nobody is left whose descendants they are.
func endMarked(scratch string) {
	pause := time.Millisecond
	for deadline := time.Now().Add(markedPatience); ; pause *= 2 {
		found := marked(scratch)
		if len(found) == 0 || time.Now().After(deadline) {
			return
		}
		for _, pid := range found {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		<-time.After(pause)
	}
}

func marked(scratch string) []int {
	var found []int
	lists, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	for _, name := range lists {
		// Those of other users cannot be read, and of a zombie there is nothing to read.
		if vars, err := os.ReadFile(name); err == nil && bytes.Contains(vars, []byte(scratch)) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil && pid != os.Getpid() {
				found = append(found, pid)
			}
		}
	}
	return found
}
