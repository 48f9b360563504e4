//go:build unix

package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// says fails the test unless the run was refused before the script began, with an error of these parts.
func (e ended) says(t *testing.T, parts ...string) {
	t.Helper()
	e.failed(t, 125, hermes.KindBackend)
	for _, part := range parts {
		if !strings.Contains(e.Error, part) {
			t.Errorf("error %q lacks %q", e.Error, part)
		}
	}
}

// openssh runs a program of OpenSSH's and returns what it printed.
func openssh(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program(t, name), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// fingerprint is that of a public key.
func fingerprint(t *testing.T, key string) string {
	t.Helper()
	file := filepath.Join(testenv.TempDir(t), "key.pub")
	write(t, file, key+"\n")
	return strings.Fields(openssh(t, "ssh-keygen", "-l", "-f", file))[1]
}

func (v *visitor) knownHosts() string { return filepath.Join(v.Home, ".ssh/known_hosts") }

// acceptNew has the visitor remember the keys of new hosts.
func (v *visitor) acceptNew(t *testing.T) {
	t.Helper()
	write(t, filepath.Join(v.home(), "config.yaml"), "terminal:\n  ssh_host_key_checking: accept-new\n")
}

// B108: nothing is said to a host whose key is not the known one.
func TestSSHHostKeys(t *testing.T) {
	t.Parallel()
	t.Run("unknown", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		v.Know(t)
		v.run(t, "print(1)").says(t, "box is not known", fingerprint(t, v.Key), fmt.Sprintf("ssh -p %d box true", v.Port), "accept-new")
		if log := v.Log(t); strings.Contains(log, "publickey") {
			t.Errorf("the user's key was offered: %s", log)
		}
		v.acceptNew(t)
		v.run(t, "print(6*7)").must(t, "42\n")
		write(t, filepath.Join(v.home(), "config.yaml"), "")
		v.run(t, "print(6*7)").must(t, "42\n")
	})
	t.Run("unknown, and the configuration of ssh accepts it", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		v.Know(t)
		v.Configure(t, "StrictHostKeyChecking accept-new")
		v.run(t, "print(6*7)").must(t, "42\n")
	})
	t.Run("changed", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		v.Know(t, v.NewKey(t, "other"))
		v.acceptNew(t)
		r := v.run(t, "print(1)")
		r.says(t, "the key of box has changed", fingerprint(t, v.Key), v.knownHosts()+":1", "somebody may be between")
		remove := regexp.MustCompile(`ssh-keygen -R "([^"]+)"`).FindStringSubmatch(r.Error)
		if remove == nil {
			t.Fatalf("error %q does not say what to do", r.Error)
		}
		openssh(t, "ssh-keygen", "-f", v.knownHosts(), "-R", remove[1])
		v.run(t, "print(6*7)").must(t, "42\n")
	})
	t.Run("revoked", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		write(t, v.knownHosts(), "@revoked * "+v.Key+"\n")
		v.acceptNew(t)
		v.run(t, "print(1)").says(t, "revoked", v.knownHosts()+":1")
	})
	t.Run("another one of the host's is known", func(t *testing.T) {
		t.Parallel()
		rsa := filepath.Join(testenv.TempDir(t), "rsa")
		openssh(t, "ssh-keygen", "-q", "-t", "rsa", "-N", "", "-f", rsa)
		v := newVisitor(t, "HostKey "+rsa)
		key, err := os.ReadFile(rsa + ".pub")
		if err != nil {
			t.Fatal(err)
		}
		v.Know(t, strings.TrimSpace(string(key)))
		for range 2 {
			v.run(t, "print(6*7)").must(t, "42\n")
		}
	})
	t.Run("hashed", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		openssh(t, "ssh-keygen", "-H", "-f", v.knownHosts())
		v.run(t, "print(6*7)").must(t, "42\n")
	})
	t.Run("certified", func(t *testing.T) {
		t.Parallel()
		dir := testenv.TempDir(t)
		v := newVisitor(t, "HostCertificate "+dir+"/key-cert.pub")
		authority := v.NewKey(t, "authority")
		write(t, v.knownHosts(), fmt.Sprintf("@cert-authority [127.0.0.1]:%d %s\n", v.Port, authority))
		write(t, dir+"/key.pub", v.Key+"\n")
		certify := func(name string) {
			openssh(t, "ssh-keygen", "-q", "-s", v.Home+"/.ssh/authority", "-I", "host", "-h", "-n", name, dir+"/key.pub")
		}
		certify("127.0.0.1")
		v.run(t, "print(6*7)").must(t, "42\n")
		certify("elsewhere")
		v.run(t, "print(1)").says(t, "host key not accepted", "127.0.0.1")
	})
}

