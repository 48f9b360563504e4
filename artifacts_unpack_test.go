package hermes

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// sentFile is an entry of an archive as an environment may send it.
type sentFile struct {
	tar.Header
	data string // zeros, as many as the header says, if there is none; no more than 1 MiB of them
}

func sent(name string, size int64) sentFile {
	return sentFile{Header: tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size}}
}

func sentText(kind byte, name, text string) sentFile {
	return sentFile{Header: tar.Header{Typeflag: kind, Name: name, Size: int64(len(text))}, data: text}
}

// archiveOf is an archive of them, which ends where one is shorter than it says.
func archiveOf(t *testing.T, files ...sentFile) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		f.Format = tar.FormatPAX
		if err := w.WriteHeader(&f.Header); err != nil {
			t.Fatal(err)
		}
		data := io.Reader(strings.NewReader(f.data))
		if f.data == "" && f.Typeflag == tar.TypeReg {
			data = io.LimitReader(zeros{}, min(f.Size, 1<<20))
		}
		if _, err := io.Copy(w, data); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.Close()
	return &b
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// unpackInto unpacks an archive into a directory, in which nothing half done is left.
func unpackInto(t *testing.T, dir string, archive io.Reader) (*run, error) {
	t.Helper()
	return unpackWith(t, filepath.Localize, dir, archive)
}

// unpackWith does it on a system that has other names.
func unpackWith(t *testing.T, localize func(string) (string, error), dir string, archive io.Reader) (*run, error) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	testenv.CloseAfter(t, root)
	r := &run{script: Script{Artifacts: dir}}
	u := unpacking{run: r, root: root, localize: localize, room: maxArtifactBytes}
	err = u.all(tar.NewReader(archive))
	if left, _ := filepath.Glob(filepath.Join(dir, partPrefix+"*")); left != nil {
		t.Errorf("left: %v", left)
	}
	return r, err
}

// came are the names of the files that a run has brought.
func came(r *run) []string {
	var names []string
	for _, a := range r.artifacts {
		names = append(names, filepath.Base(a.Path))
	}
	return names
}

// An environment that sends what it should not writes nothing outside the directory.
func TestUnpackRefuses(t *testing.T) {
	const sends, shorter, more = "which it should not", "unexpected EOF", "more than it should"
	many := make([]sentFile, maxArtifacts+1)
	for i := range many {
		many[i] = sent(strconv.Itoa(i), 0)
	}
	for _, tt := range []struct {
		name    string
		files   []sentFile
		err     string // is in it
		warning string // ends so
	}{
		{"a way up", []sentFile{sent("../out", 1)}, sends, ""},
		{"a way around", []sentFile{sent("a/../../out", 1)}, sends, ""},
		{"an absolute one", []sentFile{sent("/tmp/out", 1)}, sends, ""},
		{"no name", []sentFile{sent("", 1)}, sends, ""},
		{"the directory", []sentFile{sent(".", 1)}, sends, ""},
		{"a name with nothing in it", []sentFile{sent("a//b", 1)}, sends, ""},
		{"a link", []sentFile{{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: "a", Linkname: "/etc"}}}, sends, ""},
		{"through a link", []sentFile{sent("link/out", 1)}, "", ": put a directory in its place, or name the one that is meant with --artifacts"},
		{"onto a link", []sentFile{sent("link", 1), sent("link/x", 1)}, "", "x was not written: a file has the name of its directory"},
		{"no text", []sentFile{sent("\xe9", 1)}, sends, ""},
		{"too much", []sentFile{sent("a", maxArtifactBytes+1)}, sends, ""},
		{"too many", many, more, ""},
		{"cut off", []sentFile{sent("a", 2<<20)}, shorter, ""},
		{"no report", []sentFile{{Header: tar.Header{Typeflag: typeReport, Name: "report"}}}, "what was left out: EOF", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			top := t.TempDir()
			dir := filepath.Join(top, "in")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("..", filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			r, err := unpackInto(t, dir, archiveOf(t, tt.files...))
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("%v, want %q", err, tt.err)
			}
			if got := strings.Join(r.warnings, "\n"); !strings.HasSuffix(got, tt.warning) || tt.warning == "" && got != "" {
				t.Errorf("%q, want %q", got, tt.warning)
			}
			if entries, err := os.ReadDir(top); err != nil || len(entries) != 1 {
				t.Errorf("%v, %v", entries, err)
			}
		})
	}
}

