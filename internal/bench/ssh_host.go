package main

import (
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/hermes-exec/hermes-exec/internal/wire"
)

// sshHost is this machine behind an sshd of its own, at the end of a wire.
type sshHost struct {
	dir   string
	home  string // of a caller, whose ~/.ssh leads to the host as "box"
	there string // the home of who has logged in
	wire  *wire.Wire
	ping  *wire.Wire // a way of the same length to what only echoes

	config   *ssh.ClientConfig // logs in without the product
	listener *net.TCPListener
	echo     net.Listener
	daemon   string
	work     sync.WaitGroup
}

// startSSH starts a host with these lines in sshd's configuration.
func (s setup) startSSH(name string, lines ...string) (h *sshHost, err error) {
	dir := filepath.Join(s.temp, name)
	h = &sshHost{dir: dir, home: filepath.Join(dir, "here"), there: filepath.Join(dir, "there")}
	if h.daemon, err = exec.LookPath("sshd"); err != nil {
		if h.daemon, err = exec.LookPath("/usr/sbin/sshd"); err != nil { // not on everybody's PATH
			return nil, err
		}
	}
	dirs := []string{filepath.Join(h.home, ".ssh"), filepath.Join(h.there, "tmp")}
	if os.Geteuid() == 0 {
		dirs = append(dirs, "/run/sshd") // sshd wants it
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	if h.listener, err = net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		return nil, err
	}
	h.work.Go(h.accept)
	if h.echo, err = net.Listen("tcp", "127.0.0.1:0"); err == nil { //nolint:noctx // it is at hand
		h.work.Go(h.answer)
		h.ping, err = wire.New(h.echo.Addr().String())
	}
	if err == nil {
		h.wire, err = wire.New(h.listener.Addr().String())
	}
	if err == nil {
		err = h.configure(lines)
	}
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// configure writes the files of both sides.
func (h *sshHost) configure(lines []string) error {
	me, err := user.Current()
	if err != nil {
		return err
	}
	path := func(name string) string { return filepath.Join(h.dir, name) }
	server, err := newKey(path("host"))
	if err != nil {
		return err
	}
	client, err := newKey(filepath.Join(h.home, ".ssh", "id_ed25519"))
	if err != nil {
		return err
	}
	if h.config, err = loginConfig(h.dir); err != nil {
		return err
	}
	known := fmt.Sprintf("box,[127.0.0.1]:%d %s", h.wire.Port(), ssh.MarshalAuthorizedKey(server.PublicKey()))
	asked := fmt.Sprintf("Host box\n  HostName 127.0.0.1\n  Port %d\n  User %s\n", h.wire.Port(), me.Username)
	daemon := append(slices.Clone(lines),
		"HostKey "+path("host"), "AuthorizedKeysFile "+path("authorized"), "PidFile none", "StrictModes no", "UsePAM no", "LogLevel FATAL",
		"SetEnv HOME="+h.there+" TMPDIR="+filepath.Join(h.there, "tmp"), "Subsystem sftp internal-sftp", "")
	return errors.Join(
		os.WriteFile(path("authorized"), ssh.MarshalAuthorizedKey(client.PublicKey()), 0o600),
		os.WriteFile(path("sshd_config"), []byte(strings.Join(daemon, "\n")), 0o600),
		os.WriteFile(filepath.Join(h.home, ".ssh", "known_hosts"), []byte(known), 0o600),
		os.WriteFile(filepath.Join(h.home, ".ssh", "config"), []byte(asked), 0o600),
	)
}

// newKey makes a private key in a file.
func newKey(file string) (ssh.Signer, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		return nil, err
	}
	return ssh.NewSignerFromKey(key)
}

// accept hands each connection to an sshd of its own, as inetd does.
func (h *sshHost) accept() {
	for {
		c, err := h.listener.AcceptTCP()
		if err != nil {
			return
		}
		end, err := c.File()
		_ = c.Close()
		if err != nil {
			continue // the client sees the end
		}
		cmd := exec.Command(h.daemon, "-i", "-e", "-f", filepath.Join(h.dir, "sshd_config")) //nolint:noctx // it ends with its connection
		cmd.Stdin, cmd.Stdout, cmd.Stderr = end, end, os.Stderr
		h.work.Go(func() {
			_ = cmd.Run() // what went wrong, the client is told
			_ = end.Close()
		})
	}
}

