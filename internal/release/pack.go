package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// sumsName is the list of checksums, as sha256sum writes and checks it.
const sumsName = "SHA256SUMS"

// dist is a file of a release.
type dist struct {
	name   string
	data   []byte
	sha256 string
}

// pack writes all files of a release to dir, which has none of their names yet.
func pack(ctx context.Context, id identity, programs []program, c contents, dir string) ([]dist, error) {
	var jobs []func() (string, []byte, error)
	for _, p := range programs {
		jobs = append(jobs, func() (string, []byte, error) { return archive(id, p, c) })
		if p.os == "linux" {
			jobs = append(jobs, func() (string, []byte, error) { return debian(id, p, c) })
		}
	}
	jobs = append(jobs, func() (string, []byte, error) { return image(id, programs, c) })
	files := make([]dist, len(jobs)+1) // the last is the bill, which needs the image before it
	g, ctx := errgroup.WithContext(ctx)
	for i, job := range jobs {
		g.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			file, data, err := job()
			files[i] = dist{name: file, data: data}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	file, data, err := bill(id, programs, c, files[len(jobs)-1])
	if err != nil {
		return nil, err
	}
	files[len(jobs)] = dist{name: file, data: data}
	slices.SortFunc(files, func(a, b dist) int { return strings.Compare(a.name, b.name) })
	var sums strings.Builder
	for i := range files {
		files[i].sha256 = fmt.Sprintf("%x", sha256.Sum256(files[i].data))
		fmt.Fprintf(&sums, "%s  %s\n", files[i].sha256, files[i].name)
		if err := writeFile(dir, files[i].name, files[i].data, id.when); err != nil {
			return nil, err
		}
	}
	return files, writeFile(dir, sumsName, []byte(sums.String()), id.when)
}

func writeFile(dir, file string, data []byte, when time.Time) error {
	path := filepath.Join(dir, file)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return err
	}
	return os.Chtimes(path, when, when)
}

// namesIn are the files that a list of checksums names: in its own directory, nowhere else.
func namesIn(sums string) []string {
	var names []string
	for line := range strings.Lines(sums) {
		if _, file, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && file == filepath.Base(file) && strings.HasPrefix(file, name) {
			names = append(names, file)
		}
	}
	return names
}
