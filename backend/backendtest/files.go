package backendtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing/iotest"

	"github.com/hermes-exec/hermes-exec/backend"
)

func putCases() []testCase {
	return []testCase{
		{"put and get what was put", putRoundTrip},
		{"put 64 MiB", putBig},
		{"put makes parents", putParents},
		{"put mode", putMode},
		{"put relative to the working directory", putRelative},
		{"put atomic under a reading loop", putAtomic},
		{"put whole or not at all", putBroken},
		{"put through a symlink", putSymlink},
		{"put onto what is no file", putOnto},
		{"put from many at once", putMany},
		{"put with a start", putWithStart},
		{"put a directory", putDir},
		{"put with a start makes its directory", putStartDir},
		{"put with a start that must not be", putWithoutStart},
	}
}

// putWithStart starts a process that finds its files in place, one that replaces another among them.
func putWithStart(ctx context.Context, e *env) {
	big, old := pattern(4<<20), e.scratch("made/old") // more than what any window in between holds
	e.put(ctx, old, "old", 0o600)
	cmd := e.sh("cat made/old made/new made/big")
	cmd.Dir = e.Info().Scratch
	cmd.Files = []backend.File{{Name: old, Data: []byte("replaced,")}, {Name: e.scratch("made/new"), Data: []byte("new,"), Mode: 0o640}, {Name: e.scratch("made/big"), Data: []byte(big)}}
	if got := e.output(ctx, cmd); got != "replaced,new,"+big {
		e.Errorf("got %d bytes: %.100q", len(got), got)
	}
}

// putStartDir: a script may run in a directory that its own files have made.
func putStartDir(ctx context.Context, e *env) {
	cmd := e.sh("cat file")
	cmd.Dir = e.scratch("made/for it")
	cmd.Files = []backend.File{{Name: cmd.Dir + "/file", Data: []byte("here")}}
	if got := e.output(ctx, cmd); got != "here" {
		e.Errorf("got %q", got)
	}
}

// putWithoutStart shows that nothing starts where a file cannot be, and that all goes on.
func putWithoutStart(ctx context.Context, e *env) {
	cmd := e.sh("touch started")
	cmd.Dir = e.Info().Scratch
	good := backend.File{Name: e.scratch("good"), Data: []byte("good")}
	e.put(ctx, e.scratch("file"), "", 0o600)
	for name, bad := range map[string]string{"a directory": e.Info().Scratch, "below a file": e.scratch("file/below")} {
		cmd.Files = []backend.File{good, {Name: bad, Data: []byte(pattern(100_000))}, good}
		_, err := e.Start(ctx, cmd)
		if told := (*backend.Error)(nil); !errors.As(err, &told) || told.Op != "put "+bad {
			e.Errorf("%s: error %v", name, err)
		}
	}
	if got := e.output(ctx, e.sh("ls "+e.Info().Scratch+"/started || echo none")); got != "none\n" {
		e.Errorf("it started: %q", got)
	}
	if got := e.get(ctx, e.scratch("good")); got != "good" {
		e.Errorf("got %q", got)
	}
}

func putRoundTrip(ctx context.Context, e *env) {
	for name, text := range map[string]string{
		"empty": "", "byte": "\x00", "text": "line\r\nline\n\n", "binary": pattern(300_000),
		"a space": "1", "-dash": "2", ".dot": "3", "new\nline": "4", "é日本": "5", "bytes\xff\xfe": "6", "quote'\"$`\\": "7",
		strings.Repeat("n", 200): "8",
	} {
		e.put(ctx, e.scratch(name), text, 0)
		e.put(ctx, e.scratch(name), text, 0)
		if got := e.get(ctx, e.scratch(name)); got != text {
			e.Errorf("%q: got %.100q, want %.100q", name, got, text)
		}
	}
}

// putBig (B074): what is put is in no argv and in no environment, so that only the disk limits it.
func putBig(ctx context.Context, e *env) {
	const size = 64 << 20
	data := bytes.Repeat([]byte(pattern(1<<20)), 64)
	if err := e.Put(ctx, e.scratch("big"), bytes.NewReader(data), 0o600); err != nil {
		e.Fatal(err)
	}
	r, err := e.Get(ctx, e.scratch("big"))
	if err != nil {
		e.Fatal(err)
	}
	defer r.Close()
	sum := sha256.New()
	if n, err := io.Copy(sum, r); err != nil || n != size || [32]byte(sum.Sum(nil)) != sha256.Sum256(data) {
		e.Errorf("%d bytes came back, %v", n, err)
	}
}

