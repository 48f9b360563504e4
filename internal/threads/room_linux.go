package threads

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// counted is the highest limit of a user that is looked into, for that means a look at every process:
// who may have more has some left.
const counted = 8192

// room is how many processes and threads may still be started, as far as can be told.
func room() int { return min(roomOfUser(), roomOfGroups("/sys/fs/cgroup", "/proc/self/cgroup")) }

// roomOfUser is what RLIMIT_NPROC leaves. (Root is not bound by it in the first user namespace; one
// that has set it all the same runs on fewer processors.)
func roomOfUser() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &limit) != nil || limit.Cur > counted {
		return unlimited
	}
	uid := []byte(strconv.Itoa(os.Getuid()))
	lists, err := filepath.Glob("/proc/[0-9]*/status") // the owner of /proc/PID is root's where it hides
	if err != nil {
		return unlimited
	}
	left := int(limit.Cur)
	for _, name := range lists {
		if status, err := os.ReadFile(name); err == nil && bytes.Equal(field(status, "Uid:"), uid) {
			threads, _ := strconv.Atoi(string(field(status, "Threads:")))
			left -= max(1, threads)
		}
	}
	return left
}

// field is the first word behind a name in a file of lines.
func field(status []byte, name string) []byte {
	_, rest, found := bytes.Cut(status, []byte("\n"+name))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	if words := bytes.Fields(line); found && len(words) > 0 {
		return words[0]
	}
	return nil
}

// roomOfGroups is what the control groups of this process leave, version 1 or 2.
func roomOfGroups(root, list string) int {
	groups, err := os.ReadFile(list)
	if err != nil {
		return unlimited
	}
	left := unlimited
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) < 3:
		case parts[1] == "":
			left = min(left, roomOfGroup(root, parts[2]))
		case parts[1] == "pids":
			left = min(left, roomOfGroup(filepath.Join(root, "pids"), parts[2]))
		}
	}
	return left
}

// roomOfGroup is what a control group and those that it is in leave.
func roomOfGroup(root, group string) int {
	left := unlimited
	for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
		most, limited := number(filepath.Join(root, dir, "pids.max"))
		if now, known := number(filepath.Join(root, dir, "pids.current")); limited && known {
			left = min(left, most-now)
		}
		if dir == "/" {
			return left
		}
	}
}

// number reads a file that holds one. There is none in one that says "max".
func number(name string) (n int, ok bool) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, false
	}
	n, err = strconv.Atoi(strings.TrimSpace(string(text)))
	return n, err == nil
}
