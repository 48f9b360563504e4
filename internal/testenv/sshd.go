package testenv

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Host is this machine behind an sshd, which lets this user in.
type Host struct {
	IP    net.IP // of this machine, at which it listens
	Port  int
	Home  string // of a caller, whose ~/.ssh leads to the host as "box"
	There string // the home of who has logged in; all processes there have it in their environment
	Key   string // the host's public key, as known_hosts has it

	dir      string
	daemon   string
	within   string // a shell's command line that the daemon is run by, as its arguments; "" is none
	listener *net.TCPListener
	work     sync.WaitGroup

	mu       sync.Mutex
	sessions map[*exec.Cmd]struct{}
}

// SSHD starts a real sshd at a free port of 127.0.0.1, with these lines in its configuration before
// those that it has anyway. At the end of the test it is gone, and whatever was started by it. Without
// the program the test ends as with Missing.
//
// A connection gets an sshd of its own, as inetd does it: so no port has to be chosen before it is
// taken.
func SSHD(t testing.TB, lines ...string) *Host {
	t.Helper()
	return SSHDAt(t, net.IPv4(127, 0, 0, 1), lines...)
}

// SSHDAt is SSHD at another address of this machine.
func SSHDAt(t testing.TB, ip net.IP, lines ...string) *Host {
	t.Helper()
	h := &Host{IP: ip, daemon: sshd(t), dir: TempDir(t), sessions: map[*exec.Cmd]struct{}{}}
	h.Home, h.There = h.path("here"), h.path("there")
	for _, dir := range []string{h.path("here/.ssh"), h.There, h.Tmp()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h.listen(t, 0)
	h.Port = h.listener.Addr().(*net.TCPAddr).Port //nolint:errcheck,forcetypeassert // it is one
	h.Key = h.newKey(t, h.path("host"))
	h.write(t, "authorized", h.newKey(t, h.path("here/.ssh/id_ed25519"))+"\n")
	h.write(t, "sshd_config", h.config(lines))
	h.Know(t, h.Key)
	h.Configure(t)
	t.Cleanup(func() {
		h.Kill()
		NoProcesses(t, h.There)
		left, _ := os.ReadDir(h.Tmp())
		for _, entry := range left {
			t.Errorf("left behind on the host: %s", entry.Name())
		}
		if t.Failed() {
			t.Logf("sshd: %s", h.Log(t))
		}
	})
	return h
}

// sshd finds the daemon, which wants to be called by its absolute path, and makes what it needs as root.
func sshd(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("sshd")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/sshd") // not on everybody's PATH
	}
	if err != nil {
		Missing(t, "ssh", err.Error()+"; on Debian: apt-get install openssh-server")
	}
	if os.Geteuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// config is the daemon's configuration, in which the first value of a keyword counts. The first SetEnv
// counts too, so that the variables that lines set are one line with those that everybody gets; and of a
// Subsystem there may not be two.
func (h *Host) config(lines []string) string {
	vars, sftp := []string{}, "Subsystem sftp internal-sftp"
	others := []string{}
	for _, line := range lines {
		switch keyword, value, _ := strings.Cut(line, " "); keyword {
		case "SetEnv":
			vars = append(vars, value)
		case "Subsystem":
			sftp = line
		default:
			others = append(others, line)
		}
	}
	vars = append(vars, "HOME="+h.There, "TMPDIR="+h.Tmp(), "HERMES_TEST_HOST="+h.There)
	others = append(
		others, "SetEnv "+strings.Join(vars, " "), sftp, "HostKey "+h.path("host"), "AuthorizedKeysFile "+h.path("authorized"),
		"PidFile none", "StrictModes no", "UsePAM no", "LogLevel VERBOSE",
	)
	return strings.Join(others, "\n") + "\n"
}

// Tmp is the directory for temporary files there. It is empty at the end of the test.
func (h *Host) Tmp() string { return filepath.Join(h.There, "tmp") }

func (h *Host) path(name string) string { return filepath.Join(h.dir, name) }

func (h *Host) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(h.path(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Configure writes the caller's ~/.ssh/config anew. These lines say what of "box" differs from how it is
// reached directly.
func (h *Host) Configure(t testing.TB, lines ...string) {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	lines = append(append([]string{"Host box"}, lines...), "HostName "+h.IP.String(), fmt.Sprintf("Port %d", h.Port), "User "+me.Username)
	h.write(t, "here/.ssh/config", strings.Join(lines, "\n  ")+"\n")
}

// Know writes the caller's known_hosts anew: these are the keys of the host, by its address and as "box".
func (h *Host) Know(t testing.TB, keys ...string) {
	t.Helper()
	var text strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&text, "box,[%s]:%d %s\n", h.IP, h.Port, key)
	}
	h.write(t, "here/.ssh/known_hosts", text.String())
}

// NewKey makes a key pair in the caller's ~/.ssh and returns the public key.
func (h *Host) NewKey(t testing.TB, name string) string {
	t.Helper()
	return h.newKey(t, h.path("here/.ssh/"+name))
}

func (h *Host) newKey(t testing.TB, path string) string {
	t.Helper()
	//nolint:forbidigo // OpenSSH's own program: keys are to be as users have them.
	cmd := exec.Command(Require(t, "ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	public, err := os.ReadFile(path + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(public))
}

// listen lets connections come in.
func (h *Host) listen(t testing.TB, port int) {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: h.IP, Port: port})
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(h.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	h.listener = l
	h.work.Go(func() {
		defer log.Close()
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				return
			}
			if err := h.serve(c, log); err != nil {
				fmt.Fprintln(log, err)
			}
		}
	})
}

// serve hands a connection to an sshd.
func (h *Host) serve(c *net.TCPConn, log *os.File) error {
	wire, err := c.File()
	if err = errors.Join(err, c.Close()); err != nil {
		return err
	}
	defer wire.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	argv := []string{h.daemon, "-i", "-e", "-f", h.path("sshd_config")}
	if h.within != "" {
		argv = append([]string{"/bin/sh", "-c", h.within, "sh"}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:forbidigo // The other side of what is tested.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = wire, wire, log
	if err := cmd.Start(); err != nil {
		return err
	}
	h.sessions[cmd] = struct{}{}
	h.work.Go(func() {
		_ = cmd.Wait() // the log says more
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.sessions, cmd)
	})
	return nil
}

// Within has connections that come from now on served by a daemon that a shell's command line starts, as its
// arguments.
func (h *Host) Within(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.within = line
}

// Connections counts those that the daemon has.
func (h *Host) Connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.sessions)
}

// Kill kills the daemon, that of each connection too, and waits until it is dead.
func (h *Host) Kill() {
	_ = h.listener.Close()
	h.mu.Lock()
	for cmd := range h.sessions {
		_ = cmd.Process.Kill()
	}
	h.mu.Unlock()
	h.work.Wait()
}

// Restart starts the daemon that Kill has ended, at the same port.
func (h *Host) Restart(t testing.TB) {
	t.Helper()
	h.listen(t, h.Port)
}

// Log is what the daemon has said so far.
func (h *Host) Log(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(h.path("log"))
	if err != nil {
		t.Error(err)
	}
	return string(bytes.TrimSpace(text))
}
