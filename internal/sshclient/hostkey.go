package sshclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	cryptoknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/hermes-exec/hermes-exec/backend"
)

// ErrHostKey means that a host is not, or not provably, the one it should be.
var ErrHostKey = errors.New("host key not accepted")

// errUnknown says that no file has a key of the host.
var errUnknown = errors.New("is not known")

// hostKeys checks the keys of one host.
type hostKeys struct {
	host      *Host
	db        *knownhosts.HostKeyDB
	acceptNew bool
}

// newHostKeys reads the files of known hosts. Those that do not exist know nobody.
func newHostKeys(h *Host) (*hostKeys, error) {
	var files []string
	for _, name := range h.KnownHosts {
		if info, err := os.Stat(name); err == nil && !info.IsDir() {
			files = append(files, name)
		}
	}
	db, err := knownhosts.NewDB(files...)
	if err != nil {
		return nil, fmt.Errorf("known hosts: %w", err)
	}
	return &hostKeys{host: h, db: db}, nil
}

// algorithms are those to ask for: first those of the keys that are known, so that the host shows one of
// these if it still has it.
func (k *hostKeys) algorithms() []string {
	others := k.host.Algorithms
	if others == nil {
		others = ssh.SupportedAlgorithms().HostKeys
	}
	list := k.db.HostKeyAlgorithms(k.host.keyAddress())
	for _, name := range others {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// check is a HostKeyCallback, but for ctx. A key that has changed or was revoked is refused whatever the settings say.
func (k *hostKeys) check(ctx context.Context, remote net.Addr, key ssh.PublicKey) error {
	err := k.db.HostKeyCallback()(k.host.keyAddress(), address{remote}, key)
	revoked := (*cryptoknownhosts.RevokedError)(nil)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &revoked):
		return fmt.Errorf("%w: %s shows a key that is marked as revoked in %s:%d", ErrHostKey, k.host.Alias, revoked.Revoked.Filename, revoked.Revoked.Line)
	case knownhosts.IsHostKeyChanged(err) && !k.onlyAuthorities():
		return k.changed(err, key)
	case !knownhosts.IsHostKeyChanged(err) && !knownhosts.IsHostUnknown(err):
		return fmt.Errorf("%w: %s: %w", ErrHostKey, k.host.Alias, err)
	case k.acceptNew:
		return k.remember(ctx, remote, key)
	default:
		err := fmt.Errorf("%w: %s %w; it shows the %s key %s", ErrHostKey, k.host.Alias, errUnknown, key.Type(), ssh.FingerprintSHA256(key))
		return backend.Advise(err, "if that is right, accept it with: ssh -p %d %s true, or once with terminal.ssh_host_key_checking: accept-new",
			k.host.Port, k.host.Alias)
	}
}

// onlyAuthorities tells whether no key of the host itself is known, but who may sign one: what it shows
// without a signature is then not another key but an unknown one.
func (k *hostKeys) onlyAuthorities() bool {
	keys := k.db.HostKeys(k.host.keyAddress())
	return !slices.ContainsFunc(keys, func(key knownhosts.PublicKey) bool { return !key.Cert })
}

// changed says where the key that was expected stands.
func (k *hostKeys) changed(err error, key ssh.PublicKey) error {
	places := []string{}
	if wrong := (*cryptoknownhosts.KeyError)(nil); errors.As(err, &wrong) {
		for _, want := range wrong.Want {
			places = append(places, fmt.Sprintf("%s:%d", want.Filename, want.Line))
		}
	}
	err = fmt.Errorf("%w: the key of %s has changed: it shows the %s key %s, known is another one in %s; somebody may be between you and the host",
		ErrHostKey, k.host.Alias, key.Type(), ssh.FingerprintSHA256(key), strings.Join(places, ", "))
	return backend.Advise(err, "if the host was given a new key, remove the old one with: ssh-keygen -R %q", knownhosts.Normalize(k.host.keyAddress()))
}

// lockWait bounds the wait for others who remember a host; lockRetry is how often they are looked for.
const (
	lockWait  = 10 * time.Second
	lockRetry = 20 * time.Millisecond
)

// remember adds the key to the user's known hosts, as OpenSSH does.
func (k *hostKeys) remember(ctx context.Context, remote net.Addr, key ssh.PublicKey) error {
	if len(k.host.KnownHosts) == 0 {
		return fmt.Errorf("%w: %s is not known, and there is no file to remember it in", ErrHostKey, k.host.Alias)
	}
	name := k.host.KnownHosts[0]
	fail := func(err error) error {
		return fmt.Errorf("%w: %s is not known, and its key cannot be remembered: %w", ErrHostKey, k.host.Alias, err)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fail(err)
	}
	lock := flock.New(name, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	waiting, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	if locked, err := lock.TryLockContext(waiting, lockRetry); !locked {
		if waiting.Err() != nil {
			err = fmt.Errorf("another program holds the lock of %s", name)
		}
		return fail(err)
	}
	defer lock.Close() //nolint:errcheck // it was only locked
	now, err := newHostKeys(k.host)
	if err != nil {
		return fail(err)
	}
	if err := now.check(ctx, remote, key); err == nil || !errors.Is(err, errUnknown) {
		return err // somebody else has remembered one meanwhile
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fail(err)
	}
	err = knownhosts.WriteKnownHost(f, k.host.keyAddress(), address{remote}, key)
	if err = errors.Join(err, f.Close()); err != nil {
		return fail(err)
	}
	return nil
}

// address is a remote address that always has a host and a port: one behind a proxy may have none.
type address struct{ net.Addr }

// String is host:port.
func (a address) String() string {
	if a.Addr != nil {
		if _, _, err := net.SplitHostPort(a.Addr.String()); err == nil {
			return a.Addr.String()
		}
	}
	return "0.0.0.0:0"
}
