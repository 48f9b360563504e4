package hermes

import (
	"bytes"
	"cmp"
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

// readSource reads a script that is to run. Dir is where a relative FILE lies; here says that the
// environment sees the host's files.
func readSource(s Script, dir string, here bool) (source, error) {
	src, err := loadSource(s, dir, here)
	if err != nil {
		return src, err
	}
	name := cmp.Or(src.name, s.File)
	flaw := src.flaw()
	switch {
	case flaw == nil:
		return src, nil
	case !IsBlank(src.code):
		return src, usageError{fmt.Errorf("%s: line %d has %s", cmp.Or(name, "script"), flaw.Line, flaw.Message)}
	case s.File != "": // no parameter of a model, but what a person has named
		return src, usageError{fmt.Errorf("%s %s is empty: it has to hold Python", NoCode, name)}
	}
	return src, usageError{errNoCode}
}

// loadSource reads a script, whatever is in it.
func loadSource(s Script, dir string, here bool) (source, error) {
	if s.File == "" {
		return source{code: s.Code, name: within(dir, s.Name)}, nil
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
	return src, nil
}

// flaw is what makes a script none, if something does. A NUL makes Python leave out the rest of the line
// without a word, or refuse the file, depending on its version.
func (s source) flaw() *Finding {
	if IsBlank(s.code) {
		return &Finding{Line: 1, Message: "there is no code here: a script has to hold Python", Fatal: true}
	}
	if before, _, found := bytes.Cut(s.code, []byte{0}); found {
		return &Finding{Line: 1 + bytes.Count(before, []byte("\n")), Message: "a NUL byte: this is no Python source", Fatal: true}
	}
	return nil
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

// IsBlank tells whether there is nothing in a script to run: Run answers it with NoCode.
func IsBlank(code []byte) bool {
	return len(bytes.TrimSpace(bytes.TrimPrefix(code, []byte("\ufeff")))) == 0
}