// What cannot be written keeps nothing else out, and is told by its own name.
func TestUnpackGoesOn(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b/x", "d\n"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r, err := unpackInto(t, dir, archiveOf(t, sent("a", 600), sent("a/x", 600), sent("b", 600), sent("c", 600), sent("d\n", 600), sent("e", 600)))
	want := []string{
		"artifact " + dir + "/a/x was not written: a file has the name of its directory",
		"artifact " + dir + "/b was not written: a directory has this name",
		"artifact " + strconv.Quote(dir+"/d\n") + " was not written: a directory has this name",
	}
	if err != nil || !slices.Equal(came(r), []string{"a", "c", "e"}) || !slices.Equal(r.warnings, want) {
		t.Errorf("%v %q %v", came(r), r.warnings, err)
	}
}

// A link of the caller's is followed where it stays in the directory. Where it does not, it is named, with where it leads.
func TestUnpackThroughLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "in/deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"in/deep/out": "../../..", "in/far": filepath.Join(dir, "in"), "gone": "nowhere", "file": "f", "loop": "loop", "near": "in/deep", "last": "/etc",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := unpackInto(t, dir, archiveOf(t,
		sent("f", 1), sent("last", 1), sent("near/x", 1), // these are good
		sent("near/out/x", 1), sent("in/far/deep/x", 1), sent("gone/x", 1), sent("file/x/y", 1), sent("loop/x", 1),
	))
	var want []string
	for _, tt := range [][3]string{
		{"near/out/x", "near/out", "../../.."},
		{"in/far/deep/x", "in/far", filepath.Join(dir, "in")},
		{"gone/x", "gone", "nowhere"},
		{"file/x/y", "file", "f"},
		{"loop/x", "loop", "loop"},
	} {
		want = append(want, "artifact "+filepath.Join(dir, tt[0])+" was not written: "+filepath.Join(dir, tt[1])+" is a symbolic link to "+tt[2]+
			", and one is followed only if it is relative and leads to a directory in "+dir+
			": put a directory in its place, or name the one that is meant with --artifacts")
	}
	if err != nil || !slices.Equal(came(r), []string{"f", "last", "x"}) || !slices.Equal(r.warnings, want) {
		t.Errorf("%v %v\n%s\nwant\n%s", err, came(r), strings.Join(r.warnings, "\n"), strings.Join(want, "\n"))
	}
	if info, err := os.Lstat(filepath.Join(dir, "last")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%v %v, want a file in place of the link", info, err)
	}
}

