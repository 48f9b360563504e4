// Package python holds the code that runs in the guest: the agent, its bootstrap, the helpers that
// tools start there, and the runtime half of hermes_tools.py. They are real Python files, linted and
// tested as such.
package python

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
)

// Package is the name by which the guest's interpreters import the library.
const Package = "_hermes_exec"

// By glob: a directory pattern would leave out __init__.py.
//
//go:embed hermes/*.py
var hermes embed.FS

// What runs without the library is not in it.
//
//go:embed alone/prune.py
var prune []byte

//go:embed alone/offer.py
var offer []byte

// hermes_figures.py is imported by matplotlib, in the process of the script.
//
//go:embed alone/hermes_figures.py
var figures []byte

// Figures is the module that has matplotlib save its figures as artifacts. It is imported as hermes_figures.
func Figures() []byte { return bytes.Clone(figures) }

// Prune removes what dead agents have left, and lists it: it defines main(mark, everything).
func Prune() []byte { return bytes.Clone(prune) }

// Offer starts the agent from a library that an image carries, or asks for one: it defines
// offer(library, lease, volatile).
func Offer() []byte { return bytes.Clone(offer) }

// Installed is where an image may carry guest libraries, each under its name.
const Installed = "/usr/local/lib/hermes-exec"

// Bootstrap is the first code that runs in the guest. It defines boot.
func Bootstrap() ([]byte, error) { return hermes.ReadFile("hermes/bootstrap.py") }

// Stub is the runtime half of hermes_tools.py, to which the tool functions are appended.
func Stub() ([]byte, error) { return hermes.ReadFile("hermes/stub.py") }

// StartKernel is the script that the interpreter of a kernel starts with.
func StartKernel() ([]byte, error) { return hermes.ReadFile("hermes/start_kernel.py") }

// Files returns the guest package file by file, with names below Package, and the same kind of name
// for the whole that Library gives.
func Files() (files map[string][]byte, name string, err error) {
	names, err := fs.Glob(hermes, "hermes/*.py")
	if err != nil {
		return nil, "", fmt.Errorf("list the guest library: %w", err)
	}
	files = make(map[string][]byte, len(names))
	sum := sha256.New()
	for _, name := range names {
		code, err := hermes.ReadFile(name)
		if err != nil {
			return nil, "", fmt.Errorf("pack %s: %w", name, err)
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(code))
		_, _ = sum.Write(code) // a hash never fails
		files[path.Join(Package, path.Base(name))] = code
	}
	return files, "hermes-" + hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// Library returns the guest package as the bootstrap takes it, and a name for it that depends only on its
// content: for each file a line with its name and its length, and the file. A zip would need no bootstrap
// to unpack it, but zipimport compiles every module twice.
func Library() (data []byte, name string, err error) {
	files, name, err := Files()
	if err != nil {
		return nil, "", err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data = fmt.Appendf(data, "%s %d\n%s", name, len(files[name]), files[name])
	}
	return data, name, nil
}
