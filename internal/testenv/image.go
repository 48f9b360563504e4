package testenv

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The images below are made when a test asks for one, under tags of hermes-exec/test. They are kept:
// the engine's build cache then answers the next call, of this process or another, in a tenth of a
// second. `docker image rm $(docker image ls -q hermes-exec/test)` removes them.

// Entrypoint returns Image with an entrypoint, which takes the command of a container for its
// arguments and prints them.
func (e Engine) Entrypoint(t testing.TB) string {
	t.Helper()
	return e.build(t, "entrypoint", "FROM "+e.Image+"\n"+`ENTRYPOINT ["echo", "entrypoint:"]`)
}

// Nameless returns Image with `USER 1000` and no such user: no name, and / for a home.
func (e Engine) Nameless(t testing.TB) string {
	t.Helper()
	return e.build(t, "nameless", "FROM "+e.Image+"\nUSER root\nRUN userdel --remove hermes\nUSER 1000")
}

// Posix returns Image in the POSIX locale, with no LANG.
func (e Engine) Posix(t testing.TB) string {
	t.Helper()
	return e.build(t, "posix", "FROM "+e.Image+"\nENV LANG= LC_ALL=POSIX")
}

// Variables returns Image with more variables. The name tells such images apart.
func (e Engine) Variables(t testing.TB, name string, vars map[string]string) string {
	t.Helper()
	lines := []string{"FROM " + e.Image}
	for _, key := range slices.Sorted(maps.Keys(vars)) {
		lines = append(lines, "ENV "+key+"="+strconv.Quote(vars[key]))
	}
	return e.build(t, name, strings.Join(lines, "\n"))
}

// NoPython returns an image that holds busybox and nothing else. It needs this machine's.
func (e Engine) NoPython(t testing.TB) string {
	t.Helper()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		Missing(t, "docker", err.Error()+"; on Debian: apt-get install busybox-static")
	}
	return e.build(t, "no-python", "FROM scratch\nCOPY files /\nRUN "+
		`["`+busybox+`", "sh", "-c", "mkdir -p /bin /etc /root && mkdir -m 1777 /tmp && `+busybox+` --install -s /bin"]`+
		"\n"+`CMD ["sh"]`, program(t, busybox)...)
}

// OldPython returns NoPython with a Python 3 that is too old for the guest, and the version of it.
// It needs one on this machine; only where HERMES_E2E names old-python does its absence fail the
// test.
func (e Engine) OldPython(t testing.TB) (name, version string) {
	t.Helper()
	var old Interp
	for _, i := range Pythons(t) {
		if i.Major == 3 && !i.Usable() && i.Minor > old.Minor {
			old = i
		}
	}
	if old.Path == "" {
		Missing(t, "old-python", "no Python 3 before 3.8 in /usr/bin, on PATH or in ~/.pyenv")
	}
	files := program(t, old.Path)
	library := filepath.Join(filepath.Dir(filepath.Dir(old.Path)), "lib", fmt.Sprintf("python%d.%d", old.Major, old.Minor))
	return e.build(t, "old-python", "FROM "+e.NoPython(t)+"\nCOPY files /\n"+
		"RUN ln -s "+old.Path+" /bin/python3", append(files, library)...), old.Version
}

// program names the files of a program of this machine that is to run in an image of its own: itself
// and the shared libraries that it was linked with.
func program(t testing.TB, path string) []string {
	t.Helper()
	//nolint:forbidigo // A tool of the C library, asked while an image is made.
	out, err := exec.Command(Require(t, "ldd"), path).Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	// For a static program ldd prints nothing here, and its status is 1.
	files := []string{path}
	for _, library := range regexp.MustCompile(`(/\S+) \(0x`).FindAllSubmatch(out, -1) {
		files = append(files, string(library[1]))
	}
	return files
}

// build makes an image and returns its name. The Dockerfile finds the files and directories of this
// machine that paths name in the directory files, under the paths that they have here.
func (e Engine) build(t testing.TB, name, dockerfile string, paths ...string) string {
	t.Helper()
	var context bytes.Buffer
	w := tar.NewWriter(&context)
	err := add(w, "Dockerfile", 0o644, []byte(dockerfile))
	for _, path := range paths {
		err = errors.Join(err, filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return unneeded(d, err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return add(w, "files"+path, 0o755, data)
		}))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	name = "hermes-exec/test:" + name
	if _, err := e.docker(&context, "build", "--quiet", "--force-rm", "--tag", name, "-"); err != nil {
		t.Fatal(err)
	}
	return name
}

// unneeded passes over those directories of a Python's library that are large and not needed to run
// a script.
func unneeded(d fs.DirEntry, err error) error {
	large := []string{"test", "tests", "__pycache__", "site-packages", "dist-packages", "idlelib", "ensurepip"}
	if err == nil && (slices.Contains(large, d.Name()) || strings.HasPrefix(d.Name(), "config-")) {
		return fs.SkipDir
	}
	return err
}

func add(w *tar.Writer, name string, mode int64, data []byte) error {
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(data))}); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}
