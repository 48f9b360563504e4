package sshclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gofrs/flock"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	cryptoknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/hermes-exec/hermes-exec/backend"
)

// rig is a server, and a user's home whose configuration leads to it as "box".
type rig struct {
	*sshd
	home string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	key, _ := newKey(t)
	r := &rig{sshd: &sshd{key: key}, home: t.TempDir()}
	r.start(t)
	r.configure(t, "")
	return r
}

// configure writes the user's configuration, with more lines for the host.
func (r *rig) configure(t *testing.T, more string) {
	t.Helper()
	write(t, filepath.Join(r.home, ".ssh", "config"), fmt.Sprintf("Host box\n  HostName 127.0.0.1\n  Port %d\n  User me\n%s", r.address.Port, more))
}

// known writes the user's known hosts.
func (r *rig) known(t *testing.T, lines ...string) {
	t.Helper()
	write(t, filepath.Join(r.home, ".ssh", "known_hosts"), strings.Join(lines, "\n")+"\n")
}

// user makes a key of the user's that the server knows, as the file of that name.
func (r *rig) user(t *testing.T, name, passphrase string) ssh.Signer {
	t.Helper()
	key, private := newKey(t)
	writeKey(t, filepath.Join(r.home, ".ssh", name), private, passphrase)
	r.users = append(r.users, key.PublicKey())
	return key
}

// dial connects, without OpenSSH and without an agent.
func (r *rig) dial(ctx context.Context, change ...func(*Options)) (*Conn, error) {
	o := Options{Host: "box", Env: map[string]string{"HOME": r.home}}
	for _, f := range change {
		f(&o)
	}
	return Dial(ctx, o)
}

// in connects or fails.
func (r *rig) in(t *testing.T, change ...func(*Options)) {
	t.Helper()
	c, err := r.dial(t.Context(), change...)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	<-c.Over()
}

