package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// ownTerminal is that of this program, wherever its streams lead.
const ownTerminal = "/dev/tty"

// asker returns who can be asked for a passphrase or a password: the person at the terminal. It is nil if
// there is none.
func asker() func(ctx context.Context, question string, echo bool) (string, error) {
	tty, err := os.OpenFile(ownTerminal, os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	if err := tty.Close(); err != nil {
		return nil
	}
	return ask
}

// ask asks one question. A question that is given up leaves the terminal as it was.
func ask(ctx context.Context, question string, echo bool) (string, error) {
	tty, err := os.OpenFile(ownTerminal, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	before, err := term.GetState(int(tty.Fd()))
	if err != nil {
		return "", errors.Join(err, tty.Close())
	}
	type reply struct {
		text string
		err  error
	}
	replies := make(chan reply, 1)
	go func() {
		defer tty.Close()
		text, err := answer(tty, question, echo)
		replies <- reply{text, err}
	}()
	select {
	case r := <-replies:
		return r.text, r.err
	case <-ctx.Done():
		_ = term.Restore(int(tty.Fd()), before)
		fmt.Fprintln(tty)
		return "", context.Cause(ctx)
	}
}

// answer reads one line.
func answer(tty *os.File, question string, echo bool) (string, error) {
	if _, err := fmt.Fprint(tty, "hermes-exec: "+question); err != nil {
		return "", err
	}
	if echo {
		line, err := bufio.NewReader(tty).ReadString('\n')
		return strings.TrimRight(line, "\r\n"), err
	}
	text, err := term.ReadPassword(int(tty.Fd()))
	fmt.Fprintln(tty)
	return string(text), err
}