// A name that is good where the script runs, and that this system does not have, keeps nothing else out.
func TestUnpackOfNamesThatAreNotHere(t *testing.T) {
	windows := func(name string) (string, error) {
		if strings.ContainsAny(name, `:\`) || strings.HasPrefix(name, "aux") {
			return "", errors.New("invalid path")
		}
		return filepath.Localize(name)
	}
	names := []string{"plot 10:30.png", "aux.csv", `..\..\out`, "a", "b/c:d", "e"}
	files := make([]sentFile, len(names))
	for i, name := range names {
		files[i] = sent(name, 1)
	}
	dir := t.TempDir()
	r, err := unpackWith(t, windows, dir, archiveOf(t, files...))
	var want []string
	for _, i := range []int{0, 1, 2, 4} {
		want = append(want, "artifact "+filepath.Join(dir, names[i])+" was not written: this system has no such name")
	}
	if err != nil || !slices.Equal(came(r), []string{"a", "e"}) || !slices.Equal(r.warnings, want) {
		t.Errorf("%v %q %v", came(r), r.warnings, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

// The first of those that have one name here comes, and the caller's own gives way to it.
func TestUnpackOfOneNameTwice(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"old", "kept"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text := func(name, data string) sentFile { return sentText(tar.TypeReg, name, data) }
	r, err := unpackInto(t, dir, archiveOf(t, text("a", "first"), text("old", "new"), text("a", "second"), text("b", "other"), text("a", "third"), text("old", "newer")))
	why := " was not written: another one has this name here"
	a, old := "artifact "+filepath.Join(dir, "a")+why, "artifact "+filepath.Join(dir, "old")+why
	if err != nil || !slices.Equal(came(r), []string{"a", "old", "b"}) || !slices.Equal(r.warnings, []string{a, a, old}) {
		t.Errorf("%v %q %v", came(r), r.warnings, err)
	}
	for name, want := range map[string]string{"a": "first", "old": "new", "b": "other", "kept": "old"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v; want %q", name, data, err, want)
		}
	}
}

// Where names that differ in case are one, the second of them is told and does not come.
func TestUnpackOfNamesThatDifferInCase(t *testing.T) {
	dir := t.TempDir()
	r, err := unpackInto(t, dir, archiveOf(t, sentText(tar.TypeReg, "Plot.png", "first"), sentText(tar.TypeReg, "plot.PNG", "second")))
	want, told := []string{"Plot.png", "plot.PNG"}, 0
	if _, err := os.Stat(filepath.Join(dir, "PLOT.PNG")); err == nil {
		want, told = want[:1], 1
	}
	data, failed := os.ReadFile(filepath.Join(dir, "Plot.png"))
	if err != nil || failed != nil || string(data) != "first" || !slices.Equal(came(r), want) || len(r.warnings) != told {
		t.Errorf("%q %v %q %v", data, came(r), r.warnings, err)
	}
}

// A name that no system has, or that leads away, is not sent by an environment that means well.
func TestSendable(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "a/b": true, "plot 10:30.png": true, "aux.csv": true, `a\..\b`: true, "..a": true, "\x01": true, "ä": true,
		"": false, ".": false, "..": false, "a/../b": false, "../a": false, "/a": false, "a/": false, "a//b": false, "./a": false, "\xe4": false,
	} {
		if got := sendable(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

// A file that the environment could not read to its end does not come, and what the caller has under its
// name stays. One that nobody has said anything behind may be such a file.
func TestUnpackOfATornFile(t *testing.T) {
	torn := sentText(typeTorn, "-", "input/output error")
	for _, tt := range []struct {
		name  string
		files []sentFile
		cut   bool // right behind the last file
		came  []string
		told  map[string]string
	}{
		{"torn", []sentFile{sent("a", 1), torn, sent("b", 1), torn, torn, sent("c", 1)}, false, []string{"c"}, map[string]string{"a": "input/output error", "b": "input/output error"}},
		{"the last one", []sentFile{sent("c", 1), sent("a", 1), torn}, false, []string{"c"}, map[string]string{"a": "input/output error"}},
		{"before a report", []sentFile{sent("c", 1), sent("a", 1), torn, sentText(typeReport, "-", "{}")}, false, []string{"c"}, map[string]string{"a": "input/output error"}},
		{"whole before a report", []sentFile{sent("c", 1), sentText(typeReport, "-", "{}")}, false, []string{"c"}, nil},
		{"nobody has said", []sentFile{sent("c", 1), sent("b", 1)}, true, []string{"c"}, map[string]string{"b": "nobody has said that it is whole"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			old := []string{"a", "b"}
			for _, name := range old {
				if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			archive := archiveOf(t, tt.files...)
			if tt.cut {
				archive.Truncate(archive.Len() - 512 - 1)
			}
			r, err := unpackInto(t, dir, archive)
			if !slices.Equal(came(r), tt.came) || errors.Is(err, io.ErrUnexpectedEOF) != tt.cut || err != nil && !tt.cut {
				t.Errorf("%v %v", came(r), err)
			}
			var want []string
			for _, name := range old {
				if why := tt.told[name]; why != "" {
					want = append(want, "artifact "+filepath.Join(dir, name)+" was not written: "+why)
				}
				if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != "old" {
					t.Errorf("%s: %q, %v", name, data, err)
				}
			}
			if !slices.Equal(r.warnings, want) {
				t.Errorf("%q, want %q", r.warnings, want)
			}
		})
	}
}

// More of them than anybody reads are counted.
func TestLeftOutIsBounded(t *testing.T) {
	var l leftOut
	for range shownLeftOut + 3 {
		l.add("n", "w")
	}
	if got := l.warnings("is", "are"); len(got) != shownLeftOut+1 || got[0] != "artifact n is: w" || got[shownLeftOut] != "3 more artifact(s) are" {
		t.Errorf("%q", got)
	}
}

// The file that an archive breaks off in does not come, however short it is.
func TestUnpackOfHalfAFile(t *testing.T) {
	dir := t.TempDir()
	archive := archiveOf(t, sent("a", 100))
	archive.Truncate(archive.Len() - 3*512 + 4) // the data of it, and two blocks that end the archive
	r, err := unpackInto(t, dir, archive)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 || len(r.artifacts) > 0 {
		t.Errorf("%v %v %v", entries, r.artifacts, err)
	}
}

// A file does not take the place of another one while it comes.
func TestUnpackKeepsOthers(t *testing.T) {
	names := []string{"a.part", "a", strings.Repeat("n", 250)}
	dir := t.TempDir()
	r, err := unpackInto(t, dir, archiveOf(t, sent(names[0], 1), sent(names[1], 1), sent(names[2], 1)))
	if err != nil || !slices.Equal(came(r), names) {
		t.Errorf("%v %v", came(r), err)
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
