package backendtest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
)

func shareCases() []testCase {
	return []testCase{
		{"share whole both ways", shareBothWays},
		{"share 1,000 files each way", shareMany},
		{"share 64 MiB", shareBig},
		{"share keeps dot files back", shareDots},
		{"share with hostile names", shareNames},
		{"share with what is no file", shareOdd},
		{"share with files that vanish", shareVanishing},
		{"share mirrored wakes who waits and tells of who died", shareFIFO},
		{"share is private", sharePrivate},
		{"share below a directory", shareBelow},
		{"share two at once", shareTwo},
		{"share close", shareClose},
	}
}

// TestShares runs the cases of shares alone: a backend may have more than one kind of them.
func TestShares(t *testing.T, c Config) {
	t.Helper()
	for _, tc := range shareCases() {
		t.Run(tc.name, func(t *testing.T) { c.run(t, tc) })
	}
}

// share opens a share that is closed with the case.
func (e *env) share(ctx context.Context, dir string) backend.Share {
	e.Helper()
	s, err := e.Share(ctx, dir)
	if err != nil {
		e.Fatalf("share %q: %v", dir, err)
	}
	e.Cleanup(func() {
		if err := s.Close(); err != nil {
			e.Errorf("close share: %v", err)
		}
	})
	return s
}

