package logfile_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/hermes-exec/hermes-exec/internal/logfile"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// closed closes l at the end of the test.
func closed(t *testing.T, l *logfile.File) *logfile.File {
	t.Helper()
	testenv.CloseAfter(t, l)
	return l
}

func TestPrivateAndLazy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "agent.log")
	l := &logfile.File{Path: path}
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Fatal("the directory appeared before the first record")
	}
	slog.New(slog.NewTextHandler(l, nil)).Info("hello")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		return // modes are not kept there
	}
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %v", name, info.Mode().Perm(), err, want)
		}
	}
}

func TestNotThroughASymlink(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "agent.log")); err != nil {
		testenv.Missing(t, "symlinks", err.Error())
	}
	l := &logfile.File{Path: filepath.Join(dir, "agent.log")}
	if _, err := l.Write([]byte("x\n")); err == nil {
		t.Fatal("wrote through a symlink")
	}
}

// Two writers stand for two processes: each has its own descriptor and rotates on its own.
func TestRotationLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.log")
	const each = 200
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			l := closed(t, &logfile.File{Path: path, MaxSize: 1 << 10, Backups: 100})
			for i := range each {
				if _, err := fmt.Fprintf(l, "writer %d record %03d\n", w, i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	names, err := filepath.Glob(path + "*")
	if err != nil || len(names) < 3 {
		t.Fatalf("files %v, %v: nothing was rotated", names, err)
	}
	seen := map[string]int{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			seen[line]++
		}
	}
	if len(seen) != 2*each {
		t.Errorf("%d different records, want %d", len(seen), 2*each)
	}
}

func TestBackupsAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.log")
	l := closed(t, &logfile.File{Path: path, MaxSize: 10, Backups: 2})
	for range 20 {
		fmt.Fprintln(l, "more than ten bytes")
	}
	names, err := filepath.Glob(path + "*")
	if err != nil || len(names) != 4 { // the log, two backups, the lock
		t.Fatal(names, err)
	}
}

func TestCopyFiltersByLevel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.log")
	l := closed(t, &logfile.File{Path: path})
	log := slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
	log.Debug("one")
	log.Info("two", "text", "a level=ERROR in a value")
	log.Warn("three")
	fmt.Fprintln(l, "no record at all")

	var out bytes.Buffer
	if err := logfile.Copy(&out, path, slog.LevelWarn); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(got) != 2 || !strings.Contains(got[0], "three") || got[1] != "no record at all" {
		t.Fatalf("%q", got)
	}
	if err := logfile.Copy(&out, path+".none", slog.LevelInfo); err != nil {
		t.Fatal("a log that does not exist:", err)
	}
}

func TestFollowGoesOnAfterRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.log")
	l := closed(t, &logfile.File{Path: path, MaxSize: 40})
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- logfile.Follow(ctx, w, path, slog.LevelInfo) }()
	buf := make([]byte, 100)
	for i := range 5 {
		want := fmt.Sprintf("level=INFO record %d, long enough to rotate\n", i)
		if _, err := l.Write([]byte(" " + want)); err != nil {
			t.Fatal(err)
		}
		n, err := r.Read(buf)
		if err != nil || string(buf[1:n]) != want {
			t.Fatalf("read %q, %v, want %q", buf[:n], err, want)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