func putParents(ctx context.Context, e *env) {
	e.put(ctx, e.scratch("a/b/c/file"), "x", 0o640)
	for _, found := range e.stat(ctx, e.scratch("a"), e.scratch("a/b"), e.scratch("a/b/c")) {
		if found.Kind != "dir" || found.Mode != 0o700 {
			e.Errorf("parent %+v", found)
		}
	}
}

func putDir(ctx context.Context, e *env) {
	name := e.scratch("d/e/f")
	for range 2 { // what is there stays
		if err := e.Put(ctx, name, strings.NewReader(""), fs.ModeDir); err != nil {
			e.Fatal(err)
		}
		for _, found := range e.stat(ctx, name, e.scratch("d")) {
			if found.Kind != "dir" || found.Mode != 0o700 {
				e.Errorf("%+v", found)
			}
		}
	}
	cmd := e.sh("ls started")
	cmd.Dir = e.Info().Scratch
	cmd.Files = []backend.File{{Name: e.scratch("started"), Mode: fs.ModeDir}, {Name: e.scratch("started/file")}}
	if got := e.output(ctx, cmd); got != "file\n" {
		e.Errorf("got %q", got)
	}
	if err := e.Put(ctx, e.scratch("started/file"), strings.NewReader(""), fs.ModeDir); err == nil {
		e.Errorf("a directory in place of a file")
	}
}

func putMode(ctx context.Context, e *env) {
	name := e.scratch("file")
	for _, step := range []struct{ mode, want int }{
		{0, 0o600},
		{0o755, 0o755},
		{0, 0o755},
		{0o666, 0o666},
		{0o6755, 0o755}, // set before: whoever changes a file does not get its rights
		{0o400, 0o400},
	} {
		if step.mode > 0o777 {
			e.output(ctx, e.sh(`chmod 6755 "$1"`, name))
			step.mode = 0
		}
		e.put(ctx, name, "x", step.mode)
		if got := e.stat(ctx, name)[0].Mode; got != step.want {
			e.Errorf("put %o: mode is %o, want %o", step.mode, got, step.want)
		}
	}
	// Now it is one that only root may write to.
	may := e.output(ctx, e.sh(`test -w "$1" && echo yes || echo no`, name)) == "yes\n"
	err := e.Put(ctx, name, strings.NewReader("y"), 0)
	if may && err != nil || !may && !errors.Is(err, fs.ErrPermission) {
		e.Errorf("put over a read-only file: %v, which may be written to: %t", err, may)
	}
	if got := e.stat(ctx, name)[0].Mode; got != 0o400 {
		e.Errorf("the mode of a read-only file is %o afterwards", got)
	}
}

func putRelative(ctx context.Context, e *env) {
	name := "hx-" + e.mark
	e.put(ctx, name, "relative", 0o600)
	defer e.output(ctx, e.sh(`rm "$1"`, e.Info().Dir+"/"+name))
	if got := e.get(ctx, e.Info().Dir+"/"+name); got != "relative" {
		e.Errorf("got %q", got)
	}
	if got := e.get(ctx, "./"+name); got != "relative" {
		e.Errorf("got %q", got)
	}
}

// putAtomic: whoever reads while files are put sees one of them, whole.
func putAtomic(ctx context.Context, e *env) {
	name := e.scratch("dir/file")
	text := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), 300_000+i) }
	e.put(ctx, name, text(0), 0o600)
	p := e.ready(ctx, e.script("reader.py", name, e.scratch("stop")))
	for i := range 60 {
		e.put(ctx, name, text(i), 0o600)
	}
	e.put(ctx, e.scratch("stop"), "", 0o600)
	p.wait(ctx)
	if got := p.out.String(); !strings.HasSuffix(got, "whole\n") {
		e.Errorf("the reader saw %q", got)
	}
}

