// Package owner marks what a process leaves on a machine, so that others can tell whether it is
// still wanted.
//
// A process identifier alone proves nothing: it is given again, and means another process in another
// container or on another machine that shares the directory. A Mark has what it takes to be sure,
// and where that is not enough its owner counts as alive.
package owner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// FileName is the file in a directory that says whose it is. The guest agent writes it too.
const FileName = ".owner"

// Mark identifies a process of some machine for ever. Facts that the system does not tell are "-".
type Mark struct {
	PID   int
	Start string // when it started, as the system counts
	Boot  string // the boot of the machine that it runs in
	Space string // the namespace of its identifier
	Node  string // the name of the machine
}

// unknown stands for a fact that the system does not tell.
const unknown = "-"

// Self is the mark of this process.
func Self() Mark {
	node, err := os.Hostname()
	if err != nil || strings.ContainsAny(node, " \n") {
		node = unknown
	}
	pid := os.Getpid()
	return Mark{PID: pid, Start: started(pid), Boot: boot(), Space: space(), Node: node}
}

// String is the mark as it is written to a file, without a line end.
func (m Mark) String() string {
	return fmt.Sprintf("%d %s %s %s %s", m.PID, m.Start, m.Boot, m.Space, m.Node)
}

// Write marks a directory.
func (m Mark) Write(dir string) error {
	return os.WriteFile(filepath.Join(dir, FileName), []byte(m.String()+"\n"), 0o600)
}

// ErrMark means that a text is no mark.
var ErrMark = errors.New("no mark of an owner")

// maxMark is longer than any mark, in bytes.
const maxMark = 1 << 10

// Read returns the mark of a directory.
func Read(dir string) (Mark, error) {
	f, err := os.OpenFile(filepath.Join(dir, FileName), os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return Mark{}, err
	}
	defer f.Close()
	text := make([]byte, maxMark)
	n, err := f.Read(text)
	if err != nil {
		return Mark{}, fmt.Errorf("%s: %w", f.Name(), ErrMark)
	}
	return Parse(string(text[:n]))
}

// Parse reads what String wrote.
func Parse(text string) (Mark, error) {
	parts := strings.Fields(text)
	if len(parts) != 5 {
		return Mark{}, ErrMark
	}
	pid, err := strconv.Atoi(parts[0])
	if err != nil || pid <= 0 {
		return Mark{}, ErrMark
	}
	return Mark{PID: pid, Start: parts[1], Boot: parts[2], Space: parts[3], Node: parts[4]}, nil
}

// Dead tells whether the process is gone beyond doubt: it ran on this machine, and either before the
// last boot, or where its identifier means the same as here and now belongs to nobody or to another.
func (m Mark) Dead() bool {
	dead, _ := m.Fate()
	return dead
}

// Fate is Dead with what is known of the process, for people.
func (m Mark) Fate() (dead bool, known string) {
	here, process := Self(), "process "+strconv.Itoa(m.PID)
	switch {
	case m.Node != here.Node || m.Node == unknown:
		return false, process + " of another machine, " + m.Node + ", cannot be told to have ended"
	case m.Boot != unknown && here.Boot != unknown && m.Boot != here.Boot:
		return true, process + " has ended"
	case m.Boot != here.Boot:
		return false, process + " of an unknown boot of this machine cannot be told to have ended"
	case m.Space != here.Space:
		return false, process + " of another pid namespace cannot be told to have ended"
	case !exists(m.PID):
		return true, process + " has ended"
	}
	now := started(m.PID)
	if m.Start != unknown && now != unknown && now != m.Start {
		return true, process + " has ended"
	}
	return false, process + " lives and uses it"
}
