package hermes

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// maxScript is how long a script may be, in bytes. Python itself takes longer ones, but a device
// that never ends must not fill the memory.
const maxScript = 64 << 20

// source is a script that was read.
type source struct {
	code    []byte
	inPlace string // the path to run it at; "" stages it
	shipped string // the name of a FILE that is staged
	name    string // where it comes from, on the host; "" if it has no name there
}

// script is what sys.argv[0] of a session's cell says. Here says that the environment sees the host's
// files.
func (s source) script(here bool) string {
	if here || s.name == "" {
		return s.name
	}
	return filepath.Base(s.name)
}

// readSource reads a script. Dir is where a relative FILE lies; here says that the environment sees
// the host's files.
func readSource(s Script, dir string, here bool) (source, error) {
	if s.File == "" {
		return source{code: s.Code, name: within(dir, s.Name)}, check(s.Code)
	}
	path := within(dir, s.File)
	code, regular, err := readScript(path)
	if err != nil {
		return source{}, usageError{fmt.Errorf("script: %w", err)}
	}
	src := source{code: code}
	if regular {
		src.name = path
	}
	if regular && here {
		src.inPlace = path
	} else {
		src.shipped = filepath.Base(path)
	}
	return src, check(code)
}

// within makes a path absolute that is relative to dir. None stays none.
func within(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// readScript reads a file. What is not regular, as in `hermes-exec <(generate)`, can be read once
// only and so cannot run in place.
func readScript(path string) (code []byte, regular bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	is, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	if is.IsDir() {
		return nil, false, fmt.Errorf("%s is a directory", path)
	}
	code, err = io.ReadAll(io.LimitReader(f, maxScript+1))
	if err == nil && len(code) > maxScript {
		err = fmt.Errorf("%s is longer than %d MiB", path, maxScript>>20)
	}
	return code, is.Mode().IsRegular(), err
}

// check refuses what is no script. A NUL makes Python leave out the rest of the line without a word,
// or refuse the file, depending on its version.
func check(code []byte) error {
	if len(bytes.TrimSpace(bytes.TrimPrefix(code, []byte("\ufeff")))) == 0 {
		return usageError{errNoCode}
	}
	if before, _, found := bytes.Cut(code, []byte{0}); found {
		return usageError{fmt.Errorf("script: line %d has a NUL byte: this is no Python source", 1+bytes.Count(before, []byte("\n")))}
	}
	return nil
}