// putBroken: when the source fails or ctx ends, the old file stays and nothing else does.
func putBroken(ctx context.Context, e *env) {
	name := e.scratch("dir/file")
	e.put(ctx, name, "old", 0o600)
	source := io.MultiReader(strings.NewReader(pattern(500_000)), iotest.ErrReader(errSource))
	e.wantErr("put from a source that fails", e.Put(ctx, name, source, 0o600), errSource)

	cause := errors.New("enough")
	cut, cancel := context.WithCancelCause(ctx)
	late := io.MultiReader(strings.NewReader(pattern(500_000)), readerFunc(func(p []byte) (int, error) {
		cancel(cause)
		return copy(p, "x"), nil
	}))
	e.wantErr("put with a ctx that ends", e.Put(cut, name, late, 0o600), cause, context.Canceled)

	if got := e.get(ctx, name); got != "old" {
		e.Errorf("the file is %.100q", got)
	}
	if got := e.output(ctx, e.sh(`ls -A "$1"`, e.scratch("dir"))); got != "file\n" {
		e.Errorf("the directory holds %q", got)
	}
}

// readerFunc is a reader that is a function.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func putSymlink(ctx context.Context, e *env) {
	e.put(ctx, e.scratch("real/file"), "old", 0o640)
	e.output(ctx, e.sh(`cd "$1" && ln -s real/file link && ln -s link chain && ln -s real/new dangling && ln -s loop loop`, e.Info().Scratch))
	e.put(ctx, e.scratch("chain"), "new", 0)
	e.put(ctx, e.scratch("dangling"), "made", 0)
	if got := e.get(ctx, e.scratch("real/file")) + e.get(ctx, e.scratch("real/new")); got != "newmade" {
		e.Errorf("behind the links is %q", got)
	}
	found := e.stat(ctx, e.scratch("link"), e.scratch("chain"), e.scratch("dangling"), e.scratch("real/file"))
	for i, want := range []string{"link", "link", "link", "file"} {
		if found[i].Kind != want {
			e.Errorf("%d: %+v, want a %s", i, found[i], want)
		}
	}
	if found[3].Mode != 0o640 {
		e.Errorf("mode %o of the file behind the link", found[3].Mode)
	}
	if err := e.Put(ctx, e.scratch("loop"), strings.NewReader(""), 0); err == nil {
		e.Error("put through a link to itself")
	}
}

func putOnto(ctx context.Context, e *env) {
	e.put(ctx, e.scratch("file"), "", 0o600)
	e.output(ctx, e.sh(`cd "$1" && mkdir -p dir empty && touch dir/x && mkfifo fifo && ln -s dir todir`, e.Info().Scratch))
	for _, name := range []string{"dir", "empty", "todir", "fifo", "file/below", "dir/", ""} {
		if err := e.Put(ctx, e.scratch(name), strings.NewReader("x"), 0o600); err == nil {
			e.Errorf("put onto %q", name)
		}
	}
	found := e.stat(ctx, e.scratch("dir"), e.scratch("empty"), e.scratch("fifo"), e.scratch("dir/x"))
	for i, want := range []string{"dir", "dir", "fifo", "file"} {
		if found[i].Kind != want {
			e.Errorf("%d became %+v", i, found[i])
		}
	}
}

