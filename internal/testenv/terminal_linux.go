package testenv

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Terminal is one that a program runs on.
type Terminal struct {
	t      testing.TB
	master *os.File

	mu   sync.Mutex
	seen bytes.Buffer // what it has shown since the last Expect
}

// UsualSize is that of a terminal which knows it.
func UsualSize() unix.Winsize { return unix.Winsize{Row: 24, Col: 80} }

// OnTerminal starts a program on a new terminal of that size, which is its own. At the end of the test it
// is dead.
func OnTerminal(t testing.TB, cmd *exec.Cmd, size unix.Winsize) *Terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		Missing(t, "terminals", err.Error())
	}
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &size)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		Missing(t, "terminals", err.Error())
	}
	defer slave.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m := &Terminal{t: t, master: master}
	var reading sync.WaitGroup
	reading.Go(m.read)
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // one that a test has failed to end
		_ = cmd.Wait()
		reading.Wait()
		master.Close()
	})
	return m
}

// read ends when the program has, for nobody else holds the terminal.
func (m *Terminal) read() {
	buf := make([]byte, 4096)
	for {
		n, err := m.master.Read(buf)
		m.mu.Lock()
		m.seen.Write(buf[:n])
		m.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Expect waits until the program shows a text. It returns what was shown before that, and forgets all up to
// its end.
func (m *Terminal) Expect(text string) (before string) {
	m.t.Helper()
	defer func() {
		if m.t.Failed() {
			m.t.Logf("the terminal shows %q", m.Shown())
		}
	}()
	Eventually(m.t, "the terminal shows "+text, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		var found bool
		before, _, found = strings.Cut(m.seen.String(), text)
		if found {
			m.seen.Next(len(before) + len(text))
		}
		return found
	})
	return before
}

// Type types keys.
func (m *Terminal) Type(keys string) {
	m.t.Helper()
	if _, err := m.master.WriteString(keys); err != nil {
		m.t.Fatal(err)
	}
}

// Shown is what the terminal has shown since the last Expect.
func (m *Terminal) Shown() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen.String()
}

// Mode is how the terminal is set.
func (m *Terminal) Mode() (*unix.Termios, error) {
	return unix.IoctlGetTermios(int(m.master.Fd()), unix.TCGETS)
}