// B109: who is not let in learns what was offered; the key that is configured comes first.
func TestSSHKeys(t *testing.T) {
	t.Parallel()
	t.Run("wrong", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		v.NewKey(t, "other")
		v.Configure(t, "IdentityFile ~/.ssh/other")
		v.run(t, "print(1)").says(t, "box does not let", "offered: ssh-ed25519 "+v.Home+"/.ssh/other")
	})
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		v.Configure(t, "IdentityFile ~/.ssh/missing")
		v.run(t, "print(1)").says(t, "box does not let", "no key was offered")
	})
	t.Run("encrypted", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		openssh(t, "ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", v.Home+"/.ssh/id_ed25519")
		v.run(t, "print(1)").says(t, "no key was offered", v.Home+"/.ssh/id_ed25519: it is encrypted", "ssh-add")
	})
	t.Run("of the settings", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		if err := os.Rename(v.Home+"/.ssh/id_ed25519", v.dir+"/key"); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(v.home(), "config.yaml"), "terminal:\n  ssh_key: "+v.dir+"/key\n")
		v.run(t, "print(6*7)").must(t, "42\n")
	})
	t.Run("certified", func(t *testing.T) {
		t.Parallel()
		dir := testenv.TempDir(t)
		v := newVisitor(t, "TrustedUserCAKeys "+dir+"/authority.pub")
		write(t, dir+"/authority.pub", v.NewKey(t, "authority")+"\n")
		v.NewKey(t, "other")
		v.Configure(t, "IdentityFile ~/.ssh/other")
		openssh(t, "ssh-keygen", "-q", "-s", v.Home+"/.ssh/authority", "-I", "me", "-n", v.user(t), v.Home+"/.ssh/other.pub")
		v.run(t, "print(6*7)").must(t, "42\n")
	})
}

// user is the name of who logs in.
func (v *visitor) user(t *testing.T) string {
	t.Helper()
	config, err := os.ReadFile(filepath.Join(v.Home, ".ssh/config"))
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`User (\S+)`).FindStringSubmatch(string(config))[1]
}

