package hermes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
)

// openFigures is said of figures whose process came to no end of Python's own.
const openFigures = "figures that were open are not saved: their process was ended, or ended itself, before Python's own end " +
	"(a signal, os._exit, a worker of multiprocessing); plt.show() saves them at once"

// shownLeftOut is how many artifacts that did not come are named, of a kind.
const shownLeftOut = 10

// leftOut are artifacts that did not come: names, and why.
type leftOut struct {
	Count int         `json:"count"`
	First [][2]string `json:"first"`
}

func (l *leftOut) add(name, why string) {
	if l.Count++; len(l.First) < shownLeftOut {
		l.First = append(l.First, [2]string{name, why})
	}
}

// clip holds it to what it should be, whoever made it.
func (l *leftOut) clip() {
	l.First = l.First[:min(len(l.First), shownLeftOut)]
	l.Count = max(l.Count, len(l.First))
}

// warnings are one for each, as far as they are named.
func (l *leftOut) warnings(one, more string) []string {
	var list []string
	for _, f := range l.First {
		list = append(list, fmt.Sprintf("artifact %s %s: %s", legible(f[0]), one, oneLine(f[1])))
	}
	if rest := l.Count - len(l.First); rest > 0 {
		list = append(list, fmt.Sprintf("%d more artifact(s) %s", rest, more))
	}
	return list
}

// list names them in one line.
func (l *leftOut) list() string {
	var list []string
	for _, f := range l.First {
		list = append(list, legible(f[0])+" ("+oneLine(f[1])+")")
	}
	if rest := l.Count - len(l.First); rest > 0 {
		list = append(list, fmt.Sprintf("%d more", rest))
	}
	return strings.Join(list, ", ")
}

// leftBehind reads from an environment what it did not send, and warns of it.
func (r *run) leftBehind(report io.Reader) error {
	var left struct {
		Root   string  `json:"root"`
		Over   leftOut `json:"over"`       // the limits, and
		Bytes  int64   `json:"bytes_over"` // how many bytes they have
		Unread leftOut `json:"unread"`
		Odd    leftOut `json:"odd"`
		Failed leftOut `json:"failed"` // figures
		Open   bool    `json:"open"`   // figures were, where a process ended without saving them
		Other  string  `json:"other"`  // the backend that has figures open in place of ours
	}
	if err := json.NewDecoder(io.LimitReader(report, maxReport)).Decode(&left); err != nil {
		return fmt.Errorf("what was left out: %w", err)
	}
	if left.Root != "" {
		r.warnings = append(r.warnings, "artifacts were lost: the directory $"+envArtifacts+" "+oneLine(left.Root))
	}
	for _, l := range []*leftOut{&left.Over, &left.Unread, &left.Odd, &left.Failed} {
		l.clip()
	}
	r.warnings = append(r.warnings, left.Unread.warnings("was left out", "could not be read")...)
	if left.Odd.Count > 0 {
		r.warnings = append(r.warnings, "only regular files are brought back, and not "+left.Odd.list())
	}
	r.warnings = append(r.warnings, left.Failed.warnings("was not saved", "could not be saved")...)
	r.drawnBy = oneLine(left.Other)
	if left.Open && r.env.figures() {
		r.warnings = append(r.warnings, openFigures)
	}
	if left.Over.Count > 0 {
		r.warnings = append(r.warnings, fmt.Sprintf("%d artifact(s) with %s were left out: at most %d files and %d MiB are brought back, and not %s",
			left.Over.Count, byteCount(left.Bytes), maxArtifacts, maxArtifactBytes>>20, left.Over.list()))
	}
	return nil
}

// sound passes data on and remembers why it ended: whoever copies it can tell an error of its own.
type sound struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (s *sound) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// whyNot tells a person why name could not be written. What the system says of a rename has the name of
// a temporary file in it, and of a directory that is in the way that it exists.
func (u *unpacking) whyNot(name string, err error) string {
	if info, failed := u.root.Lstat(name); failed == nil && info.IsDir() {
		return "a directory has this name"
	}
	if why := u.ledAway(filepath.Dir(name)); why != "" {
		return why
	}
	if errors.Is(err, fs.ErrExist) {
		return "a file has the name of its directory"
	}
	if link := (*os.LinkError)(nil); errors.As(err, &link) {
		return link.Err.Error()
	}
	if of := (*fs.PathError)(nil); errors.As(err, &of) {
		return of.Err.Error()
	}
	return err.Error()
}

// ledAway tells of the first symbolic link on the way to a directory that leads to none, if there is one.
// It may be the caller's own and lead where they want it to: but a script, which chooses the names, could
// write there through it. What os.Root says of such a link has no name for an error and none of a file.
func (u *unpacking) ledAway(dir string) string {
	if dir == "." {
		return ""
	}
	if why := u.ledAway(filepath.Dir(dir)); why != "" {
		return why
	}
	info, err := u.root.Lstat(dir)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return ""
	}
	if to, err := u.root.Stat(dir); err == nil && to.IsDir() {
		return ""
	}
	where := legible(u.path(dir))
	if to, err := u.root.Readlink(dir); err == nil {
		where += " is a symbolic link to " + legible(to)
	} else {
		where += " is a symbolic link"
	}
	return where + ", and one is followed only if it is relative and leads to a directory in " + legible(u.path("")) +
		": put a directory in its place, or name the one that is meant with --artifacts"
}

// byteCount is a number of bytes in words.
func byteCount(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// legible is a name as it stands in a message: quoted, if it is not plain to see there.
func legible(name string) string {
	if strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return strconv.Quote(name)
	}
	return name
}

// oneLine is text that was made elsewhere, as it stands in a message.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }), " ")
}
