package sshclient

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newKey makes a key.
func newKey(t *testing.T) (ssh.Signer, ed25519.PrivateKey) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return key, private
}

// writeKey writes a private key as OpenSSH does, encrypted if there is a passphrase.
func writeKey(t *testing.T, name string, key ed25519.PrivateKey, passphrase string) {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, string(pem.EncodeToMemory(block)))
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sshd is a server that lets in who has one of the keys, or knows the password.
type sshd struct {
	key      ssh.Signer
	users    []ssh.PublicKey
	password string
	sessions int // that a connection may have; more are refused
	offered  []string
	address  *net.TCPAddr
}

// start serves until the test ends.
func (s *sshd) start(t *testing.T) {
	t.Helper()
	config := &ssh.ServerConfig{
		MaxAuthTries: 6,
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			s.offered = append(s.offered, ssh.FingerprintSHA256(key))
			for _, user := range s.users {
				if string(user.Marshal()) == string(key.Marshal()) {
					return &ssh.Permissions{}, nil
				}
			}
			return nil, errors.New("not known")
		},
		PasswordCallback: func(_ ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
			if s.password == "" || string(password) != s.password {
				return nil, errors.New("wrong")
			}
			return &ssh.Permissions{}, nil
		},
	}
	config.AddHostKey(s.key)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().(*net.TCPAddr) //nolint:errcheck,forcetypeassert // it is one
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			raw, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(raw, config)
		}
	}()
}

// serve answers one connection, whose sessions do nothing.
func (s *sshd) serve(raw net.Conn, config *ssh.ServerConfig) {
	defer raw.Close() //nolint:errcheck // the test has what it wants
	_, channels, requests, err := ssh.NewServerConn(raw, config)
	if err != nil {
		return
	}
	go func() {
		for r := range requests {
			if r.WantReply {
				_ = r.Reply(false, nil)
			}
		}
	}()
	open := 0
	for ch := range channels {
		if open++; s.sessions > 0 && open > s.sessions {
			_ = ch.Reject(ssh.ConnectionFailed, "open failed")
			continue
		}
		if _, requests, err := ch.Accept(); err == nil {
			go ssh.DiscardRequests(requests)
		}
	}
}
