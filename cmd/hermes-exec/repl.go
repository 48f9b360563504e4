package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"

	"github.com/peterh/liner"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/server"
)

func (a *app) replCommand() *cli.Command {
	return &cli.Command{
		Name:      "repl",
		Usage:     "run cells as they are typed, or as they come from a pipe",
		UsageText: "hermes-exec repl [flags]",
		Description: strings.Join([]string{
			"Without --session the state ends with the command. On a terminal an empty line ends a block,",
			"Ctrl-C interrupts the cell (KeyboardInterrupt first, so that the state stays), Ctrl-D leaves. In a",
			"pipe a block ends where the next statement begins, and the exit status is that of the last cell.",
			"",
			"Examples:",
			"  hermes-exec repl",
			"  hermes-exec repl --session work --output json < cells.py",
		}, "\n"),
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
	loaded.Settings.OnTimeout = config.InterruptOnTimeout // Ctrl-C is not to cost the state
	cell, err := a.cell(c, loaded, session)
	if err != nil {
		return err
	}
	cell.Script.Trace, cell.Reset = a.isOn(c, "trace"), a.isOn(c, "reset")
	in, leave, err := a.cellsFor(session, loaded)
	if err != nil {
		return err
	}
	defer leave()
	lines := a.lineReader(loaded.Settings.Home)
	defer lines.close()
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
	if session != "" {
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
	over := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-over:
		case <-c.Kill:
			s.End(ownName)
		}
	}()
	defer func() {
		close(over)
		<-done
	}()
	return s.Sessions.Run(ctx, ownName, c.Options, c.Script, c.Reset)
}

// loop runs what is typed until there is no more.
func (a *app) loop(ctx context.Context, lines lineReader, in cells, cell server.Cell, newSink func() sink) error {
	if lines.interactive() {
		// Between two cells a signal has nothing to interrupt, and must not end the program.
		idle := make(chan os.Signal, 1)
		signal.Notify(idle, os.Interrupt)
		defer signal.Stop(idle)
		_ = a.each(ctx, lines, &cell, func() error { return a.show(ctx, in, cell, newSink()) }) // whoever typed has seen how each cell ended
		return nil
	}
	kill := make(chan struct{})
	cell.Kill = kill
	ctx, stop := a.interrupts(ctx, sync.OnceFunc(func() { close(kill) }))
	defer stop()
	err := a.each(ctx, lines, &cell, func() error { return a.showUnder(ctx, in, cell, newSink()) })
	if ctx.Err() != nil {
		return statusError(exitInterrupted)
	}
	return err
}

// each calls run for every cell. It returns how the last one ended.
func (a *app) each(ctx context.Context, lines lineReader, cell *server.Cell, run func() error) (last error) {
	for ctx.Err() == nil && !a.out.failed() {
		code, err := readCell(ctx, lines)
		if leaves(code) {
			break
		}
		if code != "" {
			cell.Script = hermes.Script{Code: []byte(code), Display: true, Trace: cell.Script.Trace}
			last = run()
			cell.Reset = false
		}
		switch {
		case errors.Is(err, io.EOF) || ctx.Err() != nil:
			return last
		case err != nil:
			return usagef("read the input: %v", err)
		}
	}
	return last
}

// leaves tells whether a cell is one of the ways to leave Python's own prompt.
func leaves(code string) bool {
	switch strings.TrimSpace(code) {
	case "exit", "exit()", "quit", "quit()":
		return true
	}
	return false
}

// lineReader is where lines come from.
type lineReader interface {
	// next returns a line without its end. More says that it goes on with a cell. It returns
	// errAborted when the user wants to drop the cell, and io.EOF at the end.
	next(ctx context.Context, more bool) (string, error)
	// back takes a line that belongs to the next cell.
	back(line string)
	interactive() bool
	close()
}

// errAborted means that the cell that is being typed is to be dropped.
var errAborted = errors.New("aborted")

