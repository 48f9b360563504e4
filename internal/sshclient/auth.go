package sshclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/hermes-exec/hermes-exec/backend"
)

// attempts is how often a user is asked for a password.
const attempts = 3

// keyring gathers the keys to offer, in order, and what stands in the way of others.
type keyring struct {
	host    *Host
	options Options
	agent   net.Conn                                         // nil: none answers
	prompt  func(question string, echo bool) (string, error) // nil: nobody can be asked
	keys    []ssh.Signer
	offered []string // what they are, for messages
	missing []string // why others are not among them
}

// newKeyring collects the keys: the one that was asked for first, then those of the configuration that
// the agent has, the agent's others, and the configuration's files.
func newKeyring(ctx context.Context, h *Host, o Options) (*keyring, error) {
	r := &keyring{host: h, options: o}
	if o.Prompt != nil {
		r.prompt = func(question string, echo bool) (string, error) { return o.Prompt(ctx, question, echo) }
	}
	if o.Key != "" {
		if err := r.addFile(o.expand(o.Key, h)); err != nil {
			return nil, fmt.Errorf("key %s: %w", o.Key, err)
		}
	}
	named := r.public()
	held := r.ask(ctx)
	for _, wanted := range []bool{true, false} {
		for _, key := range held {
			is := slices.ContainsFunc(named, func(p []byte) bool { return bytes.Equal(p, key.PublicKey().Marshal()) })
			if is == wanted && (is || !h.OnlyIdentities) {
				r.add(key, "agent")
			}
		}
	}
	for _, name := range h.Identities {
		if err := r.addFile(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			r.missing = append(r.missing, fmt.Sprintf("%s: %v", name, err))
		}
	}
	return r, nil
}

// ask returns the keys of the agent, if there is one.
func (r *keyring) ask(ctx context.Context) []ssh.Signer {
	if r.host.Agent == "" {
		return nil
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", r.host.Agent)
	if err != nil {
		r.missing = append(r.missing, fmt.Sprintf("agent at %s: %v", r.host.Agent, err))
		return nil
	}
	r.agent = conn
	keys, err := agent.NewClient(conn).Signers()
	if err != nil {
		r.missing = append(r.missing, fmt.Sprintf("agent at %s: %v", r.host.Agent, err))
	}
	return keys
}

// close lets go of the agent.
func (r *keyring) close() {
	if r.agent != nil {
		_ = r.agent.Close()
	}
}

// public are the public halves of the configured keys and certificates, as far as they lie beside them.
func (r *keyring) public() [][]byte {
	var keys [][]byte
	names := slices.Clone(r.host.Certificates)
	for _, name := range r.host.Identities {
		names = append(names, name+".pub", name)
	}
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil {
			if key, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
				keys = append(keys, key.Marshal())
			}
		}
	}
	return keys
}

// add offers a key, once.
func (r *keyring) add(key ssh.Signer, from string) {
	same := func(k ssh.Signer) bool { return bytes.Equal(k.PublicKey().Marshal(), key.PublicKey().Marshal()) }
	if !slices.ContainsFunc(r.keys, same) {
		r.keys = append(r.keys, key)
		r.offered = append(r.offered, fmt.Sprintf("%s %s", key.PublicKey().Type(), from))
	}
}

// addFile offers a private key and the certificates that belong to it, which come first.
func (r *keyring) addFile(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	key, err := ssh.ParsePrivateKey(text)
	if locked := (*ssh.PassphraseMissingError)(nil); errors.As(err, &locked) {
		key, err = r.locked(name, text, locked.PublicKey)
	}
	if err != nil {
		return err
	}
	for _, file := range append([]string{name + "-cert.pub"}, r.host.Certificates...) {
		if certified := certify(file, key); certified != nil {
			r.add(certified, file)
		}
	}
	r.add(key, name)
	return nil
}

// certify is the key with its certificate, nil if the file holds none for it.
func certify(file string, key ssh.Signer) ssh.Signer {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil
	}
	certificate, ok := public.(*ssh.Certificate)
	if !ok {
		return nil
	}
	signer, err := ssh.NewCertSigner(certificate, key)
	if err != nil {
		return nil // of another key
	}
	return signer
}

