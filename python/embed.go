// Package python holds the code that runs in the guest: the agent, its bootstrap, the helpers that
// tools start there, and the runtime half of hermes_tools.py. They are real Python files, linted and
// tested as such, and shipped as one zip.
package python

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
)

// Package is the name by which the guest's interpreters import the library.
const Package = "_hermes_exec"

//go:embed bootstrap.py
var bootstrap []byte

// By glob: a directory pattern would leave out __init__.py.
//
//go:embed hermes/*.py
var hermes embed.FS

// Bootstrap is the first code that runs in the guest, sent over stdin.
func Bootstrap() []byte { return bytes.Clone(bootstrap) }

// Stub is the runtime half of hermes_tools.py, to which the tool functions are appended.
func Stub() ([]byte, error) { return hermes.ReadFile("hermes/stub.py") }

// Library returns the guest package as a zip, and a name for it that depends only on its content.
// Entries are stored, not compressed: the guest then needs no zlib, and starts 1 ms sooner.
func Library() (data []byte, name string, err error) {
	names, err := fs.Glob(hermes, "hermes/*.py")
	if err != nil {
		return nil, "", fmt.Errorf("list the guest library: %w", err)
	}
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, name := range names {
		if err := store(z, name); err != nil {
			return nil, "", fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, "", fmt.Errorf("pack the guest library: %w", err)
	}
	sum := sha256.Sum256(buf.Bytes())
	return buf.Bytes(), "hermes-" + hex.EncodeToString(sum[:8]) + ".zip", nil
}

func store(z *zip.Writer, name string) error {
	code, err := hermes.ReadFile(name)
	if err != nil {
		return err
	}
	w, err := z.CreateHeader(&zip.FileHeader{Name: path.Join(Package, path.Base(name)), Method: zip.Store})
	if err != nil {
		return err
	}
	_, err = w.Write(code)
	return err
}
