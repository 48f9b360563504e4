package hermes

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"strconv"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/keep"
)

const (
	envArtifacts  = "HERMES_ARTIFACTS"
	artifactsName = "artifacts" // of the directory in a staging directory

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
	MediaType string `json:"media_type"` // by its content, and by its name where that says more
}

// String tells a person of it, in one line.
func (a Artifact) String() string {
	return fmt.Sprintf("%s (%s, %s)", legible(a.Path), byteCount(a.Bytes), a.MediaType)
}

// own are the variables that a script has beside those of its environment: the one that names the
// directory, if artifacts are wanted, and the one for figures in it.
func (r *run) own() map[string]string {
	if r.artifacts == nil {
		return nil
	}
	vars := map[string]string{envArtifacts: path.Join(r.staging, artifactsName)}
	if r.env.figures() {
		vars[envFigures] = figuresBackend
	}
	return vars
}

// joinedVars are the variables of all of these, of which the last that has a name counts.
func joinedVars(sets ...map[string]string) map[string]string {
	vars := map[string]string{}
	for _, set := range sets {
		maps.Copy(vars, set)
	}
	return vars
}

// openArtifacts makes the directory on the host: a run whose files could not be kept does not begin.
func (r *run) openArtifacts() error {
	if r.script.Artifacts == "" {
		return nil
	}
	if err := os.MkdirAll(r.script.Artifacts, 0o777); err != nil {
		return usageError{backend.Advise(fmt.Errorf("directory for artifacts: %w", err), "name one that can be made and written to")}
	}
	r.artifacts = []Artifact{}
	return nil
}

// artifactsDir is the directory in the environment.
func (r *run) artifactsDir() backend.File {
	return backend.File{Name: path.Join(r.staging, artifactsName), Mode: fs.ModeDir}
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
	if err != nil && r.env.life.Err() != nil {
		err = errors.New("the run was ended at once, before they came")
	}
	if err != nil {
		r.warnings = append(r.warnings, fmt.Sprintf("artifacts were lost: %v", err))
		return
	}
	r.warnings = append(r.warnings, r.noFigures()...)
}

// The entries of an archive that are no files, as in python/hermes/artifacts.py: what it does not have, and
// why the file before is not whole.
const (
	typeReport = 'R'
	typeTorn   = 'T'
)

// maxReport bounds that entry: four kinds of files, of each some names and reasons with a bound of their own.
const maxReport = 512 << 10

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
	if left := said.Line(); err != nil && failed != nil && errors.Is(err, failed) && left != "" {
		return fmt.Errorf("%w: %s", err, left)
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