// agent starts an ssh-agent of the visitor's that has these keys of his, which are then only there.
func (v *visitor) agent(t *testing.T, keys ...string) {
	t.Helper()
	socket := filepath.Join(v.dir, "agent")
	cmd := exec.Command(program(t, "ssh-agent"), "-D", "-a", socket)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	testenv.Eventually(t, "the agent listens", func() bool { _, err := os.Stat(socket); return err == nil })
	v.vars = append(v.vars, "SSH_AUTH_SOCK="+socket)
	for _, key := range keys {
		name := filepath.Join(v.Home, ".ssh", key)
		add := exec.Command(program(t, "ssh-add"), name)
		add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
		if out, err := add.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// B109, B118: of an agent's keys the configured one is offered first, and the agent is not forwarded.
func TestSSHAgent(t *testing.T) {
	t.Parallel()
	v := newVisitor(t, "MaxAuthTries 2")
	keys := []string{}
	for i := range 7 {
		key := fmt.Sprintf("key%d", i)
		keys = append(keys, key)
		v.NewKey(t, key)
	}
	v.agent(t, append(keys, "id_ed25519")...)
	v.run(t, "import os; print(os.environ.get('SSH_AUTH_SOCK'))").must(t, "None\n")
	v.Configure(t, "IdentitiesOnly yes", "IdentityFile ~/.ssh/key3")
	r := v.run(t, "print(1)")
	r.says(t, "offered: ssh-ed25519 agent")
	if strings.Contains(r.Error, "agent, ") {
		t.Errorf("more than one was offered: %s", r.Error)
	}
}

// A host may be named by an IPv6 address, with or without a port, also as a URL and as one to go through.
func TestSSHAddresses(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		testenv.Missing(t, "ipv6", err.Error())
	}
	_ = l.Close()
	v := newVisitorAt(t, testenv.SSHDAt(t, net.IPv6loopback))
	port := strconv.Itoa(v.Port)
	hop := testenv.SSHDAt(t, net.IPv6loopback)
	write(t, filepath.Join(v.home(), "config.yaml"), "terminal:\n  ssh_port: "+port+"\n")
	for _, host := range []string{"::1", "[::1]", v.user(t) + "@::1", "[::1]:" + port, "ssh://[::1]:" + port, "ssh://" + v.user(t) + "@[::1]:" + port + "/", "box"} {
		v.run(t, callsTools, "--host", host).must(t, "there\n")
	}
	v.run(t, "print(1)", "--host", "[::1]:1").says(t, "[::1]:1", "refused")
	v.Know(t)
	r := v.run(t, "print(1)", "--host", "[::1]:"+port)
	r.says(t, "::1 is not known", "ssh -p "+port+" ::1 true")
	v.acceptNew(t)
	for range 2 {
		v.run(t, "print(6*7)", "--host", "[::1]:"+port).must(t, "42\n")
	}
	if known, err := os.ReadFile(v.knownHosts()); err != nil || !strings.HasPrefix(string(known), "[::1]:"+port+" ") {
		t.Errorf("known hosts %q, %v", known, err)
	}
	key, err := os.ReadFile(hop.Home + "/.ssh/id_ed25519")
	if err != nil {
		t.Fatal(err)
	}
	write(t, v.Home+"/.ssh/hop", string(key))
	v.Configure(t, "IdentityFile ~/.ssh/id_ed25519", "IdentityFile ~/.ssh/hop", fmt.Sprintf("ProxyJump [::1]:%d", hop.Port))
	appendTo(t, filepath.Join(v.Home, ".ssh/config"), "Host *\n  IdentityFile ~/.ssh/hop\n  IdentityFile ~/.ssh/id_ed25519\n")
	v.run(t, "print(6*7)").must(t, "42\n")
}

// Hosts that are reached through others, or by a program.
func TestSSHProxies(t *testing.T) {
	t.Parallel()
	t.Run("ProxyJump", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		hops := []*testenv.Host{testenv.SSHD(t), testenv.SSHD(t)}
		config, known := "", v.Key
		for i, hop := range hops {
			config += fmt.Sprintf("Host hop%d\n  HostName 127.0.0.1\n  Port %d\n  User %s\n  IdentityFile %s/.ssh/id_ed25519\n", i, hop.Port, v.user(t), hop.Home)
			known += fmt.Sprintf("\n[127.0.0.1]:%d %s", hop.Port, hop.Key)
		}
		v.Know(t, known)
		for name, jumps := range map[string]string{"one": "hop0", "two": "hop0,hop1"} {
			v.Configure(t, "ProxyJump "+jumps)
			appendTo(t, filepath.Join(v.Home, ".ssh/config"), config)
			c := v.start(t, callsTools+"print('begun', flush=True)\nimport time; time.sleep(600)")
			c.until(t, "there\nbegun\n")
			if got := hops[0].Connections() + hops[1].Connections(); got != strings.Count(jumps, "hop") {
				t.Errorf("%s: %d connections to hosts to go through", name, got)
			}
			if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			c.wait(t).failed(t, 130, hermes.KindInterrupted)
			for _, hop := range hops {
				testenv.Eventually(t, "the connections are closed", func() bool { return hop.Connections() == 0 })
			}
		}
		v.Configure(t, "ProxyJump hop0")
		appendTo(t, filepath.Join(v.Home, ".ssh/config"), strings.ReplaceAll(config, "IdentityFile", "IdentityFile /nowhere #"))
		v.run(t, "print(1)").says(t, "jump host hop0", "hop0 does not let")
	})
	t.Run("ProxyCommand", func(t *testing.T) {
		t.Parallel()
		v := newVisitor(t)
		v.Configure(t, "ProxyCommand "+program(t, "busybox")+" nc 127.0.0.1 %p")
		v.run(t, callsTools).must(t, "there\n")
		v.run(t, callsTools, "--session", "s").must(t, "there\n")
		v.Configure(t, "ProxyCommand sh -c 'echo no way there >&2; exit 1'")
		v.run(t, "print(1)").says(t, "no way there")
	})
}

func appendTo(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