// locked is a key whose passphrase is asked for when the host accepts it.
func (r *keyring) locked(name string, text []byte, public ssh.PublicKey) (ssh.Signer, error) {
	if r.prompt == nil {
		return nil, errors.New("it is encrypted and nobody can be asked for its passphrase here: add it to an agent (ssh-add), or run in a terminal")
	}
	if public == nil {
		public = r.beside(name)
	}
	k := &lockedKey{name: name, text: text, public: public, prompt: r.prompt}
	if public == nil {
		key, err := k.open() // an old format, which tells nothing without it
		return key, err
	}
	return k, nil
}

// beside is the public key that lies beside a private one, or nil.
func (r *keyring) beside(name string) ssh.PublicKey {
	text, err := os.ReadFile(name + ".pub")
	if err != nil {
		return nil
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil
	}
	return key
}

// lockedKey is an encrypted key.
type lockedKey struct {
	name   string
	text   []byte
	public ssh.PublicKey
	prompt func(question string, echo bool) (string, error)

	once sync.Once
	key  ssh.AlgorithmSigner
	err  error
}

var _ ssh.AlgorithmSigner = (*lockedKey)(nil)

// PublicKey is known without the passphrase.
func (k *lockedKey) PublicKey() ssh.PublicKey { return k.public }

// Sign asks for the passphrase.
func (k *lockedKey) Sign(rand io.Reader, data []byte) (*ssh.Signature, error) {
	return k.SignWithAlgorithm(rand, data, "")
}

// SignWithAlgorithm asks for the passphrase.
func (k *lockedKey) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	k.once.Do(func() { k.key, k.err = k.open() })
	if k.err != nil {
		return nil, k.err
	}
	return k.key.SignWithAlgorithm(rand, data, algorithm)
}

func (k *lockedKey) open() (ssh.AlgorithmSigner, error) {
	for try := 1; ; try++ {
		passphrase, err := k.prompt("passphrase of "+k.name+": ", false)
		if err != nil {
			return nil, err
		}
		key, err := ssh.ParsePrivateKeyWithPassphrase(k.text, []byte(passphrase))
		if err == nil {
			signer, ok := key.(ssh.AlgorithmSigner)
			if !ok {
				return nil, fmt.Errorf("%s: a key of type %s cannot sign here", k.name, key.PublicKey().Type())
			}
			return signer, nil
		}
		if try == attempts {
			return nil, fmt.Errorf("%s: %w", k.name, err)
		}
	}
}

// methods are the ways to prove who the user is. Passwords are asked for where somebody can answer.
func (r *keyring) methods() []ssh.AuthMethod {
	list := []ssh.AuthMethod{}
	if len(r.keys) > 0 {
		list = append(list, ssh.PublicKeys(r.keys...))
	}
	if r.prompt == nil {
		return list
	}
	answer := func(_, instruction string, questions []string, echos []bool) ([]string, error) {
		answers := make([]string, len(questions))
		for i, q := range questions {
			if i == 0 && instruction != "" {
				q = instruction + "\n" + q
			}
			text, err := r.prompt(fmt.Sprintf("(%s) %s", r.host, q), echos[i])
			if err != nil {
				return nil, err
			}
			answers[i] = text
		}
		return answers, nil
	}
	password := func() (string, error) { return r.prompt("password of "+r.host.String()+": ", false) }
	return append(
		list,
		ssh.RetryableAuthMethod(ssh.KeyboardInteractive(answer), attempts),
		ssh.RetryableAuthMethod(ssh.PasswordCallback(password), attempts),
	)
}

// explain adds to an error what was offered and what was not.
func (r *keyring) explain(err error) error {
	if !strings.Contains(err.Error(), "unable to authenticate") {
		return err
	}
	offered := "no key was offered"
	if len(r.offered) > 0 {
		offered = "offered: " + strings.Join(r.offered, ", ")
	}
	if len(r.missing) > 0 {
		offered += "; not offered: " + strings.Join(r.missing, "; ")
	}
	err = fmt.Errorf("%s does not let %s in: %s", r.host.Alias, r.host.User, offered)
	return backend.Advise(err, "put a key of yours there: ssh-copy-id -p %d %s@%s", r.host.Port, r.host.User, r.host.Alias)
}
