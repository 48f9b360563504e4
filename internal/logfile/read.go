package logfile

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"
)

// pollEvery is how often Follow looks for more. A log is read by people: events would not be
// noticed to be faster, and they do not exist on every file system.
const pollEvery = 200 * time.Millisecond

// Copy writes the records of the log at path to w that are at least of that level, as slog's text
// handler wrote them. A log that does not exist is empty.
func Copy(w io.Writer, path string, level slog.Level) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = copyRecords(w, bufio.NewReader(f), level, "")
	return err
}

// Follow is Copy, and then goes on with what is appended until ctx ends; it also goes on in the new
// file after a rotation.
func Follow(ctx context.Context, w io.Writer, path string, level slog.Level) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var t tail
	defer t.close()
	for {
		if err := t.step(w, path, level); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// tail is where a Follow stands.
type tail struct {
	f    *os.File
	r    *bufio.Reader
	half string // the beginning of a record whose end is not written yet
}

// step copies what there is now.
func (t *tail) step(w io.Writer, path string, level slog.Level) (err error) {
	// First look whether the file was replaced, then read the old one to its end: in the other
	// order what was appended between the two would be lost.
	replaced := t.replaced(path)
	if t.f != nil {
		if t.half, err = copyRecords(w, t.r, level, t.half); err != nil {
			return err
		}
	}
	if !replaced {
		return nil
	}
	t.close()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	t.f, t.r, t.half = f, bufio.NewReader(f), ""
	t.half, err = copyRecords(w, t.r, level, "")
	return err
}

func (t *tail) replaced(path string) bool {
	if t.f == nil {
		return true
	}
	there, err := os.Stat(path)
	if err != nil {
		return false // between two renames; the old file is still all there is
	}
	ours, err := t.f.Stat()
	return err != nil || !os.SameFile(ours, there)
}

func (t *tail) close() {
	if t.f != nil {
		t.f.Close()
		t.f = nil
	}
}

// copyRecords copies whole lines and returns the one that has no end yet; half is what it begins
// with.
func copyRecords(w io.Writer, r *bufio.Reader, level slog.Level, half string) (string, error) {
	for {
		line, err := r.ReadString('\n')
		half += line
		if errors.Is(err, io.EOF) {
			return half, nil
		}
		if err != nil {
			return half, err
		}
		if levelOf(half) >= level {
			if _, err := io.WriteString(w, half); err != nil {
				return "", err
			}
		}
		half = ""
	}
}

// levelOf returns the level of a record. One that cannot be told is shown rather than hidden.
func levelOf(record string) slog.Level {
	_, rest, found := strings.Cut(record, " level=")
	if !found {
		return slog.LevelError
	}
	name, _, _ := strings.Cut(rest, " ")
	var level slog.Level
	if level.UnmarshalText([]byte(strings.TrimSpace(name))) != nil {
		return slog.LevelError
	}
	return level
}
