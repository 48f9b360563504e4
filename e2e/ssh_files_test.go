//go:build unix

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// largeFile is of a size that goes over SFTP for the most part, and is different everywhere.
func largeFile() []byte {
	b := make([]byte, 24<<20+77)
	for i := range b {
		b[i] = byte(i>>16) ^ byte(i>>8) ^ byte(i)
	}
	return b
}

// viaSFTP is what the log of an sshd has of who uses it.
const viaSFTP = "subsystem 'sftp'"

// B074, B077, B110: large files go over SFTP where there is room for it, and come to the same where there is
// none, where it is refused, and where login files disturb it.
func TestSSHLargeFiles(t *testing.T) {
	t.Parallel()
	server := "/usr/lib/openssh/sftp-server"
	if _, err := os.Stat(server); err != nil {
		testenv.Missing(t, "ssh", err.Error())
	}
	data := largeFile()
	for name, test := range map[string]struct {
		lines []string
		has   bool   // sshd begins with SFTP
		note  string // of doctor
	}{
		"SFTP":                       {nil, true, "large files go over SFTP"},
		"a program for it":           {[]string{"Subsystem sftp " + server}, true, "large files go over SFTP"},
		"no SFTP":                    {[]string{"Subsystem none /nowhere"}, false, "sshd has no subsystem sftp"},
		"no room":                    {[]string{"MaxSessions 1"}, false, "sshd allows no more channels"},
		"just enough room":           {[]string{"MaxSessions 2"}, true, "large files go over SFTP"},
		"noise":                      {[]string{"Subsystem sftp echo Welcome to box; exec " + server}, true, "start SFTP"},
		"a server that ends":         {[]string{"Subsystem sftp true"}, true, "start SFTP"},
		"a server that may not read": {[]string{"Subsystem sftp " + server + " -P open"}, true, "large files go over SFTP"},
		"a server that only reads":   {[]string{"Subsystem sftp " + server + " -R"}, true, "large files go over SFTP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := testenv.SSHD(t, test.lines...)
			b := openSSH(h, "")(t)
			file := filepath.Join(h.There, "sub/file")
			for range 2 { // the first one finds out whether there is SFTP
				if err := b.Put(t.Context(), file, bytes.NewReader(data), 0o440); err != nil {
					t.Fatal(err)
				}
				got, err := os.ReadFile(file)
				info, statErr := os.Stat(file)
				if err != nil || statErr != nil || info.Mode() != 0o440 || !bytes.Equal(got, data) {
					t.Errorf("put %d bytes, %v, %v, %v", len(got), info, err, statErr)
				}
				same(t, b, file, data)
				if notes := strings.Join(b.Examine(t.Context()), "\n"); !strings.Contains(notes, test.note) {
					t.Errorf("notes %q lack %q", notes, test.note)
				}
			}
			if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
				t.Errorf("left %v, %v", left, err)
			}
			if has := strings.Contains(h.Log(t), viaSFTP); has != test.has {
				t.Errorf("sshd begins with SFTP: %t, want %t", has, test.has)
			}
		})
	}
}

// same fails the test unless a file has that content.
func same(t *testing.T, b backend.Backend, file string, data []byte) {
	t.Helper()
	r, err := b.Get(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sum := sha256.New()
	if n, err := io.Copy(sum, r); err != nil || [32]byte(sum.Sum(nil)) != sha256.Sum256(data) {
		t.Errorf("got %d bytes, %v", n, err)
	}
}

// Small files do not ask for SFTP.
func TestSSHSmallFiles(t *testing.T) {
	t.Parallel()
	h := testenv.SSHD(t)
	b := openSSH(h, "")(t)
	file := filepath.Join(h.There, "file")
	data := largeFile()[:2<<20]
	for range 3 {
		if err := b.Put(t.Context(), file, bytes.NewReader(data), 0); err != nil {
			t.Fatal(err)
		}
		same(t, b, file, data)
	}
	if strings.Contains(h.Log(t), viaSFTP) {
		t.Error("sshd has begun with SFTP")
	}
}

// A connection that breaks, or freezes until the caller has no more time, while a large file is on its way
// over SFTP is an error of the right kind and leaves the old file alone.
func TestSSHLargeFileIsBrokenOff(t *testing.T) {
	t.Parallel()
	data := largeFile()
	for name, breaks := range map[string]func(s *shaky, give func()){
		"cut":     func(s *shaky, _ func()) { s.cut() },
		"reset":   func(s *shaky, _ func()) { s.reset() },
		"frozen":  func(s *shaky, give func()) { s.freeze(); give() },
		"ctx end": func(_ *shaky, give func()) { give() },
	} {
		for _, way := range []string{"put", "get"} {
			t.Run(name+" "+way, func(t *testing.T) {
				t.Parallel()
				h := testenv.SSHD(t)
				s := newShakyTo(t, "tcp", func() (net.Conn, error) { return net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", h.Port)) })
				h.Configure(t, fmt.Sprintf("Port %d", s.port), "HostKeyAlias box")
				b := openSSH(h, "")(t)
				if notes := b.Examine(t.Context()); !strings.Contains(strings.Join(notes, ""), "over SFTP") {
					t.Fatalf("notes %q", notes)
				}
				file := filepath.Join(h.There, "sub/file")
				if err := b.Put(t.Context(), file, bytes.NewReader(data), 0); err != nil {
					t.Fatal(err)
				}
				cause := errors.New("enough")
				ctx, cancel := context.WithCancelCause(t.Context())
				middle := sync.OnceFunc(func() { breaks(s, func() { cancel(cause) }) })
				err := move(ctx, b, way, file, data, middle)
				if want := errors.Is(err, backend.ErrUnavailable) || errors.Is(err, cause); !want {
					t.Errorf("error %v", err)
				}
				s.thaw()
				testenv.Eventually(t, "the old file is there and nothing else", func() bool {
					left, err := os.ReadDir(filepath.Dir(file))
					return err == nil && len(left) == 1
				})
				if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, data) {
					t.Errorf("the file has %d bytes, %v", len(got), err)
				}
			})
		}
	}
}

// move puts or gets a file. Something happens when most of it is over.
func move(ctx context.Context, b backend.Backend, way, file string, data []byte, happens func()) error {
	if way == "put" {
		return b.Put(ctx, file, &surprising{r: bytes.NewReader(data), left: 14 << 20, happens: happens}, 0)
	}
	r, err := b.Get(ctx, file)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, &surprising{r: r, left: 14 << 20, happens: happens})
	return err
}

// surprising reads on after something has happened in the middle.
type surprising struct {
	r       io.Reader
	left    int
	happens func()
}

func (s *surprising) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if s.left -= n; s.left <= 0 {
		s.happens()
	}
	return n, err
}

