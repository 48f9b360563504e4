//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// atTerminal calls `hermes-exec` with a script on a terminal.
func (v *visitor) atTerminal(t *testing.T, code string) *testenv.Terminal {
	t.Helper()
	script := filepath.Join(v.dir, "job.py")
	write(t, script, code)
	return testenv.OnTerminal(t, v.command(t, "--backend", "ssh", "--host", "box", script), testenv.UsualSize())
}

// The passphrase of a key is asked for on the terminal when the host wants that key, and again if it is wrong.
func TestSSHAsksForAPassphrase(t *testing.T) {
	t.Parallel()
	v := newVisitor(t)
	key := v.Home + "/.ssh/id_ed25519"
	openssh(t, "ssh-keygen", "-q", "-p", "-P", "", "-N", "open sesame", "-f", key)
	question := "hermes-exec: passphrase of " + key + ": "
	m := v.atTerminal(t, "print('in:', 6*7)")
	m.Expect(question)
	m.Type("sesame\n")
	m.Expect(question)
	m.Type("open sesame\n")
	if shown := m.Expect("in: 42"); strings.Contains(shown, "sesame") {
		t.Errorf("the terminal has shown it: %q", shown)
	}
	m = v.atTerminal(t, "print('in:', 6*7)")
	for range 3 {
		m.Expect(question)
		m.Type("no\n")
	}
	m.Expect("hermes-exec: password of ") // the next way in, as with ssh
	m.Type("\x03")
	m.Expect("interrupted")
}

// secret is a user's password.
const secret = "correct horse"

// withPassword has the daemon know a password of this user, and ask for it by PAM. It sees those files in
// place of the machine's.
func (v *visitor) withPassword(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		testenv.Missing(t, "mount", "only root gives an sshd another /etc/shadow")
	}
	mounts(t)
	hash := openssh(t, "openssl", "passwd", "-6", secret)
	write(t, v.dir+"/shadow", v.user(t)+":"+hash+":20000:0:99999:7:::\n")
	write(t, v.dir+"/pam", "auth required pam_unix.so\naccount required pam_permit.so\nsession required pam_permit.so\n")
	v.Within("exec unshare -m sh -c 'mount --bind " + v.dir + "/shadow /etc/shadow && mount --bind " + v.dir + `/pam /etc/pam.d/sshd && exec "$@"' sh "$@"`)
	if err := os.Remove(v.Home + "/.ssh/id_ed25519"); err != nil {
		t.Fatal(err)
	}
}

// A password is asked for on the terminal, three times at most, whichever way the host asks, and never without
// a terminal.
func TestSSHAsksForAPassword(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lines    []string
		question string
	}{
		"password":             {[]string{"PasswordAuthentication yes", "KbdInteractiveAuthentication no"}, "hermes-exec: password of "},
		"keyboard-interactive": {[]string{"PasswordAuthentication no", "KbdInteractiveAuthentication yes", "UsePAM yes"}, "Password: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVisitor(t, append(test.lines, "PermitRootLogin yes", "MaxAuthTries 20")...)
			v.withPassword(t)
			v.run(t, "print(1)").says(t, "box does not let", "no key was offered")
			m := v.atTerminal(t, "print('in:', 6*7)")
			m.Expect(test.question)
			m.Type("wrong\n")
			m.Expect(test.question)
			m.Type(secret + "\n")
			if shown := m.Expect("in: 42"); strings.Contains(shown, secret) {
				t.Errorf("the terminal has shown it: %q", shown)
			}
			m = v.atTerminal(t, "print('in:', 6*7)")
			for range 3 {
				m.Expect(test.question)
				m.Type("wrong\n")
			}
			m.Expect("box does not let")
		})
	}
}
