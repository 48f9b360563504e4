package main

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

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// terminal is a program on a terminal of its own.
type terminal struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File

	mu   sync.Mutex
	seen bytes.Buffer // what it has shown since the last expect
}

// onTerminal starts a program on a new terminal.
func onTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer slave.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m := &terminal{t: t, cmd: cmd, master: master}
	var reading sync.WaitGroup
	reading.Go(m.read)
	t.Cleanup(func() {
		reading.Wait()
		master.Close()
	})
	return m
}

// read ends when the program has, for nobody else holds the terminal.
func (m *terminal) read() {
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

// expect waits until the program shows a text, and forgets all up to its end.
func (m *terminal) expect(text string) {
	m.t.Helper()
	testenv.Eventually(m.t, "the terminal shows "+text, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		at := strings.Index(m.seen.String(), text)
		if at >= 0 {
			m.seen.Next(at + len(text))
		}
		return at >= 0
	})
}

func (m *terminal) write(keys string) {
	m.t.Helper()
	if _, err := m.master.WriteString(keys); err != nil {
		m.t.Fatal(err)
	}
}

// A person types: blocks, Ctrl-C in a cell and at the prompt, the history, Ctrl-D.
func TestReplOnATerminal(t *testing.T) {
	s := newShell(t)
	m := onTerminal(t, s.withTerm(s.command("repl")))
	m.expect(">>> ")
	m.write("x = 20\r")
	m.expect(">>> ")
	m.write("for i in range(2):\r")
	m.expect("... ")
	m.write("  print('item', i + x)\r")
	m.expect("... ")
	m.write("\r")
	m.expect("item 20\r\nitem 21\r\n")
	m.expect(">>> ")
	m.write("import time; print('be' + 'gun'); time.sleep(600)\r")
	m.expect("begun")
	m.write("\x03")
	m.expect("KeyboardInterrupt")
	m.expect(">>> ")
	m.write("nonsense(")
	m.expect("nonsense(")
	m.write("\x03")
	m.expect(">>> ")
	m.write("print('still', x + 1)\r")
	m.expect("still 21")
	m.expect(">>> ")
	m.write("\x1b[A\r")
	m.expect("still 21")
	m.expect(">>> ")
	m.write("\x04")
	if err := m.cmd.Wait(); err != nil {
		t.Error(err)
	}
	history, err := os.ReadFile(s.home + "/repl_history")
	if err != nil || !strings.Contains(string(history), "print('still', x + 1)\n") || strings.Contains(string(history), "nonsense") {
		t.Errorf("history %q, %v", history, err)
	}
	if info, err := os.Stat(s.home + "/repl_history"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("history: %v, %v", info, err)
	}
}

func (s *shell) withTerm(cmd *exec.Cmd) *exec.Cmd {
	cmd.Env = append(cmd.Env, "TERM=xterm")
	return cmd
}
