package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-exec/hermes-exec/backend"
)

// crashFile takes what the server prints: nothing, unless the Go runtime ends it, which no code can
// prevent and no log hears of.
func (p Place) crashFile() string { return filepath.Join(p.Dir, "crash") }

// openCrash returns the file for a server that is about to start: a new one, for the server before may
// still be about to print to its own.
func (p Place) openCrash() (*os.File, error) {
	_ = os.Remove(p.crashFile())
	return os.OpenFile(p.crashFile(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// maxCrash is how much of it is looked at, in bytes. Stacks follow.
const maxCrash = 300

// crashed is why the server ended that was started last: the runtime's own words, up to the stacks, on
// one line. It is "" if there are none, as for one that was killed.
func (p Place) crashed() string {
	f, err := os.Open(p.crashFile())
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCrash))
	if err != nil {
		return ""
	}
	why, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n\n")
	return strings.ReplaceAll(why, "\n", "; ")
}

// explained adds to the error of a server that has ended what that said at its end.
func (c *Client) explained(err error) error {
	if said := c.Place.crashed(); said != "" && errors.Is(err, ErrLost) {
		return fmt.Errorf("%w (%s)", backend.Shortage(err, said), said)
	}
	return err
}