func putMany(ctx context.Context, e *env) {
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			text := strings.Repeat(fmt.Sprintf("%02d", i), 100_000)
			for _, name := range []string{e.scratch("same"), e.scratch("own" + itoa(i))} {
				if err := e.Put(ctx, name, strings.NewReader(text), 0o600); err != nil {
					e.Errorf("put %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	same := e.get(ctx, e.scratch("same"))
	if same != strings.Repeat(same[:2], 100_000) {
		e.Error("two files were mixed")
	}
	for i := range 16 {
		if got := e.get(ctx, e.scratch("own"+itoa(i))); got != strings.Repeat(fmt.Sprintf("%02d", i), 100_000) {
			e.Errorf("file %d is changed", i)
		}
	}
}

func getCases() []testCase {
	return []testCase{
		{"get missing", getMissing},
		{"get what is no file never blocks", getOdd},
		{"get through a symlink", getSymlink},
		{"get the head of a sparse 10 GB file", getSparse},
		{"get with a ctx that ends", getCtx},
		{"get that is not read stops nothing else", getStalled},
		{"get a file without a size", getProc},
	}
}

func (e *env) wantGet(ctx context.Context, name string, want error) {
	e.Helper()
	r, err := e.Get(ctx, name)
	if err == nil {
		_, err = io.CopyN(io.Discard, r, 1)
		r.Close()
	}
	e.wantErr(fmt.Sprintf("get %q", name), err, want)
}

func getMissing(ctx context.Context, e *env) {
	e.put(ctx, e.scratch("file"), "x", 0o600)
	e.output(ctx, e.sh(`ln -s nowhere "$1"`, e.scratch("dangling")))
	for _, name := range []string{"missing", "missing/file", "dangling"} {
		e.wantGet(ctx, e.scratch(name), fs.ErrNotExist)
	}
	if _, err := e.Get(ctx, e.scratch("file/below")); err == nil {
		e.Error("got something below a file")
	}
}

func getOdd(ctx context.Context, e *env) {
	e.output(ctx, e.py("import os,socket,sys\nos.chdir(sys.argv[1]);os.mkdir('dir');os.mkfifo('fifo')\n"+
		"os.symlink('fifo','link');socket.socket(socket.AF_UNIX).bind('socket')", e.Info().Scratch))
	// A FIFO's writer must not be woken either.
	writer := e.ready(ctx, e.sh(`echo ready; exec 3>"$1"; echo opened`, e.scratch("fifo")))
	for _, name := range []string{"dir", "fifo", "link", "socket"} {
		e.wantGet(ctx, e.scratch(name), fs.ErrInvalid)
	}
	for _, name := range []string{"/dev/zero", "/dev/null", "/dev/tty", "/"} {
		e.wantGet(ctx, name, fs.ErrInvalid)
	}
	writer.kill(ctx)
	if got := writer.out.String(); got != "ready\n" {
		e.Errorf("the FIFO was opened: %q", got)
	}
}

func getSymlink(ctx context.Context, e *env) {
	e.put(ctx, e.scratch("file"), "behind", 0o600)
	e.output(ctx, e.sh(`ln -s file "$1"`, e.scratch("link")))
	if got := e.get(ctx, e.scratch("link")); got != "behind" {
		e.Errorf("got %q", got)
	}
}

// getSparse: the head of a huge file is cheap, and what is left unread is left.
func getSparse(ctx context.Context, e *env) {
	e.output(ctx, e.sh(`printf head >"$1" && truncate -s 10G "$1"`, e.scratch("huge")))
	for range 5 {
		r, err := e.Get(ctx, e.scratch("huge"))
		if err != nil {
			e.Fatal(err)
		}
		head := make([]byte, 1<<20)
		if _, err := io.ReadFull(r, head); err != nil || !bytes.HasPrefix(head, []byte("head\x00")) {
			e.Errorf("%.10q, %v", head, err)
		}
		if err := r.Close(); err != nil {
			e.Errorf("close: %v", err)
		}
	}
	e.output(ctx, e.sh("true"))
}

func getCtx(ctx context.Context, e *env) {
	e.output(ctx, e.sh(`truncate -s 10G "$1"`, e.scratch("huge")))
	cause := errors.New("enough")
	reading, cancel := context.WithCancelCause(ctx)
	r, err := e.Get(reading, e.scratch("huge"))
	if err != nil {
		e.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
		e.Error(err)
	}
	cancel(cause)
	_, err = io.Copy(io.Discard, r)
	e.wantErr("read", err, cause, context.Canceled)
}

func getStalled(ctx context.Context, e *env) {
	e.output(ctx, e.sh(`truncate -s 1G "$1"`, e.scratch("huge")))
	for range 4 {
		r, err := e.Get(ctx, e.scratch("huge"))
		if err != nil {
			e.Fatal(err)
		}
		defer r.Close()
	}
	data := pattern(4 << 20)
	e.put(ctx, e.scratch("other"), data, 0o600)
	if e.get(ctx, e.scratch("other")) != data {
		e.Error("another file is changed")
	}
}

func getProc(ctx context.Context, e *env) {
	want := e.output(ctx, e.sh("cat /proc/version"))
	if got := e.get(ctx, "/proc/version"); got != want {
		e.Errorf("got %q, want %q", got, want)
	}
}
