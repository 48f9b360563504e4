//go:build unix

package tool

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

func TestReadFile(t *testing.T) { eachWorld(t, testReadFile) }

func testReadFile(t *testing.T, w *world) {
	t.Helper()
	t.Run("B087 same keys and fresh content", func(t *testing.T) {
		want := []string{"content", "encoding", "next_offset", "total_lines", "truncated"}
		for _, text := range []string{"one\n", "two\nthree\n", "two\nthree\n"} {
			w.put("a", text)
			for _, args := range []object{{"path": "a"}, {"path": "a", "limit": 1}, {"path": "a", "offset": 9}} {
				o := w.ok("read_file", args)
				if !slices.Equal(keys(o), want) {
					t.Errorf("keys %v", keys(o))
				}
			}
			if o := w.ok("read_file", object{"path": "a"}); o["content"] != text {
				t.Errorf("content %q, want %q", o["content"], text)
			}
		}
	})
	t.Run("paths", func(t *testing.T) {
		w.put("sub dir/ä<&>", "<&>\u2028\r\n")
		for _, name := range []string{"sub dir/ä<&>", "./sub dir/../sub dir/ä<&>", w.dir + "/sub dir/ä<&>", "~/sub dir/ä<&>"} {
			if o := w.ok("read_file", object{"path": name}); o["content"] != "<&>\u2028\r\n" {
				t.Errorf("%s: %q", name, o["content"])
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		if err := syscall.Mkfifo(filepath.Join(w.dir, "fifo"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.put("binary", "\x7fELF\xff")
		w.fails("read_file", object{"path": "fifo"}, "is a FIFO")
		w.fails("read_file", object{"path": "/dev/zero"}, "is a device")
		w.fails("read_file", object{"path": "."}, "is a directory")
		w.fails("read_file", object{"path": "binary"}, "is not UTF-8 text")
		w.fails("read_file", object{"path": "missing"}, "missing: no such file or directory")
		w.fails("read_file", object{"path": ""}, "argument 'path' must be at least one character long")
		w.fails("read_file", object{"path": "a\x00b"}, "NUL")
	})
}

// The two implementations of a window, the guest's and the host's for spills, must agree.
func TestSpillReadsLikeFile(t *testing.T) {
	w := newWorld(t)
	spill := filepath.Join(w.dir, "spill")
	w.env.Spills = func(name string) bool { return name == spill }
	texts := []string{
		"", "\n", "a", "a\n", "a\nb", "a\r\nb\r\n", "\n\n\n", strings.Repeat("ab\u20ac\n", 30000),
		strings.Repeat("x", maxContent+7) + "\nlast", strings.Repeat("\u20ac", maxContent/3+2),
		"a\n" + strings.Repeat("y", maxContent),
	}
	for i, text := range texts {
		w.put("spill", text)
		for _, args := range []object{{}, {"limit": 1}, {"offset": 2}, {"offset": 2, "limit": 1}, {"limit": 25000}, {"offset": 99999}} {
			args["path"] = spill
			host := w.ok("read_file", args)
			args["path"] = "spill"
			if guest := w.ok("read_file", args); !reflect.DeepEqual(host, guest) {
				t.Errorf("text %d, %v:\nhost  %.200v\nguest %.200v", i, args, host, guest)
			}
		}
	}
}

func TestSpill(t *testing.T) {
	w := newWorld(t)
	host := t.TempDir()
	spill := filepath.Join(host, "spill")
	served := []string{spill}
	w.env.Spills = func(name string) bool { return slices.Contains(served, name) }
	if err := os.WriteFile(spill, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []any{object{"path": spill, "line": 2.0, "content": "two"}}
	if o := w.ok("search_files", object{"pattern": "(?<=t)wo", "path": spill}); !reflect.DeepEqual(o["matches"], want) {
		t.Errorf("search: %v", o)
	}
	for _, name := range []string{"link", "folder", "fifo"} {
		served = append(served, filepath.Join(host, name))
	}
	if err := errors.Join(
		os.Symlink("/etc/passwd", filepath.Join(host, "link")),
		os.Mkdir(filepath.Join(host, "folder"), 0o700),
		syscall.Mkfifo(filepath.Join(host, "fifo"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	for _, name := range served[1:] {
		w.fails("read_file", object{"path": name}, "is not a regular file")
		w.fails("search_files", object{"path": name, "pattern": "x"}, "is not a regular file")
	}
}

func TestSearchFiles(t *testing.T) { eachWorld(t, testSearchFiles) }

func testSearchFiles(t *testing.T, w *world) {
	t.Helper()
	w.put("src/a.py", "import os\n# TODO one\n")
	w.put("src/b.go", "// TODO two\n")
	w.put("node_modules/c.py", "TODO")
	w.put(".gitignore", "node_modules/\n")

	t.Run("B088 B089 shapes", func(t *testing.T) {
		for _, args := range []object{
			{"pattern": "TODO"},
			{"pattern": "nothing"},
			{"pattern": "*.py", "target": "files"},
			{"pattern": "*.rs", "target": "files"},
			{"pattern": "TODO", "output_mode": "count"},
			{"pattern": "TODO", "output_mode": "files_only", "limit": 2},
		} {
			o := w.ok("search_files", args)
			if _, isList := o["matches"].([]any); !isList || !slices.Equal(keys(o), []string{"matches", "next_offset", "total_count", "truncated"}) {
				t.Errorf("%v: %v", args, o)
			}
		}
		o := w.ok("search_files", object{"pattern": "TODO", "limit": 1})
		if o["truncated"] != true || o["next_offset"] != 1.0 || o["total_count"] != 2.0 {
			t.Errorf("a first page: %v", o)
		}
		w.fails("search_files", object{"pattern": "a.b("}, "bad pattern")
		w.fails("search_files", object{"pattern": "x", "path": "missing"}, "missing: no such file or directory")
	})
	t.Run("paths can be handed back", func(t *testing.T) {
		o := w.ok("search_files", object{"pattern": "TODO", "path": "src", "file_glob": "*.py"})
		want := []any{object{"path": "src/a.py", "line": 2.0, "content": "# TODO one"}}
		if !reflect.DeepEqual(o["matches"], want) {
			t.Fatalf("%v", o)
		}
		w.ok("read_file", object{"path": "src/a.py"})
		w.env.Dir = w.dir + "/src" // after os.chdir
		defer func() { w.env.Dir = w.dir }()
		o = w.ok("search_files", object{"pattern": "b", "target": "files"})
		if !reflect.DeepEqual(o["matches"], []any{object{"path": "b.go"}}) {
			t.Errorf("%v", o)
		}
	})
	t.Run("a runaway pattern freezes only itself", func(t *testing.T) {
		w.put("evil", strings.Repeat("a", 5000)+"b")
		stuck, cancel := context.WithCancelCause(t.Context())
		var done sync.WaitGroup
		done.Go(func() {
			_, err := w.try(stuck, "search_files", object{"pattern": "(a+)+$", "path": "evil"})
			if err == nil || !strings.Contains(err.Error(), "time is over") {
				t.Errorf("the error is %v", err)
			}
		})
		w.ok("search_files", object{"pattern": "TODO"})
		cancel(errors.New("time is over"))
		done.Wait()
		w.ok("search_files", object{"pattern": "TODO"})
	})
}

func TestFilesPool(t *testing.T) {
	w := newWorld(t)
	w.put("a", "x")

	t.Run("more calls than helpers", func(t *testing.T) {
		var all sync.WaitGroup
		for range 4 * maxHelpers {
			all.Go(func() {
				if o, err := w.try(t.Context(), "read_file", object{"path": "a"}); o["content"] != "x" {
					t.Errorf("%v, %v", o, err)
				}
			})
		}
		all.Wait()
		if n := len(w.env.Files.idle); n == 0 || n > usual {
			t.Errorf("%d helpers are idle", n)
		}
	})
	t.Run("runaway patterns block only themselves", func(t *testing.T) {
		w.put("evil", strings.Repeat("a", 5000)+"b")
		stuck, cancel := context.WithCancelCause(t.Context())
		var done sync.WaitGroup
		for range usual + 2 {
			done.Go(func() {
				if _, err := w.try(stuck, "search_files", object{"pattern": "(a+)+$", "path": "evil"}); err == nil {
					t.Error("a search without end came to an end")
				}
			})
		}
		testenv.Eventually(t, "all are at work", func() bool { return len(w.env.Files.slots)+len(w.env.Files.extra) == usual+2 })
		for range 3 {
			w.ok("read_file", object{"path": "a"})
		}
		cancel(errors.New("time is over"))
		done.Wait()
		w.ok("read_file", object{"path": "a"})
	})
	t.Run("a helper that a script ended is replaced", func(t *testing.T) {
		for _, h := range w.env.Files.idle {
			if err := h.process.Signal(t.Context(), backend.Kill); err != nil {
				t.Fatal(err)
			}
			<-h.gone
		}
		w.ok("read_file", object{"path": "a"})
	})
	t.Run("cannot start", func(t *testing.T) {
		poor := NewFiles(w.env.Backend, map[string]string{})
		poor.b = noLibrary{w.env.Backend}
		defer func() { _ = poor.Close() }()
		_, err := poor.call(t.Context(), request{Op: "read_file", Path: w.dir + "/a"})
		if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "ModuleNotFoundError") {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		var stuck sync.WaitGroup
		w.put("evil", strings.Repeat("a", 5000)+"b")
		started := make(chan struct{})
		stuck.Go(func() {
			close(started)
			if _, err := w.try(t.Context(), "search_files", object{"pattern": "(a+)+$", "path": "evil"}); err == nil {
				t.Error("a search without end came to an end")
			}
		})
		<-started
		_ = w.env.Files.Close()
		stuck.Wait()
		if _, err := w.try(t.Context(), "read_file", object{"path": "a"}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestWriteFile(t *testing.T) { eachWorld(t, testWriteFile) }

func testWriteFile(t *testing.T, w *world) {
	t.Helper()
	t.Run("B056 B074 exact bytes of any size", func(t *testing.T) {
		for _, text := range []string{"", "no end", `\1 $'…\"' C:\new %s {} \\\"`, "\ufeffa\r\nb\x00\n", strings.Repeat("0123456789€\n", 5<<20/14)} {
			o := w.ok("write_file", object{"path": "new/deep/a", "content": text})
			want := object{"status": "success", "path": "new/deep/a", "bytes_written": float64(len(text))}
			if !reflect.DeepEqual(o, want) {
				t.Errorf("%.80q: %v", text, o)
			}
			if w.get("new/deep/a") != text {
				t.Errorf("%.80q was not written as it is", text)
			}
		}
	})
	t.Run("mode and symlink stay", func(t *testing.T) {
		w.put("tool.sh", "old")
		if err := errors.Join(os.Chmod(w.dir+"/tool.sh", 0o750), os.Symlink("tool.sh", w.dir+"/link")); err != nil {
			t.Fatal(err)
		}
		w.ok("write_file", object{"path": "link", "content": "new"})
		info, err := os.Lstat(w.dir + "/tool.sh")
		if err != nil || info.Mode().Perm() != 0o750 || w.get("tool.sh") != "new" {
			t.Errorf("%v %v %q", info.Mode(), err, w.get("tool.sh"))
		}
		if to, err := os.Readlink(w.dir + "/link"); to != "tool.sh" {
			t.Errorf("the link became %q, %v", to, err)
		}
	})
	t.Run("mode of a new file", func(t *testing.T) {
		w.ok("write_file", object{"path": "fresh/file", "content": ""})
		o := w.ok("terminal", object{"command": "mkdir d; >d/file; for f in d fresh; do stat -c %a $f $f/file; done | sort | uniq -c | wc -l"})
		if o["output"] != "2\n" {
			t.Errorf("modes differ from what a shell makes: %v", o)
		}
	})
	t.Run("refused", func(t *testing.T) {
		w.put("file", "")
		if err := syscall.Mkfifo(filepath.Join(w.dir, "fifo"), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, why := range map[string]string{
			"fifo": "is a FIFO", ".": "is a directory", "/dev/null": "is a device", "file/x": "not a directory", "nope/": "name of a directory",
			strings.Repeat("n", 300): "…: file name too long",
		} {
			w.fails("write_file", object{"path": name, "content": "x"}, why)
		}
		if os.Geteuid() == 0 && runtime.GOOS == "linux" { // others may not write there at all
			w.fails("write_file", object{"path": "/proc/version", "content": "x"}, "write_file: /proc/version: its directory takes no new files, or is gone; open() can")
			w.fails("write_file", object{"path": "/proc/new", "content": "x"}, "write_file: /proc/new: its directory takes no new files")
			w.fails("write_file", object{"path": "/proc/new/x", "content": "x"}, "/proc/new/x: no directory can be made for it")
		}
	})
	t.Run("path of home", func(t *testing.T) {
		o := w.ok("write_file", object{"path": "~/h", "content": "x"})
		if o["path"] != w.dir+"/h" {
			t.Errorf("open() could not use %v", o["path"])
		}
	})
}

func TestWriteThenRead(t *testing.T) {
	w := newWorld(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		w.ok("write_file", object{"path": "a", "content": text})
		var back strings.Builder
		for offset := any(1.0); offset != nil; {
			o := w.ok("read_file", object{"path": "a", "offset": offset, "limit": rapid.IntRange(1, 3).Draw(t, "limit")})
			s, _ := o["content"].(string)
			back.WriteString(s)
			offset = o["next_offset"]
		}
		if want := strings.TrimPrefix(text, "\ufeff"); back.String() != want {
			t.Fatalf("%q came back as %q", want, back.String())
		}
	})
}

func TestPathLocks(t *testing.T) {
	var p pathLocks
	unlock, err := p.lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	other, err := p.lock(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	other()
	ended, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := p.lock(ended, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a held lock: %v", err)
	}
	unlock()
	if len(p.locks) != 0 {
		t.Errorf("locks are left: %v", p.locks)
	}
}
