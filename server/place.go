// Package server keeps sessions between calls of the command line: a background process, one per
// user and HERMES_HOME, that holds them, and the client that starts it and talks to it.
//
// The process uses nothing of its own: settings, environment variables and directories come with
// every request. It knows sessions only by package hermes, and nothing of flags.
package server

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hermes-exec/hermes-exec/internal/owner"
)

// maxSocketPath is the longest path of a Unix socket that every system takes, in bytes.
const maxSocketPath = 103

// Place is where the server of one user and one HERMES_HOME is met. Processes that could not share
// a server, because they are on other machines or in other containers, have another place.
type Place struct {
	Home   string // HERMES_HOME, absolute
	Dir    string // the directory for all but the socket; below Home
	Socket string
}

// Locate computes the place of this user's server. It makes nothing.
func Locate(home string) (Place, error) {
	if !filepath.IsAbs(home) {
		return Place{}, errors.New("sessions need a HERMES_HOME: set it, or HOME")
	}
	return placeIn(home, filepath.Join(home, "run-"+digest(surroundings())[:12])), nil
}

// placeIn is the place whose directory is dir.
func placeIn(home, dir string) Place {
	p := Place{Home: home, Dir: dir, Socket: filepath.Join(dir, "sock")}
	if len(p.Socket) > maxSocketPath {
		p.Socket = filepath.Join(shortRoot(), digest(p.Dir)[:16], "sock")
	}
	return p
}

// shortRoot is for sockets whose HERMES_HOME has a long path. It depends on nothing but the user, so
// that all callers agree.
func shortRoot() string { return "/tmp/hermes-exec-" + strconv.Itoa(os.Geteuid()) }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// dirs are the directories of the place, outermost first.
func (p Place) dirs() []string {
	dirs := []string{p.Dir}
	if dir := filepath.Dir(p.Socket); dir != p.Dir {
		dirs = append(dirs, filepath.Dir(dir), dir)
	}
	return dirs
}

// make makes the directories and checks that nobody else can reach into them.
func (p Place) make() error {
	if err := os.MkdirAll(p.Home, 0o700); err != nil {
		return fmt.Errorf("make HERMES_HOME: %w", err)
	}
	for _, dir := range p.dirs() {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make the directory of the session server: %w", err)
		}
	}
	return p.check()
}

// check refuses directories that others own or may enter: they could meet the callers of a server.
func (p Place) check() error {
	for _, dir := range p.dirs() {
		if err := private(dir); err != nil {
			return err
		}
	}
	return nil
}

// clear removes the socket, and the directories that were made for it.
func (p Place) clear() {
	_ = os.Remove(p.Socket)
	if dir := filepath.Dir(p.Socket); dir != p.Dir {
		_ = os.Remove(dir)
		_ = os.Remove(filepath.Dir(dir)) // unless another server's socket is there
	}
}

func (p Place) lockFile() string  { return filepath.Join(p.Dir, "lock") }
func (p Place) aliveFile() string { return filepath.Join(p.Dir, "sessions") }
func (p Place) ownerFile() string { return filepath.Join(p.Dir, owner.FileName) }
