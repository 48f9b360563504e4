package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend/all"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/server"
)

func (a *app) replCommand() *cli.Command {
	return &cli.Command{
		Name:      "repl",
		Usage:     "run cells as they are typed, or as they come from a pipe",
		UsageText: "hermes-exec repl [flags]",
		Description: described(
			"Without --session the state ends with the command. On a terminal an empty line ends a block,\n"+
				"Ctrl-C interrupts the cell (KeyboardInterrupt first, so that the state stays), Ctrl-D leaves. In a\n"+
				"pipe a block ends where the next statement begins, and the exit status is that of the last cell.\n"+
				"exit(3) leaves with that status in both; the state of a named session stays.",
			"hermes-exec repl", "hermes-exec repl --session work --output json < job.py",
		),
		Flags: append(
			append(a.settingFlags(), sessionFlags()...),
			&cli.StringFlag{Name: "output", Usage: "print `FORMAT`: text, json or ndjson (default text)"},
			&cli.BoolFlag{Name: "trace", DisableDefaultText: true, Usage: "list the tool calls in the results"},
			&cli.BoolFlag{Name: "quiet", DisableDefaultText: true, Usage: "print no warnings and hints, only errors"},
		),
		Action: noArguments(a.repl),
	}
}

func (a *app) repl(ctx context.Context, c *cli.Context) error {
	format, err := parseFormat(a.option(c, "output"))
	if err != nil {
		return err
	}
	session, err := a.replSession(c)
	if err != nil {
		return err
	}
	loaded, err := a.load(c)
	if err != nil {
		return err
	}
	cell, err := a.cell(c, loaded, session)
	if err != nil {
		return err
	}
	cell.Script.Trace, cell.Reset = a.isOn(c, "trace"), a.isOn(c, "reset")
	lines := a.lineReader(loaded.Settings.Home)
	a.giveBack = lines.close
	defer lines.close() // last, for a prompt that was left behind may still touch the terminal
	in, leave, err := a.cellsFor(session, loaded)
	if err != nil {
		return err
	}
	defer leave()
	return a.loop(ctx, lines, in, cell, func() sink { return a.newSink(format, a.isOn(c, "quiet")) })
}

// replSession is the session's name; "" is one of the command's own.
func (a *app) replSession(c *cli.Context) (string, error) {
	if c.Bool("reset") && a.option(c, "session") == "" {
		return "", usagef("--reset: without --session there is no state to discard")
	}
	return a.sessionName(c)
}

// cellsFor returns what runs the cells: the server, which keeps their state, or this process.
func (a *app) cellsFor(session string, loaded *config.Loaded) (in cells, leave func(), err error) {
	if session != "" && all.KeepsState(loaded.Settings.Backend) {
		client, err := a.client(loaded.Settings.Home)
		return client, func() {}, err
	}
	own := &ownSessions{hermes.NewSessions(a.log)}
	return own, func() {
		if err := own.Close(); err != nil {
			a.log.Warn("close the session", "error", err)
		}
	}, nil
}

// ownSessions runs cells in this process.
type ownSessions struct{ *hermes.Sessions }

// ownName is the session of a repl that names none.
const ownName = "repl"

// Run runs a cell in the only session there is.
func (s *ownSessions) Run(ctx context.Context, c server.Cell) *hermes.Result {
	name := cmp.Or(c.Session, ownName)
	over := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-over:
		case <-c.Kill:
			s.End(name)
		}
	}()
	defer func() {
		close(over)
		<-done
	}()
	return s.Sessions.Run(ctx, name, c.Options, c.Script, c.Reset)
}

// loop runs what is typed until there is no more.
func (a *app) loop(ctx context.Context, lines lineReader, in cells, cell server.Cell, newSink func() sink) error {
	if lines.interactive() {
		return a.converse(ctx, lines, cell, func(ctx context.Context, cell server.Cell) *hermes.Result {
			return a.show(ctx, in, cell, newSink())
		})
	}
	kill := make(chan struct{})
	cell.Kill = kill
	ctx, stop := a.interrupts(ctx, sync.OnceFunc(func() { close(kill) }))
	defer stop()
	last, err := a.each(ctx, lines, cell, func(ctx context.Context, cell server.Cell) *hermes.Result {
		return a.showUnder(ctx, in, cell, newSink())
	})
	switch {
	case ctx.Err() != nil:
		return statusError(exitInterrupted)
	case err != nil || last == nil:
		return err
	}
	return exitWith(last)
}

// converse runs what somebody types, who has seen how each cell ended: only one that was to leave has
// the last word. A signal that ends programs ends this one wherever it is.
func (a *app) converse(ctx context.Context, lines lineReader, cell server.Cell, run runCell) error {
	idle := make(chan os.Signal, 1) // between two cells it has nothing to interrupt
	signal.Notify(idle, os.Interrupt)
	defer signal.Stop(idle)
	ctx, stop := until(ctx, endSignals())
	defer stop()
	last, err := a.each(ctx, lines, cell, run)
	switch {
	case ctx.Err() != nil:
		return statusError(exitInterrupted)
	case err == nil && last != nil && last.Exited:
		return exitWith(last)
	}
	return err
}

// runCell runs a cell and shows it.
type runCell func(ctx context.Context, cell server.Cell) *hermes.Result

// each runs every cell, as cell describes them, until one ends with sys.exit. It returns how the last
// one ended.
func (a *app) each(ctx context.Context, lines lineReader, cell server.Cell, run runCell) (last *hermes.Result, err error) {
	for ctx.Err() == nil && !a.out.failed() {
		code, err := readCell(ctx, lines)
		if leaves(code) {
			return nil, nil
		}
		if code != "" && ctx.Err() == nil {
			cell.Script = hermes.Script{Code: []byte(code), Display: true, Soft: true, Trace: cell.Script.Trace}
			last = run(ctx, cell)
			cell.Reset = false
		}
		if err != nil || last != nil && last.Exited {
			return last, inputError(err)
		}
	}
	return last, nil
}

// inputError says what is wrong with an input that has ended.
func inputError(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return usagef("read the input: %v", err)
}

// leaves tells whether a cell is one of the ways to leave Python's own prompt.
func leaves(code string) bool {
	switch strings.TrimSpace(code) {
	case "exit", "exit()", "quit", "quit()":
		return true
	}
	return false
}