// readCell reads the next cell that is not empty. A cell and io.EOF may come together.
func readCell(ctx context.Context, lines lineReader) (string, error) {
	var r cellReader
	for {
		line, err := lines.next(ctx, r.begun())
		switch {
		case errors.Is(err, errAborted):
			r = cellReader{}
			continue
		case errors.Is(err, io.EOF):
			return r.take(), err
		case err != nil:
			return "", err
		case !r.begun() && isEmpty(line):
			continue
		}
		if done := r.add(line); done != "" {
			lines.back(line)
			return done, nil
		}
		if r.complete(lines.interactive()) {
			return r.take(), nil
		}
	}
}

// lineReader returns an editor with history on a terminal, and else just the lines.
func (a *app) lineReader(home string) lineReader {
	f, isFile := a.out.w.(*os.File)
	if a.onTerminal() && isFile && term.IsTerminal(int(f.Fd())) && liner.TerminalSupported() {
		history := ""
		if home != "" { // else there is no place for one
			history = filepath.Join(home, "repl_history")
		}
		if e, err := newEditor(history); err == nil {
			return e
		}
	}
	return &plainLines{in: bufio.NewReader(io.LimitReader(a.in, maxInput))}
}

// plainLines reads lines from a pipe or a file.
type plainLines struct {
	in   *bufio.Reader
	kept []string
}

// next leaves its reader behind when ctx ends: a read of stdin cannot be ended, but the program can.
func (p *plainLines) next(ctx context.Context, _ bool) (string, error) {
	if len(p.kept) > 0 {
		line := p.kept[0]
		p.kept = nil
		return line, nil
	}
	var line string
	var err error
	read := make(chan struct{})
	go func() {
		defer close(read)
		line, err = p.in.ReadString('\n')
	}()
	select {
	case <-read:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if line != "" && errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

func (p *plainLines) back(line string)  { p.kept = []string{line} }
func (p *plainLines) interactive() bool { return false }
func (p *plainLines) close()            {}

// editor reads lines from a terminal. While a cell runs the terminal is as it was, so that Ctrl-C is
// a signal.
type editor struct {
	state         *liner.State
	cooked, raw   liner.ModeApplier
	history, kept string
	isKept        bool
}

func newEditor(history string) (*editor, error) {
	cooked, err := liner.TerminalMode()
	if err != nil {
		return nil, err
	}
	e := &editor{state: liner.NewLiner(), cooked: cooked, history: history}
	if e.raw, err = liner.TerminalMode(); err != nil {
		return nil, errors.Join(err, e.state.Close())
	}
	e.state.SetCtrlCAborts(true)
	if f, err := os.Open(history); err == nil {
		defer f.Close()
		_, _ = e.state.ReadHistory(f) // what cannot be read is no history
	}
	return e, cooked.ApplyMode()
}

func (e *editor) next(_ context.Context, more bool) (string, error) {
	if e.isKept {
		e.isKept = false
		return e.kept, nil
	}
	if err := e.raw.ApplyMode(); err != nil {
		return "", err
	}
	prompt := ">>> "
	if more {
		prompt = "... "
	}
	line, err := e.state.Prompt(prompt)
	err = errors.Join(err, e.cooked.ApplyMode())
	if errors.Is(err, liner.ErrPromptAborted) {
		return "", errAborted
	}
	if err == nil && strings.TrimSpace(line) != "" {
		e.state.AppendHistory(line)
	}
	return line, err
}

func (e *editor) back(line string)  { e.kept, e.isKept = line, true }
func (e *editor) interactive() bool { return true }

// close gives the terminal back and keeps the history.
func (e *editor) close() {
	_ = e.raw.ApplyMode() // what Close restores is what NewLiner saw
	_ = e.state.Close()
	if e.history == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(e.history), 0o700); err != nil {
		return
	}
	f, err := os.OpenFile(e.history, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = e.state.WriteHistory(f) // the next prompt does without
	_ = f.Close()
}