// terminal.ssh_spool: sftp mirrors the spool over SFTP, on a channel of its own, and is an error where that
// cannot be.
func TestSSHSpoolOverSFTP(t *testing.T) {
	t.Parallel()
	configure := func(t *testing.T, v *visitor) {
		t.Helper()
		write(t, filepath.Join(v.home(), "config.yaml"), "terminal:\n  ssh_spool: sftp\n")
	}
	t.Run("works", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		configure(t, v)
		v.run(t, callsTools, "--transport", "file").must(t, "there\n")
		if !strings.Contains(v.Log(t), viaSFTP) {
			t.Error("sshd has not begun with SFTP")
		}
		v.run(t, "x = 6", "--session", "s", "--transport", "file").must(t, "")
		v.run(t, callsTools+"print(x*7)", "--session", "s", "--transport", "file").must(t, "there\n42\n")
	})
	t.Run("breaks in a call", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		configure(t, v)
		s := v.shaky(t)
		calls := filepath.Join(v.There, "calls")
		c := v.start(t, "from hermes_tools import terminal\nprint('begun\\nmore', flush=True)\n"+
			"terminal('echo call >>"+calls+"; sleep 600')\nprint('on')", "--transport", "file")
		underWay(t, calls)
		s.cut()
		lostScript(t, c.wait(t))
		v.gone(t)
		if made, err := os.ReadFile(calls); string(made) != "call\n" {
			t.Errorf("calls %q, %v", made, err)
		}
	})
	t.Run("freezes in a call", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		configure(t, v)
		s := v.shaky(t)
		calls := filepath.Join(v.There, "calls")
		c := v.start(t, "from hermes_tools import terminal\nprint('begun\\nmore', flush=True)\n"+
			"terminal('echo call >>"+calls+"; sleep 600')\nprint('on')", "--transport", "file", "--timeout", "3s")
		underWay(t, calls)
		s.freeze()
		c.wait(t).failed(t, 124, hermes.KindTimeout)
		s.thaw()
		v.gone(t)
	})
	t.Run("freezes while it sends", func(t *testing.T) {
		t.Parallel()
		closesFrozen(t)
	})
	for name, line := range map[string]string{"no SFTP": "Subsystem none /nowhere", "no room": "MaxSessions 1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVisitor(t, line)
			configure(t, v)
			r := v.run(t, callsTools, "--transport", "file")
			r.failed(t, 125, hermes.KindTransport)
			if !strings.Contains(r.Error, "ssh_spool: agent needs no SFTP") {
				t.Errorf("error %q", r.Error)
			}
			v.run(t, callsTools).must(t, "there\n")
		})
	}
}

// closesFrozen fails the test unless an environment can be closed while a file of its spool is on its way to
// a host that is out of reach.
func closesFrozen(t *testing.T) {
	t.Helper()
	h := testenv.SSHD(t)
	s := newShakyTo(t, "tcp", func() (net.Conn, error) { return net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", h.Port)) })
	h.Configure(t, fmt.Sprintf("Port %d", s.port), "HostKeyAlias box")
	b := openSSHBy(h, overSFTP, "")(t)
	share, err := b.Share(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(share.HostDir(), "out", "file")
	write(t, file, "")
	if err := os.Truncate(file, 1<<30); err != nil { // it lasts longer than the freezing takes
		t.Fatal(err)
	}
	testenv.Eventually(t, "the file is on its way", func() bool {
		info, err := os.Stat(filepath.Join(share.GuestDir(), "out", ".sent1"))
		return err == nil && info.Size() > 0
	})
	s.freeze()
	if err := b.Close(); err != nil && !errors.Is(err, backend.ErrUnavailable) {
		t.Error(err)
	}
	if _, err := os.Stat(share.HostDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory here: %v", err)
	}
	s.thaw()
}

// What was found out about a host, doctor shows.
func TestSSHDoctor(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ lines, notes []string }{
		"everything": {nil, []string{"configuration read by ssh -G", forwards, "large files go over SFTP"}},
		"little":     {[]string{noForwarding, "Subsystem none /nowhere"}, []string{relays, "sshd has no subsystem sftp"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVisitor(t, test.lines...)
			out, err := v.command(t, "doctor", "--backend", "ssh", "--host", "box").CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
			for _, part := range append(test.notes, "transport uds   works", "transport tcp   works", "transport file  works") {
				if !strings.Contains(string(out), part) {
					t.Errorf("doctor does not say %q: %s", part, out)
				}
			}
		})
	}
}
