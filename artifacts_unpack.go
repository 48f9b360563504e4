package hermes

import (
	"archive/tar"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// maxWhy bounds a reason.
const maxWhy = 1 << 10

// unpacking is an archive of artifacts on its way into a directory.
type unpacking struct {
	run      *run
	root     *os.Root
	localize func(string) (string, error) // filepath.Localize, or another system's
	files    int                          // that were sent
	room     int64                        // for more of them
	last     *wholeYet                    // the one before, if it could be written
	brought  []fs.FileInfo                // those that have their names
	failed   leftOut
}

// wholeYet is a file that has come, under a name of ours. It gets its own when the next entry does not
// say that it is torn: what the caller has under that name is not lost for half a file.
type wholeYet struct {
	temp, name string
	info       fs.FileInfo
	artifact   Artifact
}

func (r *run) unpack(root *os.Root, archive *tar.Reader) error {
	u := unpacking{run: r, root: root, localize: filepath.Localize, room: maxArtifactBytes}
	return u.all(archive)
}

// all writes the files of an archive. The environment may send what it likes: nothing is written
// outside the directory, and no more than was asked for. A file that cannot be written does not keep
// out those behind it.
func (u *unpacking) all(archive *tar.Reader) error {
	defer func() {
		u.drop("nobody has said that it is whole")
		u.run.warnings = append(u.run.warnings, u.failed.warnings("was not written", "could not be written")...)
	}()
	for range 2*maxArtifacts + 1 { // each may be torn
		head, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			u.settle()
			return nil
		case err != nil:
			return err
		case head.Typeflag == typeTorn:
			u.torn(archive)
			continue
		}
		u.settle()
		if head.Typeflag == typeReport {
			return u.run.leftBehind(archive)
		}
		if err := u.file(head, archive); err != nil {
			return err
		}
	}
	return errTooMuch()
}

func errTooMuch() error {
	return errors.New("the environment sent more than it should")
}

// file takes the next one.
func (u *unpacking) file(head *tar.Header, archive io.Reader) error {
	u.room -= head.Size
	if head.Typeflag != tar.TypeReg || !sendable(head.Name) || u.room < 0 {
		return fmt.Errorf("the environment sent %q, which it should not", head.Name)
	}
	if u.files++; u.files > maxArtifacts {
		return errTooMuch()
	}
	name, ok := u.here(head.Name)
	if !ok {
		u.failed.add(u.path(head.Name), "this system has no such name")
		return nil
	}
	data := &sound{Reader: archive}
	whole, err := writeArtifact(u.root, name, data)
	switch {
	case data.err != nil:
		return data.err
	case err != nil:
		u.failed.add(u.path(name), u.whyNot(name, err))
	default:
		whole.artifact.Path, whole.artifact.Bytes = u.path(name), head.Size
		u.last = whole
	}
	return nil
}

// sendable tells whether an artifact may have this name, on whatever system it was made.
func sendable(name string) bool {
	return fs.ValidPath(name) && name != "." // which has it be UTF-8, too
}

// here is a name as this system has it, if it does: Windows has none with a colon or a backslash, and
// those of devices, like aux.csv, are not for files there.
func (u *unpacking) here(name string) (string, bool) {
	local, err := u.localize(name)
	return local, err == nil
}

// settle gives the last file its name.
func (u *unpacking) settle() {
	if u.last == nil {
		return
	}
	if u.taken(u.last.name) {
		u.drop("another one has this name here")
		return
	}
	if err := u.root.Rename(u.last.temp, u.last.name); err != nil {
		u.drop(u.whyNot(u.last.name, err))
		return
	}
	u.run.artifacts = append(u.run.artifacts, u.last.artifact)
	u.brought = append(u.brought, u.last.info)
	u.last = nil
}

// taken tells whether a file that was sent before has this name. Only the system knows: some take names
// that differ in case, or in how an accent is spelt, for one.
func (u *unpacking) taken(name string) bool {
	there, err := u.root.Lstat(name)
	return err == nil && slices.ContainsFunc(u.brought, func(b fs.FileInfo) bool { return os.SameFile(b, there) })
}

// torn lets the last file go, which the environment could not read to its end, as it says why.
func (u *unpacking) torn(why io.Reader) {
	text, err := io.ReadAll(io.LimitReader(why, maxWhy))
	if err != nil {
		text = []byte(err.Error())
	}
	u.drop(string(text))
}

// drop lets the last file go, if there is one.
func (u *unpacking) drop(why string) {
	if u.last == nil {
		return
	}
	if err := ignoreMissing(u.root.Remove(u.last.temp)); err != nil {
		why += "; " + err.Error()
	}
	u.failed.add(u.path(u.last.name), why)
	u.last = nil
}

// path is what a person knows a file by.
func (u *unpacking) path(name string) string {
	return filepath.Join(u.run.script.Artifacts, name)
}

// sniffed is how many bytes tell of what kind a file is, as http.DetectContentType has it.
const sniffed = 512

// partPrefix begins the name of a file that is not known to be whole.
const partPrefix = ".hermes_part_"

// writeArtifact writes a file beside the one that it is to be.
func writeArtifact(root *os.Root, name string, data *sound) (*wholeYet, error) {
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, err
	}
	// A name of our own: another artifact, or a file of the caller's, may have the one that lies at hand.
	temp := filepath.Join(filepath.Dir(name), partPrefix+rand.Text())
	f, err := root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	head := make([]byte, sniffed)
	n, err := io.ReadFull(data, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // it is short, or the archive is
		err = data.err
	}
	text := &spelling{}
	both := io.MultiWriter(f, text)
	if err == nil {
		_, err = both.Write(head[:n])
	}
	if err == nil {
		_, err = io.Copy(both, data)
	}
	info, failed := f.Stat()
	if err = errors.Join(err, failed, f.Close()); err != nil {
		return nil, errors.Join(err, ignoreMissing(root.Remove(temp)))
	}
	return &wholeYet{temp, name, info, Artifact{MediaType: mediaTypeOf(name, head[:n], text.isUTF8())}}, nil
}
