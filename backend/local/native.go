package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/owner"
	"github.com/hermes-exec/hermes-exec/internal/scrap"
	"github.com/hermes-exec/hermes-exec/python"
)

var _ backend.Backend = (*Native)(nil)

// Native is the local environment without a guest agent, which needs what POSIX alone has: it is what
// "local" means on Windows. It builds on every system, so that the contract is tested where it can be.
//
// What it lacks: Cmd.Control, and so kernels; Unix sockets, which the Python of Windows does not know;
// out-of-memory kills are signals like any other. What a script leaves behind ends by a job object on
// Windows, which nothing leaves, and by its process group elsewhere.
type Native struct {
	ground

	mu      sync.Mutex
	closed  bool
	trees   map[*tree]struct{} // of processes that run, or whose descendants do
	work    sync.WaitGroup     // one for each process that has not ended
	once    sync.Once
	failure error // of Close
}

// scratchPrefix begins the names of scratch directories, as those of the agent do.
const scratchPrefix = "hermes_sandbox_"

// NativeOpener is Opener without a guest agent.
func NativeOpener(env map[string]string, dir string) backend.Opener {
	return opener(env, dir, OpenNative)
}

// OpenNative opens the environment with the first interpreter that runs.
func OpenNative(ctx context.Context, cfg Config) (*Native, error) {
	if err := cfg.settle(); err != nil {
		return nil, unopened(err)
	}
	cfg.Env = inherited(runtime.GOOS, cfg.Env)
	n, err := newNative(cfg)
	if err != nil {
		return nil, unopened(err)
	}
	if err = n.unpack(); err == nil {
		err = n.prove(ctx, cfg)
	}
	if err != nil {
		_ = n.Close() // the first error is the one to tell
		return nil, unopened(err)
	}
	if runtime.GOOS == "windows" { // elsewhere agents do it, of whom some may still be at work there
		n.work.Go(func() { sweep(n.info.Temp) })
	}
	return n, nil
}

// sweep removes scratch directories of processes that have ended without doing that.
func sweep(temp string) {
	entries, err := os.ReadDir(temp)
	if err != nil {
		return
	}
	for _, entry := range entries {
		dir := filepath.Join(temp, entry.Name())
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), scratchPrefix) {
			continue
		}
		if mark, err := owner.Read(dir); err == nil && mark.Dead() {
			_ = scrap.Remove(dir) // else the next one does, or prune
		}
	}
}

// newNative is an environment that has proved nothing yet.
func newNative(cfg Config) (*Native, error) {
	temp, scratch, err := makeScratch(cfg.Env)
	if err != nil {
		return nil, fmt.Errorf("make a scratch directory: %w", err)
	}
	n := &Native{trees: map[*tree]struct{}{}}
	n.alive = n.err
	n.info = backend.Info{
		Name: "local", Target: cfg.Dir, OS: runtime.GOOS, SameHost: true, Env: cfg.Env,
		Dir: filepath.ToSlash(cfg.Dir), Temp: filepath.ToSlash(temp), Scratch: filepath.ToSlash(scratch),
		NoHome: !takesFiles(cfg.Env["HOME"]),
		Notes:  []string{"started without a guest agent: a session runs its cells as scripts, and there are no Unix sockets"},
	}
	if cfg.Strict {
		n.info.Dir = n.info.Scratch
	}
	return n, nil
}

// makeScratch makes the private directory in the first place for temporary files that takes it, and
// marks it as this process's, so that prune can tell what is left of it.
func makeScratch(env map[string]string) (temp, scratch string, err error) {
	err = errors.New("no place for temporary files is known")
	for _, temp := range []string{env["TMPDIR"], env["TMP"], env["TEMP"], os.TempDir()} {
		if !filepath.IsAbs(temp) {
			continue
		}
		temp = filepath.Clean(temp)
		if scratch, err = os.MkdirTemp(temp, scratchPrefix); err != nil {
			continue
		}
		if err = owner.Self().Write(scratch); err == nil {
			return temp, scratch, nil
		}
		_ = os.RemoveAll(scratch)
	}
	return "", "", err
}

// unpack puts the guest library into the scratch.
func (n *Native) unpack() error {
	files, name, err := python.Files()
	if err != nil {
		return err
	}
	n.info.Library = n.info.Scratch + "/" + name
	if err := os.MkdirAll(filepath.Join(n.info.Library, python.Package), 0o700); err != nil {
		return err
	}
	for name, code := range files {
		if err := os.WriteFile(filepath.Join(n.info.Library, name), code, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// inherited are the variables that a process of that system would inherit. On Windows the case of their
// names does not count: here they are in capitals, as Python shows them. What others call HOME is
// USERPROFILE there, which Python and Git take for it.
func inherited(goos string, env map[string]string) map[string]string {
	if goos != "windows" {
		return env
	}
	folded := make(map[string]string, len(env))
	for name, value := range env {
		folded[strings.ToUpper(name)] = value
	}
	if folded["HOME"] == "" && folded["USERPROFILE"] != "" {
		folded["HOME"] = folded["USERPROFILE"]
	}
	return folded
}

func (n *Native) err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return net.ErrClosed
	}
	return nil
}

// Info describes the environment.
func (n *Native) Info() backend.Info { return n.info }

// Examine has nothing to find out.
func (n *Native) Examine(context.Context) []string { return nil }

// Put writes a file by temporary name and rename.
func (n *Native) Put(ctx context.Context, name string, r io.Reader, mode fs.FileMode) error {
	return n.put(ctx, name, r, mode)
}

// Get opens a regular file.
func (n *Native) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	return n.get(ctx, name)
}

// Listen opens a port of this machine's own and dials it once. There are no Unix sockets.
func (n *Native) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	return n.listen(ctx, network, address)
}

// Share makes a directory.
func (n *Native) Share(ctx context.Context, dir string) (backend.Share, error) {
	return n.share(ctx, dir)
}

// Close ends everything, the processes first, so that what they use does not go away under them.
func (n *Native) Close() error {
	n.once.Do(func() { n.failure = n.shut() })
	return n.failure
}

func (n *Native) shut() error {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	for _, t := range n.living() {
		_ = t.signal(backend.Kill)
	}
	n.work.Wait()
	for _, t := range n.living() {
		t.end()
		n.forget(t)
	}
	return errors.Join(n.opened.Close(), removeScratch(n.info.Scratch))
}

// removeWait bounds the tries to remove the scratch: on Windows a file may be held open for a moment by
// a process that has just ended, or by who looks for viruses.
const removeWait = 2 * time.Second

func removeScratch(dir string) error {
	pause := time.Millisecond
	for deadline := time.Now().Add(removeWait); ; pause *= 2 {
		err := scrap.Remove(filepath.FromSlash(dir))
		if err == nil || runtime.GOOS != "windows" || time.Now().After(deadline) {
			return err
		}
		<-time.After(pause)
	}
}

// living are the trees that have not been let go.
func (n *Native) living() []*tree {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []*tree
	for t := range n.trees {
		list = append(list, t)
	}
	return list
}

// forget lets a tree go that has ended.
func (n *Native) forget(t *tree) {
	n.mu.Lock()
	delete(n.trees, t)
	n.mu.Unlock()
	t.release()
}