// send puts a file into the host's side of out/, as a transport does.
func (e *env) send(s backend.Share, name, text string) {
	e.Helper()
	dir := filepath.Join(s.HostDir(), "out")
	temp := filepath.Join(dir, ".tmp-send")
	if err := os.WriteFile(temp, []byte(text), 0o600); err != nil {
		e.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || give(temp, info) != nil {
		e.Fatalf("give %s to the guest: %v, %v", temp, err, give(temp, info))
	}
	if err := os.Rename(temp, filepath.Join(dir, name)); err != nil {
		e.Fatal(err)
	}
}

// arrived lists what is visible in the host's side of in/.
func (e *env) arrived(s backend.Share) []string {
	e.Helper()
	entries, err := os.ReadDir(filepath.Join(s.HostDir(), "in"))
	if err != nil {
		e.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	return names
}

// take waits for a file in the host's side of in/ and removes it, as a transport does.
func (e *env) take(ctx context.Context, s backend.Share, name string) string {
	e.Helper()
	full := filepath.Join(s.HostDir(), "in", name)
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for {
		text, err := os.ReadFile(full)
		if err == nil {
			if err := os.Remove(full); err != nil {
				e.Errorf("remove: %v", err)
			}
			return string(text)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			e.Fatal(err)
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			e.Fatalf("%q does not arrive; there is %.500q", name, e.arrived(s))
		}
	}
}

// mirrored tells whether the two sides of s are different directories: what lies beside in/ and
// out/ does not cross.
func (e *env) mirrored(ctx context.Context, s backend.Share) bool {
	e.Helper()
	if err := os.WriteFile(filepath.Join(s.HostDir(), ".nonce"), nil, 0o600); err != nil {
		e.Fatal(err)
	}
	return e.stat(ctx, s.GuestDir()+"/.nonce")[0].Kind == ""
}

// guest is a command that works on the guest's side of a share.
func (e *env) guest(s backend.Share, mode string, args ...string) backend.Cmd {
	return e.script("share.py", append([]string{s.GuestDir(), mode}, args...)...)
}

func shareBothWays(ctx context.Context, e *env) {
	s := e.share(ctx, "")
	p := e.start(ctx, e.guest(s, "echo"))
	for i, text := range []string{"", "x", "line\nline\n", pattern(1 << 20), "\x00\xff"} {
		e.send(s, itoa(i), text)
		if got := e.take(ctx, s, itoa(i)); got != text {
			e.Errorf("%d: got %.100q, want %.100q", i, got, text)
		}
	}
	e.send(s, "stop", "")
	p.wait(ctx)
	if left := e.stat(ctx, s.GuestDir()+"/in/0", s.GuestDir()+"/in/4"); left[0].Kind != "" || left[1].Kind != "" {
		e.Errorf("files that have crossed are still there: %+v", left)
	}
	if entries, err := os.ReadDir(filepath.Join(s.HostDir(), "out")); err != nil || len(entries) > 0 {
		e.Errorf("left in out: %v, %v", entries, err)
	}
}

func shareMany(ctx context.Context, e *env) {
	s := e.share(ctx, "")
	p := e.start(ctx, e.guest(s, "echo"))
	const files = 1000
	for i := range files {
		e.send(s, fmt.Sprintf("file%d", i), itoa(i*i))
	}
	for i := range files {
		if got := e.take(ctx, s, fmt.Sprintf("file%d", i)); got != itoa(i*i) {
			e.Fatalf("file %d: got %q", i, got)
		}
	}
	e.send(s, "stop", "")
	p.wait(ctx)
	if left := e.arrived(s); len(left) > 0 {
		e.Errorf("more arrived: %q", left)
	}
}

func shareBig(ctx context.Context, e *env) {
	s := e.share(ctx, "")
	p := e.start(ctx, e.guest(s, "echo"))
	data := strings.Repeat(pattern(1<<20), 64)
	e.send(s, "big", data)
	e.send(s, "small", "x")
	if got := e.take(ctx, s, "small"); got != "x" {
		e.Errorf("got %q", got)
	}
	if got := e.take(ctx, s, "big"); sha256.Sum256([]byte(got)) != sha256.Sum256([]byte(data)) {
		e.Errorf("%d bytes came back changed", len(got))
	}
	e.send(s, "stop", "")
	p.wait(ctx)
}

// shareDots: a dot name is a file that is being written. Where the two sides are one directory the
// host can see it, where they are not it must not.
func shareDots(ctx context.Context, e *env) {
	s := e.share(ctx, "")
	e.output(ctx, e.guest(s, "write", ".half", "half", "whole", "whole"))
	if got := e.take(ctx, s, "whole"); got != "whole" {
		e.Errorf("got %q", got)
	}
	_, err := os.Lstat(filepath.Join(s.HostDir(), "in", ".half"))
	if err == nil && e.mirrored(ctx, s) {
		e.Error("a dot file crossed to the host")
	}
	if err := os.WriteFile(filepath.Join(s.HostDir(), "out", ".half"), []byte("half"), 0o600); err != nil {
		e.Fatal(err)
	}
	e.send(s, "whole", "x")
	e.awaitFile(ctx, s.GuestDir()+"/out/whole")
	if e.stat(ctx, s.GuestDir()+"/out/.half")[0].Kind != "" && e.mirrored(ctx, s) {
		e.Error("a dot file crossed to the guest")
	}
	e.output(ctx, e.guest(s, "rename", ".half", "late"))
	if got := e.take(ctx, s, "late"); got != "half" {
		e.Errorf("got %q", got)
	}
}

// shareNames: a name is bytes, and can be no path.
func shareNames(ctx context.Context, e *env) {
	s := e.share(ctx, "")
	longest := e.output(ctx, e.py("import os, sys; print(os.pathconf(sys.argv[1], 'PC_NAME_MAX'), end='')", s.GuestDir()))
	length, err := strconv.Atoi(longest)
	if err != nil || length > 255 {
		e.Fatalf("the longest name has %q bytes", longest)
	}
	names := []string{
		"new\nline", "-rf", "a space", "é日本", "quote'\"", "$(id)", "back\\slash", "tab\t", "\x01\x7f", "%2e%2e%2f",
		"C:", strings.Repeat("n", length),
	}
	var args []string
	for i, name := range names {
		args = append(args, name, itoa(i))
	}
	e.output(ctx, e.guest(s, "write", args...))
	for i, name := range names {
		if got := e.take(ctx, s, name); got != itoa(i) {
			e.Errorf("%q: got %q", name, got)
		}
	}
	// A name that is no UTF-8 may be kept back, but must stop nothing.
	e.output(ctx, e.guest(s, "write", "bytes\xff\xfe", "x", "after", "y"))
	if got := e.take(ctx, s, "after"); got != "y" {
		e.Errorf("got %q", got)
	}
}

// shareOdd: whatever else a guest puts there, nothing follows it, blocks on it or crosses.
func shareOdd(ctx context.Context, e *env) {
	s := e.share(ctx, "")
	e.output(ctx, e.guest(s, "plant"))
	e.output(ctx, e.guest(s, "write", "regular", "x"))
	if got := e.take(ctx, s, "regular"); got != "x" {
		e.Errorf("got %q", got)
	}
	if left := e.arrived(s); len(left) > 0 && e.mirrored(ctx, s) {
		e.Errorf("crossed: %q", left)
	}
}

// shareVanishing: a guest may take back what it has put there, at any moment.
func shareVanishing(ctx context.Context, e *env) {
	s := e.share(ctx, "")
	e.output(ctx, e.guest(s, "vanish"))
	e.output(ctx, e.guest(s, "write", "after", "x"))
	if got := e.take(ctx, s, "after"); got != "x" {
		e.Errorf("got %q", got)
	}
}

// shareFIFO is of mirrors: where both sides are one directory, its users write and read the FIFOs.
func shareFIFO(ctx context.Context, e *env) {
	s := e.share(ctx, "")
	if !e.mirrored(ctx, s) {
		return
	}
	p := e.ready(ctx, e.guest(s, "await", ".wake_reader"))
	e.send(s, "file", "x")
	p.await(ctx, "woken\n")
	p.kill(ctx)
	if got := e.take(ctx, s, "end_reader"); got != "" {
		e.Errorf("got %q", got)
	}
}

func sharePrivate(ctx context.Context, e *env) {
	s := e.share(ctx, "")
	for _, dir := range []string{"", "in", "out"} {
		guest := e.stat(ctx, path.Join(s.GuestDir(), dir))[0]
		host, err := os.Lstat(filepath.Join(s.HostDir(), dir))
		if err != nil || guest.Kind != "dir" || guest.Mode != 0o700 || host.Mode() != fs.ModeDir|0o700 {
			e.Errorf("%q: guest %+v, host %v, %v", dir, guest, host, err)
		}
	}
}

func shareBelow(ctx context.Context, e *env) {
	e.put(ctx, e.scratch("below/file"), "", 0o600)
	s := e.share(ctx, e.scratch("below"))
	if path.Dir(s.GuestDir()) != e.scratch("below") {
		e.Errorf("%s is not below %s", s.GuestDir(), e.scratch("below"))
	}
	e.output(ctx, e.guest(s, "write", "a", "b"))
	if got := e.take(ctx, s, "a"); got != "b" {
		e.Errorf("got %q", got)
	}
	if s, err := e.Share(ctx, e.scratch("below/file")); err == nil {
		shut(s)
		e.Error("shared below a file")
	}
}

func shareTwo(ctx context.Context, e *env) {
	one, two := e.share(ctx, ""), e.share(ctx, "")
	if one.HostDir() == two.HostDir() || one.GuestDir() == two.GuestDir() {
		e.Fatal("two shares are one")
	}
	e.output(ctx, e.guest(one, "write", "same", "1"))
	e.output(ctx, e.guest(two, "write", "same", "2"))
	if got := e.take(ctx, two, "same") + e.take(ctx, one, "same"); got != "21" {
		e.Errorf("got %q", got)
	}
}

func shareClose(ctx context.Context, e *env) {
	s, err := e.Share(ctx, "")
	if err != nil {
		e.Fatal(err)
	}
	e.send(s, "unread", "x")
	e.output(ctx, e.guest(s, "plant"))
	for range 2 {
		if err := s.Close(); err != nil {
			e.Errorf("close: %v", err)
		}
	}
	if _, err := os.Lstat(s.HostDir()); !errors.Is(err, fs.ErrNotExist) {
		e.Errorf("%s stays on the host: %v", s.HostDir(), err)
	}
	if found := e.stat(ctx, s.GuestDir())[0]; found.Kind != "" {
		e.Errorf("the guest's side stays: %+v", found)
	}
}
