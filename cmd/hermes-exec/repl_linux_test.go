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

// usualSize is that of a terminal which knows it.
var usualSize = unix.Winsize{Row: 24, Col: 80}

// onTerminal starts a program on a new terminal of that kind and size.
func onTerminal(t *testing.T, cmd *exec.Cmd, kind string, size unix.Winsize) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		testenv.Missing(t, "terminals", err.Error())
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
		testenv.Missing(t, "terminals", err.Error())
	}
	defer slave.Close()
	cmd.Env = append(cmd.Env, "TERM="+kind)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m := &terminal{t: t, cmd: cmd, master: master}
	var reading sync.WaitGroup
	reading.Go(m.read)
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // one that a test has failed to end
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
	m := onTerminal(t, s.command("repl"), "xterm", usualSize)
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

// ends waits for the program and fails the test unless it ends with that status and leaves the
// terminal as a shell wants it.
func (m *terminal) ends(status int) {
	m.t.Helper()
	if err := m.cmd.Wait(); m.cmd.ProcessState.ExitCode() != status {
		m.t.Errorf("%v, want exit status %d; last shown: %q", err, status, m.shown())
	}
	mode, err := unix.IoctlGetTermios(int(m.master.Fd()), unix.TCGETS)
	if err != nil {
		m.t.Fatal(err)
	}
	const shell = unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
	if mode.Lflag&shell != shell || mode.Iflag&unix.ICRNL == 0 {
		m.t.Errorf("the terminal is left with lflag %o, iflag %o", mode.Lflag, mode.Iflag)
	}
}

func (m *terminal) shown() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen.String()
}

// What is pasted is read as it would be from a pipe: an empty line does not end a block. One that is typed
// does, after a paste too.
func TestReplPaste(t *testing.T) {
	s := newShell(t)
	m := onTerminal(t, s.command("repl"), "xterm", usualSize)
	m.expect("\x1b[?2004h")
	m.expect(">>> ")
	m.write(pasteBegin + "def f():\r\ta = 'pas'\r\r\treturn a + 'ted'\rprint(f())\r" + pasteEnd)
	m.expect("\x1b[?2004l")
	m.expect("pasted\r\n")
	m.expect(">>> ")
	m.write(pasteBegin + "def g():\r\r\treturn 'aga' + 'in'" + pasteEnd)
	m.expect("'in'")
	m.write("\r")
	m.expect("... ")
	m.write("\r")
	m.expect(">>> ")
	m.write("print(g())\r")
	m.expect("again\r\n")
	m.expect(">>> ")
	m.write("\x04")
	m.ends(0)
}

