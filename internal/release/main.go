// Command release builds what a release of hermes-exec consists of, the same bytes wherever it runs:
// the program for six platforms in archives, Debian packages, a container image, a bill of materials
// and the checksums of all of it.
//
// What the bytes depend on is the commit, the version and the Go toolchain. So every entry of every
// archive has the time of the commit, the owner root and its place in a sorted order, and the program
// is built without paths and without Go's own stamp of the repository, which would depend on the tags
// that a clone happens to have. It needs the modules of go.mod and no network if they are in the
// module cache.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// name is what all of it is called, and what all files of a release begin with.
const name = "hermes-exec"

func main() {
	os.Exit(realMain(os.Args[1:], os.Stdout, os.Stderr)) //nolint:forbidigo // this is main
}

func realMain(args []string, out, errOut io.Writer) int {
	f := flag.NewFlagSet("release", flag.ContinueOnError)
	f.SetOutput(errOut)
	version := f.String("version", "", "the `version`, as v1.2.3; default: what git describe says")
	dir := f.String("out", "dist", "the `directory` for the files")
	tags := f.String("tags", "", "build `tags` of the program, separated by commas")
	maintainer := f.String("maintainer", "hermes-exec maintainers <hermes-exec@users.noreply.github.com>", "`who` answers for the Debian packages")
	if err := f.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := makeRelease(ctx, source{root: ".", tags: *tags}, *version, *maintainer, *dir, out); err != nil {
		fmt.Fprintf(errOut, "release: %v\n", err)
		return 1
	}
	return 0
}

// makeRelease builds the program for its six platforms and writes the files of a release to dir.
func makeRelease(ctx context.Context, s source, version, maintainer, dir string, out io.Writer) (err error) {
	id, err := identify(ctx, s.root, version, os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	id.maintainer = maintainer
	fmt.Fprintf(out, "%s %s of %s\n", name, id.version, id.when.Format(time.RFC3339))
	temp, err := os.MkdirTemp("", "hermes-exec-release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	programs, err := s.build(ctx, id, temp)
	if err != nil {
		return err
	}
	c, err := s.contents(ctx, programs, temp)
	if err != nil {
		return err
	}
	if err := vacate(dir); err != nil {
		return err
	}
	files, err := pack(ctx, id, programs, c, dir)
	for _, f := range files {
		fmt.Fprintf(out, "%s  %s\n", f.sha256, filepath.Join(dir, f.name))
	}
	return err
}

// identity is which release it is.
type identity struct {
	version    string    // v1.2.3, or what git describe makes of it
	revision   string    // the commit; empty: not known
	when       time.Time // of the commit; all files and entries have it
	maintainer string    // NAME <ADDRESS>
}

// identify takes the version and the time (seconds since 1970) as they are given and asks git for what
// is not.
func identify(ctx context.Context, root, version, epoch string) (identity, error) {
	id := identity{version: version}
	var gitErr error
	if id.revision, gitErr = command(ctx, root, "git", "rev-parse", "HEAD"); gitErr != nil && (version == "" || epoch == "") {
		return id, fmt.Errorf("without git, set VERSION (v1.2.3) and SOURCE_DATE_EPOCH (seconds since 1970): %w", gitErr)
	}
	if epoch == "" {
		if epoch, gitErr = command(ctx, root, "git", "log", "-1", "--format=%ct"); gitErr != nil {
			return id, gitErr
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil || seconds < 0 {
		return id, fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a number of seconds since 1970", epoch)
	}
	id.when = time.Unix(seconds, 0).UTC()
	if version == "" {
		if version, err = describe(ctx, root, id); err != nil {
			return id, err
		}
	}
	id.version, err = canonical(version)
	return id, err
}

// vacate makes dir and removes the release that lies in it, if nothing else does: what its list of
// checksums names, so that no mistake in a flag can cost somebody's files.
func vacate(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(dir, sumsName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	ours := append(namesIn(string(sums)), sumsName)
	for _, entry := range there {
		if !slices.Contains(ours, entry.Name()) {
			return fmt.Errorf("%s has something else in it (%s): remove it, or name another directory by -out", dir, entry.Name())
		}
	}
	for _, entry := range there {
		if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}
