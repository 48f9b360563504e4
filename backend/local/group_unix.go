//go:build unix

package local

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/hermes-exec/hermes-exec/backend"
)

// group is a process group, in a session of its own. Who makes another session leaves it.
type group struct {
	mu  sync.Mutex
	pid int // of the first process, and the group's name; 0: there is no group, or no more
}

func newGroup(cmd *exec.Cmd) (*group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return &group{}, nil
}

// adopt tells the group of its first process.
func (g *group) adopt(p *os.Process) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pid = p.Pid
	return nil
}

// kill is what kill(2) says of the group.
func (g *group) kill(sig syscall.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pid == 0 {
		return syscall.ESRCH
	}
	return syscall.Kill(-g.pid, sig)
}

// send signals all of the group.
func (g *group) send(sig backend.Signal) error {
	if err := g.kill(syscall.Signal(sig)); !nobody(err) {
		return err
	}
	return nil
}

// nobody tells whether an error says that nothing of a group lives. That there are zombies is EPERM to
// macOS.
func nobody(err error) bool { return errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) }

// empty tells whether all have ended. Those that nobody has waited for yet have, as far as the system
// tells of them.
func (g *group) empty() bool {
	if nobody(g.kill(0)) {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	return len(stats) > 0 && !slices.ContainsFunc(stats, g.lives)
}

// lives tells whether a process is in the group and has not ended, by its stat: a name in brackets, which
// may hold anything, then its state, its parent and its group.
func (g *group) lives(stat string) bool {
	text, err := os.ReadFile(stat)
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	return err == nil && len(fields) > 2 && fields[2] == strconv.Itoa(g.pid) && !strings.ContainsAny(fields[0], "ZX")
}

// members names what is left.
func (g *group) members() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return []string{fmt.Sprintf("%d process group", g.pid)}
}

// release forgets the group, whose name may be given to another.
func (g *group) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pid = 0
}

// fate is how the first process ended.
func (*group) fate(state *os.ProcessState) error {
	switch status, ok := state.Sys().(syscall.WaitStatus); {
	case !ok:
		return backend.ErrNoExitStatus
	case status.Signaled():
		return &backend.ExitError{Code: -int(status.Signal()), Signal: backend.Signal(status.Signal())}
	case status.ExitStatus() != 0:
		return &backend.ExitError{Code: status.ExitStatus()}
	}
	return nil
}

// notExecutable tells whether an error of a start says that a file is no program.
func notExecutable(err error) bool {
	return errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOEXEC) || errors.Is(err, syscall.EPERM)
}
