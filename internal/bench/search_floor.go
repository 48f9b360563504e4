package main

import (
	"bytes"
	"errors"
	"io"
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

// scanTree does the same with files that are too large to be read whole: in pieces of whole lines, of
// which it looks at those that match. It counts lines, for their numbers.
func scanTree(root string, re *regexp.Regexp) (int, error) {
	total, lines := 0, 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		buf, have := make([]byte, 1<<20), 0
		for err == nil {
			if have == len(buf) {
				return errors.New("a line is too long for the floor")
			}
			var n int
			n, err = f.Read(buf[have:])
			have += n
			cut := bytes.LastIndexByte(buf[:have], '\n') + 1
			if re.Match(buf[:cut]) {
				total += countLines(buf[:cut], re)
			}
			lines += bytes.Count(buf[:cut], []byte("\n"))
			have = copy(buf, buf[cut:have])
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	})
	if lines == 0 && err == nil {
		err = errors.New("there are no lines")
	}
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