func TestHostKeys(t *testing.T) {
	r := newRig(t)
	r.user(t, "id_ed25519", "")
	other, _ := newKey(t)
	authority, _ := newKey(t)
	address := knownhosts.Normalize(r.address.String())
	ours := knownhosts.Line([]string{address}, r.key.PublicKey())
	mark := func(mark string, key ssh.PublicKey) string {
		return mark + " " + address + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
	}
	for name, test := range map[string]struct {
		known []string
		more  string
		want  string // part of the error; "" is none
	}{
		"known":                         {[]string{ours}, "", ""},
		"known by a hashed name":        {[]string{cryptoknownhosts.HashHostname(address) + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(r.key.PublicKey())))}, "", ""},
		"known by an alias with a port": {[]string{knownhosts.Line([]string{"[gpu]:22022"}, r.key.PublicKey())}, "  HostKeyAlias [gpu]:22022\n", ""},
		"known by its alias":            {[]string{knownhosts.Line([]string{"gpu"}, r.key.PublicKey())}, "  HostKeyAlias gpu\n", ""},
		"known by another port":         {[]string{knownhosts.Line([]string{"127.0.0.1"}, r.key.PublicKey())}, "", "box is not known"},
		"unknown":                       {nil, "", "box is not known; it shows the ssh-ed25519 key " + ssh.FingerprintSHA256(r.key.PublicKey())},
		"changed":                       {[]string{knownhosts.Line([]string{address}, other.PublicKey())}, "", "the key of box has changed"},
		"changed and lax":               {[]string{knownhosts.Line([]string{address}, other.PublicKey())}, "  StrictHostKeyChecking no\n", "the key of box has changed"},
		"revoked":                       {[]string{mark("@revoked", r.key.PublicKey()), ours}, "", "marked as revoked"},
		"signed by nobody":              {[]string{mark("@cert-authority", authority.PublicKey())}, "", "box is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			r.known(t, test.known...)
			r.configure(t, test.more)
			c, err := r.dial(t.Context())
			switch {
			case test.want == "" && err != nil:
				t.Fatal(err)
			case test.want == "":
				_ = c.Close()
				<-c.Over()
			case err == nil:
				_ = c.Close()
				t.Fatal("it was let pass")
			case !errors.Is(err, ErrHostKey) || !strings.Contains(err.Error(), test.want):
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestAcceptNew(t *testing.T) {
	t.Run("asked for", func(t *testing.T) {
		acceptNew(t, newRig(t), func(o *Options) { o.AcceptNew = true })
	})
	t.Run("configured", func(t *testing.T) {
		r := newRig(t)
		r.configure(t, "  StrictHostKeyChecking accept-new\n")
		acceptNew(t, r, func(*Options) {})
	})
}

// A program that never lets go of the known hosts is told of, and not waited for for ever.
func TestAcceptNewLocked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.user(t, "id_ed25519", "")
	file := filepath.Join(r.home, ".ssh", "known_hosts")
	write(t, file, "")
	lock := flock.New(file)
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	accept := func(o *Options) { o.AcceptNew = true }
	_, err := r.dial(t.Context(), accept)
	if err == nil || !errors.Is(err, ErrHostKey) || !strings.Contains(err.Error(), "another program holds the lock of "+file) {
		t.Errorf("error %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	r.in(t, accept)
}

// acceptNew remembers the host once.
func acceptNew(t *testing.T, r *rig, accept func(*Options)) {
	t.Helper()
	r.user(t, "id_ed25519", "")
	file := filepath.Join(r.home, ".ssh", "known_hosts")
	r.in(t, accept)
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r.in(t, accept)
	r.in(t)
	if again, _ := os.ReadFile(file); string(again) != string(first) || strings.Count(string(first), "\n") != 1 {
		t.Errorf("known hosts after one host was accepted:\n%s\nand after it came again:\n%s", first, again)
	}
}

func TestKeys(t *testing.T) {
	none := func(*Options) {}
	for name, test := range map[string]struct {
		prepare func(t *testing.T, r *rig) (change func(*Options))
		want    string // part of the error; "" is none
	}{
		"a default key": {func(t *testing.T, r *rig) func(*Options) {
			r.user(t, "id_ed25519", "")
			return none
		}, ""},
		"the key that was asked for is first": {func(t *testing.T, r *rig) func(*Options) {
			r.user(t, "id_ed25519", "")
			r.users = nil
			asked := r.user(t, "asked", "")
			t.Cleanup(func() {
				if want := ssh.FingerprintSHA256(asked.PublicKey()); len(r.offered) == 0 || r.offered[0] != want {
					t.Errorf("offered %v, want %s first", r.offered, want)
				}
			})
			return func(o *Options) { o.Key = "~/.ssh/asked" }
		}, ""},
		"the key that was asked for is not there": {func(*testing.T, *rig) func(*Options) {
			return func(o *Options) { o.Key = "/nowhere/key" }
		}, "key /nowhere/key: "},
		"encrypted, and nobody to ask": {func(t *testing.T, r *rig) func(*Options) {
			r.user(t, "id_ed25519", "secret")
			return none
		}, "encrypted and nobody can be asked"},
		"encrypted": {func(t *testing.T, r *rig) func(*Options) {
			r.user(t, "id_ed25519", "secret")
			answers := []string{"wrong", "secret"}
			return func(o *Options) {
				o.Prompt = func(context.Context, string, bool) (string, error) {
					answer := answers[0]
					answers = answers[1:]
					return answer, nil
				}
			}
		}, ""},
		"a password": {func(_ *testing.T, r *rig) func(*Options) {
			r.password = "open sesame"
			return func(o *Options) {
				o.Prompt = func(context.Context, string, bool) (string, error) { return "open sesame", nil }
			}
		}, ""},
		"a password, and nobody to ask": {func(_ *testing.T, r *rig) func(*Options) {
			r.password = "open sesame"
			return none
		}, "box does not let me in: no key was offered"},
		"a key that is not known there": {func(t *testing.T, r *rig) func(*Options) {
			r.user(t, "id_ed25519", "")
			r.users = nil
			return none
		}, "box does not let me in: offered: ssh-ed25519"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.known(t, knownhosts.Line([]string{knownhosts.Normalize(r.address.String())}, r.key.PublicKey()))
			change := test.prepare(t, r)
			if test.want == "" {
				r.in(t, change)
				return
			}
			c, err := r.dial(t.Context(), change)
			if err == nil {
				_ = c.Close()
				t.Fatal("it was let in")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// TestPool: one connection for all, as long as it has room; none when nobody is left.
func TestPool(t *testing.T) {
	r := newRig(t)
	r.user(t, "id_ed25519", "")
	r.known(t, knownhosts.Line([]string{knownhosts.Normalize(r.address.String())}, r.key.PublicKey()))
	r.sessions = 2
	var p Pool
	o := Options{Host: "box", Env: map[string]string{"HOME": r.home}}
	var open []*Channel
	for range 3 {
		c, err := p.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	if open[0].Conn != open[1].Conn {
		t.Error("two channels have two connections")
	}
	if open[2].Conn == open[0].Conn {
		t.Error("a connection without room has three channels")
	}
	for _, c := range open {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	for _, c := range open {
		<-c.Conn.Over()
	}
	again, err := p.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Conn.Close() // as a network does
	<-again.Conn.Over()
	fresh, err := p.Open(t.Context(), o)
	if err != nil {
		t.Fatalf("after the connection broke: %v", err)
	}
	_ = again.Close()
	_ = fresh.Close()
	<-fresh.Conn.Over()
}

// The end may be passed on beside a Write, even one that the host never takes, and does not wait for it.
func TestCloseWriteBesideWrite(t *testing.T) {
	r := newRig(t)
	r.user(t, "id_ed25519", "")
	r.known(t, knownhosts.Line([]string{knownhosts.Normalize(r.address.String())}, r.key.PublicKey()))
	ch, err := (&Pool{}).Open(t.Context(), Options{Host: "box", Env: map[string]string{"HOME": r.home}})
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan error)
	go func() {
		_, err := ch.Write(make([]byte, 16<<20)) // more than the window
		written <- err
	}()
	if err := ch.CloseWrite(); err != nil {
		t.Error(err)
	}
	if _, err := ch.Write([]byte("late")); !errors.Is(err, io.EOF) {
		t.Errorf("a Write after the end: %v", err)
	}
	if err := ch.Close(); err != nil {
		t.Error(err)
	}
	if err := <-written; err == nil {
		t.Error("what nobody has taken counts as written")
	}
	<-ch.Conn.Over()
}

// Who cannot get to a host is told what to look at.
func TestUnreached(t *testing.T) {
	h := &Host{Alias: "box", Name: "192.0.2.1", Port: 2222}
	const reach, lookup = "; check that this gets there: ssh -p 2222 box true", "; check the name, or give the address as HostName of box in ~/.ssh/config"
	unknown := &net.DNSError{Err: "no such host", Name: "box", IsNotFound: true}
	refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	at := func(a, b, c, d byte) net.Addr { return &net.TCPAddr{IP: net.IPv4(a, b, c, d), Port: 2222} }
	for _, tt := range []struct {
		err   error
		cause error
		want  string
	}{
		{unknown, unknown, "lookup box: no such host" + lookup},
		{&net.OpError{Op: "dial", Net: "tcp", Err: unknown}, unknown, "lookup box: no such host" + lookup},
		{&net.OpError{Op: "dial", Net: "tcp", Addr: at(192, 0, 2, 1), Err: refused}, syscall.ECONNREFUSED, "connection refused" + reach},
		{&net.OpError{Op: "dial", Net: "tcp", Addr: at(192, 0, 2, 2), Err: refused}, syscall.ECONNREFUSED, "dial tcp 192.0.2.2:2222: connect: connection refused" + reach},
		{fmt.Errorf("proxy: %w", &net.OpError{Op: "dial", Err: refused}), syscall.ECONNREFUSED, "proxy: dial: connect: connection refused" + reach},
	} {
		err := h.unreached(tt.err)
		if _, ok := errors.AsType[*backend.AdviceError](err); !ok || err.Error() != tt.want || !errors.Is(err, tt.cause) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
	if err := h.unreached(context.DeadlineExceeded); err != context.DeadlineExceeded { //nolint:errorlint // it stays as it is
		t.Errorf("%v: a guess", err)
	}
}
