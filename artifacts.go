package hermes

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/keep"
)

const (
	envArtifacts  = "HERMES_ARTIFACTS"
	artifactsName = "artifacts"    // of the directory in a staging directory
	keepName      = ".hermes_keep" // KEEP in python/hermes/artifacts.py

	// What is brought back of one run at most.
	maxArtifacts     = 1000
	maxArtifactBytes = 256 << 20

	// collectWait bounds how long that takes when the run is over already.
	collectWait = time.Minute
)

// Artifact is a file that a script has left in $HERMES_ARTIFACTS.
type Artifact struct {
	Path      string `json:"path"` // on the host
	Bytes     int64  `json:"bytes"`
	MediaType string `json:"media_type"` // by its name, else by its content
}

// withArtifacts are the variables of an endpoint and the one that names the directory.
func withArtifacts(rpc map[string]string, staging string) map[string]string {
	vars := map[string]string{envArtifacts: path.Join(staging, artifactsName)}
	maps.Copy(vars, rpc)
	return vars
}

// openArtifacts makes the directory on the host: a run whose files could not be kept does not begin.
func (r *run) openArtifacts() error {
	if r.script.Artifacts == "" {
		return nil
	}
	if err := os.MkdirAll(r.script.Artifacts, 0o777); err != nil {
		return usageError{fmt.Errorf("directory for artifacts: %w", err)}
	}
	r.artifacts = []Artifact{}
	return nil
}

// keepFile is what makes the directory in the environment.
func (r *run) keepFile() backend.File {
	return backend.File{Name: path.Join(r.staging, artifactsName, keepName), Mode: 0o600}
}

// collect brings back what is in the directory. What is lost of it is a warning: the script has run.
func (r *run) collect(ctx context.Context) {
	if r.artifacts == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), collectWait)
	defer cancel()
	root, err := os.OpenRoot(r.script.Artifacts)
	if err == nil {
		err = errors.Join(r.receive(ctx, root), root.Close())
	}
	if err != nil {
		r.warnings = append(r.warnings, fmt.Sprintf("artifacts were lost: %v", err))
	}
}

// receive has them sent, as an archive.
func (r *run) receive(ctx context.Context, root *os.Root) error {
	info := r.env.Info()
	out, stdout := io.Pipe()
	var said keep.Last
	const code = "import sys;sys.path.insert(0,sys.argv[1]);from _hermes_exec import artifacts;sys.exit(artifacts.main())"
	cmd := backend.Cmd{
		Args: []string{
			info.Python.Path, "-I", "-S", "-X", "utf8", "-c", code, info.Library,
			path.Join(r.staging, artifactsName), strconv.Itoa(maxArtifacts), strconv.Itoa(maxArtifactBytes),
		},
		Dir: info.Scratch, Stdout: stdout, Stderr: &said,
	}
	sent := make(chan error, 1)
	go func() {
		_, err := backend.Run(ctx, r.env.backend, cmd, nil)
		_ = stdout.CloseWithError(err) // nil is EOF
		sent <- err
	}()
	err := r.unpack(root, tar.NewReader(out))
	if err == nil { // an archive ends with blocks that nobody reads
		_, err = io.Copy(io.Discard, out)
	}
	_ = out.CloseWithError(err)
	failed := <-sent
	if err == nil {
		err = failed
	}
	left := said.Line()
	if err != nil && failed != nil && errors.Is(err, failed) && left != "" {
		return fmt.Errorf("%w: %s", err, left)
	}
	if err == nil && left != "" {
		files, bytes, _ := strings.Cut(left, " ")
		r.warnings = append(r.warnings, fmt.Sprintf("%s artifact(s) with %s bytes were left out: at most %d files and %d MiB are brought back",
			files, bytes, maxArtifacts, maxArtifactBytes>>20))
	}
	return err
}

// unpack writes the files of an archive. The environment may send what it likes: nothing is written
// outside the directory, and no more than was asked for.
func (r *run) unpack(root *os.Root, archive *tar.Reader) error {
	room := int64(maxArtifactBytes)
	for range maxArtifacts + 1 {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.FromSlash(head.Name)
		if room -= head.Size; head.Typeflag != tar.TypeReg || !filepath.IsLocal(name) || room < 0 {
			return fmt.Errorf("the environment sent %q, which it should not", head.Name)
		}
		kind, err := writeArtifact(root, name, archive)
		if err != nil {
			return fmt.Errorf("write %s: %w", filepath.Join(r.script.Artifacts, name), err)
		}
		r.artifacts = append(r.artifacts, Artifact{Path: filepath.Join(r.script.Artifacts, name), Bytes: head.Size, MediaType: kind})
	}
	return errors.New("the environment sent more than it should")
}

// sniffed is how many bytes tell of what kind a file is, as http.DetectContentType has it.
const sniffed = 512

// partPrefix begins the name of a file that is not complete.
const partPrefix = ".hermes_part_"

// writeArtifact writes a file, whole or not at all, and tells its kind.
func writeArtifact(root *os.Root, name string, data io.Reader) (mediaType string, err error) {
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return "", err
	}
	// A name of our own: another artifact, or a file of the caller's, may have the one that lies at hand.
	temp := filepath.Join(filepath.Dir(name), partPrefix+rand.Text())
	f, err := root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return "", err
	}
	head := make([]byte, sniffed)
	n, err := io.ReadFull(data, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	if err == nil {
		_, err = f.Write(head[:n])
	}
	if err == nil {
		_, err = io.Copy(f, data)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		return "", errors.Join(err, ignoreMissing(root.Remove(temp)))
	}
	return mediaTypeOf(name, head[:n]), nil
}

// mediaTypeOf tells by its name of what kind a file is, where its content does not say so, or says less.
// The tables of the system are not asked: a result is the same on every host.
func mediaTypeOf(name string, head []byte) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".csv":
		return "text/csv; charset=utf-8"
	case ".tsv":
		return "text/tab-separated-values; charset=utf-8"
	case ".md":
		return "text/markdown; charset=utf-8"
	case ".html", ".htm":
		return "text/html; charset=utf-8"
	case ".json", ".ipynb":
		return "application/json"
	case ".xml":
		return "text/xml; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".xlsx":
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	case ".docx":
		return "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	case ".parquet":
		return "application/vnd.apache.parquet"
	}
	return http.DetectContentType(head)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
