package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// walkTree counts the lines that match, as a careful Go program would: it reads every file whole,
// passes binary files and .git over, asks once whether a file matches at all, and only then line by
// line. It knows no .gitignore.
func walkTree(root string, re *regexp.Regexp) (int, error) {
	total := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if bytes.IndexByte(data[:min(len(data), 1<<16)], 0) < 0 && re.Match(data) {
			total += countLines(data, re)
		}
		return nil
	})
	return total, err
}

func countLines(data []byte, re *regexp.Regexp) int {
	n := 0
	for line := range bytes.Lines(data) {
		if re.Match(bytes.TrimSuffix(line, []byte("\n"))) {
			n++
		}
	}
	return n
}
