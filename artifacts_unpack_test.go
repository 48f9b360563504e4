package hermes

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// archiveOf is an archive as an environment may send it.
func archiveOf(t *testing.T, heads ...tar.Header) *tar.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range heads {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.CopyN(w, zeros{}, min(h.Size, 1<<20)); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = w.Flush() // not Close: some are shorter than they say
	return tar.NewReader(&b)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// An environment that sends what it should not writes nothing outside the directory.
func TestUnpackRefuses(t *testing.T) {
	file := func(name string, size int64) tar.Header {
		return tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Format: tar.FormatPAX}
	}
	for name, heads := range map[string][]tar.Header{
		"a way up":        {file("../out", 1)},
		"a way around":    {file("a/../../out", 1)},
		"an absolute one": {file("/tmp/out", 1)},
		"a link":          {{Typeflag: tar.TypeSymlink, Name: "a", Linkname: "/etc"}},
		"through a link":  {file("link/out", 1)},
		"onto a link":     {file("link", 1), file("link/x", 1)},
		"too much":        {file("a", maxArtifactBytes+1)},
		"cut off":         {file("a", 2<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			dir := filepath.Join(top, "in")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("..", filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			testenv.CloseAfter(t, root)
			r := &run{script: Script{Artifacts: dir}}
			if err := r.unpack(root, archiveOf(t, heads...)); err == nil {
				t.Errorf("no error; %v", r.artifacts)
			}
			entries, err := os.ReadDir(top)
			if err != nil || len(entries) != 1 {
				t.Errorf("%v, %v", entries, err)
			}
			if left, _ := filepath.Glob(dir + "/" + partPrefix + "*"); left != nil {
				t.Errorf("left: %v", left)
			}
		})
	}
	many := make([]tar.Header, maxArtifacts+1)
	for i := range many {
		many[i] = file(strings.Repeat("a", 1+i%100), 0)
	}
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	testenv.CloseAfter(t, root)
	if err := (&run{}).unpack(root, archiveOf(t, many...)); err == nil || !strings.Contains(err.Error(), "more than it should") {
		t.Error(err)
	}
}

// A file does not take the place of another one while it comes.
func TestUnpackKeepsOthers(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	testenv.CloseAfter(t, root)
	long := strings.Repeat("n", 250)
	heads := []tar.Header{}
	for _, name := range []string{"a.part", "a", long} {
		heads = append(heads, tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 1, Format: tar.FormatPAX})
	}
	if err := (&run{script: Script{Artifacts: dir}}).unpack(root, archiveOf(t, heads...)); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	for _, name := range []string{"a.part", "a", long} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
