package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// terminal is a program on a terminal of its own.
type terminal struct {
	*testenv.Terminal
	t   *testing.T
	cmd *exec.Cmd
}

// onTerminal starts a program on a new terminal of that kind and size.
func onTerminal(t *testing.T, cmd *exec.Cmd, kind string, size unix.Winsize) terminal {
	t.Helper()
	cmd.Env = append(cmd.Env, "TERM="+kind)
	return terminal{testenv.OnTerminal(t, cmd, size), t, cmd}
}

// A person types: blocks, Ctrl-C in a cell and at the prompt, the history, Ctrl-D.
func TestReplOnATerminal(t *testing.T) {
	s := newShell(t)
	m := onTerminal(t, s.command("repl"), "xterm", testenv.UsualSize())
	m.Expect(">>> ")
	m.Type("x = 20\r")
	m.Expect(">>> ")
	m.Type("for i in range(2):\r")
	m.Expect("... ")
	m.Type("  print('item', i + x)\r")
	m.Expect("... ")
	m.Type("\r")
	m.Expect("item 20\r\nitem 21\r\n")
	m.Expect(">>> ")
	m.Type("import time; print('be' + 'gun'); time.sleep(600)\r")
	m.Expect("begun")
	m.Type("\x03")
	m.Expect("KeyboardInterrupt")
	m.Expect(">>> ")
	m.Type("nonsense(")
	m.Expect("nonsense(")
	m.Type("\x03")
	m.Expect(">>> ")
	m.Type("print('still', x + 1)\r")
	m.Expect("still 21")
	m.Expect(">>> ")
	m.Type("\x1b[A\r")
	m.Expect("still 21")
	m.Expect(">>> ")
	m.Type("\x04")
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
func (m terminal) ends(status int) {
	m.t.Helper()
	if err := m.cmd.Wait(); m.cmd.ProcessState.ExitCode() != status {
		m.t.Errorf("%v, want exit status %d; last shown: %q", err, status, m.Shown())
	}
	mode, err := m.Mode()
	if err != nil {
		m.t.Fatal(err)
	}
	const shell = unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
	if mode.Lflag&shell != shell || mode.Iflag&unix.ICRNL == 0 {
		m.t.Errorf("the terminal is left with lflag %o, iflag %o", mode.Lflag, mode.Iflag)
	}
}

// What is pasted is read as it would be from a pipe: an empty line does not end a block. One that is typed
// does, after a paste too.
func TestReplPaste(t *testing.T) {
	s := newShell(t)
	m := onTerminal(t, s.command("repl"), "xterm", testenv.UsualSize())
	m.Expect("\x1b[?2004h")
	m.Expect(">>> ")
	m.Type(pasteBegin + "def f():\r\ta = 'pas'\r\r\treturn a + 'ted'\rprint(f())\r" + pasteEnd)
	m.Expect("\x1b[?2004l")
	m.Expect("pasted\r\n")
	m.Expect(">>> ")
	m.Type(pasteBegin + "def g():\r\r\treturn 'aga' + 'in'" + pasteEnd)
	m.Expect("'in'")
	m.Type("\r")
	m.Expect("... ")
	m.Type("\r")
	m.Expect(">>> ")
	m.Type("print(g())\r")
	m.Expect("again\r\n")
	m.Expect(">>> ")
	m.Type("\x04")
	m.ends(0)
}

// What is typed while a cell runs is there for the next prompt, also that it is to be the last.
func TestReplTypedAhead(t *testing.T) {
	s := newShell(t)
	m := onTerminal(t, s.command("repl"), "xterm", testenv.UsualSize())
	m.Expect(">>> ")
	m.Type("import os, time\r")
	m.Expect(">>> ")
	m.Type("while not os.path.exists('go'): time.sleep(0.01)\r\r")
	testenv.Eventually(t, "the terminal is that of a cell", func() bool {
		is, err := m.Mode()
		return err == nil && is.Lflag&unix.ECHO != 0
	})
	m.Type("print('a' + 'b')\r\x04")
	if err := os.WriteFile(s.dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.Expect("ab\r\n")
	m.ends(0)
}

// A terminal that does not know its size has history all the same.
func TestReplOnATerminalWithoutSize(t *testing.T) {
	s := newShell(t)
	m := onTerminal(t, s.command("repl"), "xterm-256color", unix.Winsize{})
	m.Expect(">>> ")
	m.Type("print('a' + 'b')\r")
	m.Expect("ab\r\n")
	m.Expect(">>> ")
	m.Type("\x1b[A\r")
	m.Expect("ab\r\n")
	m.Expect(">>> ")
	m.Type("\x04")
	m.ends(0)
}

// Where there is no editor a person can type all the same: prompts, an empty line that ends a block,
// Ctrl-C at the prompt and in a cell, Ctrl-D.
func TestReplOnADumbTerminal(t *testing.T) {
	for _, kind := range []string{"dumb", ""} {
		t.Run("TERM="+kind, func(t *testing.T) {
			s := newShell(t)
			m := onTerminal(t, s.command("repl"), kind, testenv.UsualSize())
			m.Expect(">>> ")
			m.Type("if True:\r")
			m.Expect("... ")
			m.Type("  print('a' + 'b')\r")
			m.Expect("... ")
			m.Type("\r")
			m.Expect("ab\r\n")
			m.Expect(">>> ")
			m.Type("def f(:\r")
			m.Expect("... ")
			m.Type("half a line\x03")
			m.Expect(">>> ")
			m.Type("import time; print('be' + 'gun'); time.sleep(600)\r")
			m.Expect("begun")
			m.Type("\x03")
			m.Expect("KeyboardInterrupt")
			m.Expect(">>> ")
			m.Type("print('still', 40 + 2)\r")
			m.Expect("still 42")
			m.Expect(">>> ")
			m.Type("\x04")
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
	m := onTerminal(t, shell, "xterm", testenv.UsualSize())
	m.Expect(">>> ")
	m.Type("print('a' + 'b')\r")
	m.Expect(">>> ")
	m.Type("\x04")
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
			m := onTerminal(t, s.command("repl"), "xterm", testenv.UsualSize())
			m.Expect(">>> ")
			m.Type("1/0\r")
			m.Expect("ZeroDivisionError")
			m.Expect(">>> ")
			m.Type(code + "\r")
			m.ends(status)
		})
	}
}

// A signal that ends programs ends a repl, in a cell too, and the terminal is as it was.
func TestReplEndedBySignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		for _, kind := range []string{"xterm", "dumb"} {
			t.Run(fmt.Sprintf("%v/%s", sig, kind), func(t *testing.T) {
				testenv.Heard(t, sig)
				s := newShell(t)
				m := onTerminal(t, s.command("repl"), kind, testenv.UsualSize())
				m.Expect(">>> ")
				m.Type("half a li")
				m.Expect("half a li")
				m.signal(sig)
				m.ends(exitInterrupted)
			})
		}
		t.Run(fmt.Sprintf("%v/in a cell", sig), func(t *testing.T) {
			testenv.Heard(t, sig)
			s := newShell(t)
			m := onTerminal(t, s.command("repl"), "xterm", testenv.UsualSize())
			m.Expect(">>> ")
			m.Type("import time; print('be' + 'gun'); time.sleep(600)\r")
			m.Expect("begun")
			m.signal(sig)
			m.Expect("KeyboardInterrupt")
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