// What is typed while a cell runs is there for the next prompt, also that it is to be the last.
func TestReplTypedAhead(t *testing.T) {
	s := newShell(t)
	m := onTerminal(t, s.command("repl"), "xterm", usualSize)
	m.expect(">>> ")
	m.write("import os, time\r")
	m.expect(">>> ")
	m.write("while not os.path.exists('go'): time.sleep(0.01)\r\r")
	testenv.Eventually(t, "the terminal is that of a cell", func() bool {
		is, err := unix.IoctlGetTermios(int(m.master.Fd()), unix.TCGETS)
		return err == nil && is.Lflag&unix.ECHO != 0
	})
	m.write("print('a' + 'b')\r\x04")
	if err := os.WriteFile(s.dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.expect("ab\r\n")
	m.ends(0)
}

// A terminal that does not know its size has history all the same.
func TestReplOnATerminalWithoutSize(t *testing.T) {
	s := newShell(t)
	m := onTerminal(t, s.command("repl"), "xterm-256color", unix.Winsize{})
	m.expect(">>> ")
	m.write("print('a' + 'b')\r")
	m.expect("ab\r\n")
	m.expect(">>> ")
	m.write("\x1b[A\r")
	m.expect("ab\r\n")
	m.expect(">>> ")
	m.write("\x04")
	m.ends(0)
}

// Where there is no editor a person can type all the same: prompts, an empty line that ends a block,
// Ctrl-C at the prompt and in a cell, Ctrl-D.
func TestReplOnADumbTerminal(t *testing.T) {
	for _, kind := range []string{"dumb", ""} {
		t.Run("TERM="+kind, func(t *testing.T) {
			s := newShell(t)
			m := onTerminal(t, s.command("repl"), kind, usualSize)
			m.expect(">>> ")
			m.write("if True:\r")
			m.expect("... ")
			m.write("  print('a' + 'b')\r")
			m.expect("... ")
			m.write("\r")
			m.expect("ab\r\n")
			m.expect(">>> ")
			m.write("def f(:\r")
			m.expect("... ")
			m.write("half a line\x03")
			m.expect(">>> ")
			m.write("import time; print('be' + 'gun'); time.sleep(600)\r")
			m.expect("begun")
			m.write("\x03")
			m.expect("KeyboardInterrupt")
			m.expect(">>> ")
			m.write("print('still', 40 + 2)\r")
			m.expect("still 42")
			m.expect(">>> ")
			m.write("\x04")
			m.ends(0)
		})
	}
}

// With stdout elsewhere the prompts are on the terminal, and what the cells print is not.
func TestReplOnATerminalWithOutputElsewhere(t *testing.T) {
	s := newShell(t)
	command := s.command()
	shell := exec.Command("/bin/sh", "-c", `exec "$0" repl > out`, command.Path)
	shell.Dir, shell.Env = command.Dir, command.Env
	m := onTerminal(t, shell, "xterm", usualSize)
	m.expect(">>> ")
	m.write("print('a' + 'b')\r")
	m.expect(">>> ")
	m.write("\x04")
	m.ends(0)
	if out, err := os.ReadFile(s.dir + "/out"); err != nil || string(out) != "ab\n" {
		t.Errorf("out %q, %v", out, err)
	}
}

// A cell that ends itself ends the repl, with its status; an exception does not.
func TestReplExit(t *testing.T) {
	for code, status := range map[string]int{
		"exit": 0, "quit()": 0, "exit(3)": 3, "import sys; sys.exit('bye')": 1, "raise SystemExit": 0,
		"for i in range(9):\r  exit(i + 4)\r": 4,
	} {
		t.Run(code, func(t *testing.T) {
			s := newShell(t)
			m := onTerminal(t, s.command("repl"), "xterm", usualSize)
			m.expect(">>> ")
			m.write("1/0\r")
			m.expect("ZeroDivisionError")
			m.expect(">>> ")
			m.write(code + "\r")
			m.ends(status)
		})
	}
}

// A signal that ends programs ends a repl, in a cell too, and the terminal is as it was.
func TestReplEndedBySignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		for _, kind := range []string{"xterm", "dumb"} {
			t.Run(fmt.Sprintf("%v/%s", sig, kind), func(t *testing.T) {
				s := newShell(t)
				m := onTerminal(t, s.command("repl"), kind, usualSize)
				m.expect(">>> ")
				m.write("half a li")
				m.expect("half a li")
				m.signal(sig)
				m.ends(exitInterrupted)
			})
		}
		t.Run(fmt.Sprintf("%v/in a cell", sig), func(t *testing.T) {
			s := newShell(t)
			m := onTerminal(t, s.command("repl"), "xterm", usualSize)
			m.expect(">>> ")
			m.write("import time; print('be' + 'gun'); time.sleep(600)\r")
			m.expect("begun")
			m.signal(sig)
			m.expect("KeyboardInterrupt")
			m.ends(exitInterrupted)
		})
	}
}

func (m *terminal) signal(sig syscall.Signal) {
	m.t.Helper()
	if err := m.cmd.Process.Signal(sig); err != nil {
		m.t.Fatal(err)
	}
}