// close ends it.
func (h *sshHost) close() error {
	err := h.listener.Close()
	if h.echo != nil {
		err = errors.Join(err, h.echo.Close())
	}
	for _, w := range []*wire.Wire{h.ping, h.wire} {
		if w != nil {
			err = errors.Join(err, w.Close())
		}
	}
	h.work.Wait()
	return err
}

// at runs f with a round trip of so long, which it does not keep. Nothing sleeps while it waits for one.
func (h *sshHost) at(rtt time.Duration, f func() error) error {
	for _, w := range []*wire.Wire{h.ping, h.wire} {
		w.SetRTT(rtt)
		defer w.SetRTT(0)
	}
	if rtt == 0 {
		return f()
	}
	return awake(f)
}

// answer echoes what comes.
func (h *sshHost) answer() {
	for {
		c, err := h.echo.Accept()
		if err != nil {
			return
		}
		h.work.Go(func() {
			_, _ = io.Copy(c, c)
			_ = c.Close()
		})
	}
}

// roundTrip is how long a byte really takes there and back now, by the median: no timer is exact, and
// whoever is woken by one takes his time.
func (h *sshHost) roundTrip() (time.Duration, error) {
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", h.ping.Port())) //nolint:noctx // it is at hand
	if err != nil {
		return 0, err
	}
	defer c.Close() //nolint:errcheck // it has been asked all that was wanted
	var one [1]byte
	ping := func() error {
		if _, err := c.Write(one[:]); err != nil {
			return err
		}
		_, err := io.ReadFull(c, one[:])
		return err
	}
	if err := ping(); err != nil { // the connection comes with it
		return 0, err
	}
	times, err := each(9, ping)()
	if err != nil {
		return 0, err
	}
	return median(times), nil
}

// dial connects as a program does that needs nothing of the configuration.
func (h *sshHost) dial() (*ssh.Client, error) {
	return ssh.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", h.wire.Port()), h.config)
}

// use makes this process a caller, and what it starts.
func (h *sshHost) use() error {
	return errors.Join(os.Setenv("HOME", h.home), os.Setenv("HERMES_HOME", filepath.Join(h.home, "hermes")))
}

// session is the command line of this program as what runs a command there with nothing around it.
func (h *sshHost) session(command string) []string {
	return floorArgs("session", h.dir, strconv.Itoa(h.wire.Port()), command)
}

// beSession runs a command on a host, with nothing around it. The arguments are the host's directory, its
// port and the command.
func beSession(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("session: three arguments wanted, not %v", args)
	}
	config, err := loginConfig(args[0])
	if err != nil {
		return err
	}
	c, err := ssh.Dial("tcp", "127.0.0.1:"+args[1], config)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // it has been asked all that was wanted
	session, err := c.NewSession()
	if err != nil {
		return err
	}
	session.Stdout = counter{}
	return session.Run(args[2])
}

// loginConfig is how to log in where newKey has left keys.
func loginConfig(dir string) (*ssh.ClientConfig, error) {
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	var keys []ssh.Signer
	for _, name := range []string{"host", "here/.ssh/id_ed25519"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		key, err := ssh.ParsePrivateKey(text)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return &ssh.ClientConfig{
		User: me.Username, Auth: []ssh.AuthMethod{ssh.PublicKeys(keys[1])}, HostKeyCallback: ssh.FixedHostKey(keys[0].PublicKey()),
	}, nil
}

// twoWay is the stdio of a command.
type twoWay struct {
	io.Reader
	io.Writer
}

// environ is the environment of a caller.
func (h *sshHost) environ() map[string]string {
	return map[string]string{"PATH": os.Getenv("PATH"), "HOME": h.home, "HERMES_HOME": filepath.Join(h.home, "hermes"), "TMPDIR": h.dir}
}
