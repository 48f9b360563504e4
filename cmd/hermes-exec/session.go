package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/server"
	"github.com/hermes-exec/hermes-exec/transport"
)

func (a *app) sessionCommand() *cli.Command {
	output := &cli.StringFlag{Name: "output", Usage: "print `FORMAT`: text or json (default text)"}
	return &cli.Command{
		Name:      "session",
		Usage:     "list the sessions of run --session and repl --session, discard the state of one, or end it",
		UsageText: "hermes-exec session list | reset NAME | end NAME | end --all",
		Description: described(
			"", "hermes-exec run --session work job.py", "hermes-exec session list",
			"hermes-exec session reset work", "hermes-exec session end work", "hermes-exec session end --all",
		),
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the sessions", UsageText: "hermes-exec session list [--output text|json]",
				Description: described("", "hermes-exec session list --output json"),
				Flags:       []cli.Flag{output}, Action: noArguments(a.listSessions),
			},
			{
				Name: "reset", Usage: "discard the state of a session", UsageText: "hermes-exec session reset NAME",
				Action: a.resetSession,
			},
			{
				Name: "end", Usage: "end a session", UsageText: "hermes-exec session end NAME|--all",
				Flags:  []cli.Flag{&cli.BoolFlag{Name: "all", DisableDefaultText: true, Usage: "end every session, and the server that holds them"}},
				Action: a.endSession,
			},
		},
		Action: subcommandNeeded("list, reset NAME or end NAME"),
	}
}

// sessionFlags are those of the commands that can run cells.
func sessionFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "session", Usage: "run as a cell of the session `NAME`, which keeps its state between calls"},
		&cli.BoolFlag{Name: "reset", DisableDefaultText: true, Usage: "discard the state of the session first"},
	}
}

// maxSessionName is longer than any name that is meant, in bytes.
const maxSessionName = 255

// sessionName returns what --session names; "" is no session.
func (a *app) sessionName(c *cli.Context) (string, error) {
	name := a.option(c, "session")
	switch {
	case name == "" && c.IsSet("session"):
		return "", usagef("--session: the name is empty")
	case name == "" && c.Bool("reset"):
		return "", usagef("--reset discards the state of a session: say which by --session NAME")
	}
	return name, checkSessionName(name)
}

// checkSessionName refuses names that session list could not show as they are: what a terminal obeys,
// what nobody sees, and what turns the text around it.
func checkSessionName(name string) error {
	if len(name) > maxSessionName {
		return usagef("the name of a session may have %d bytes, this has %d", maxSessionName, len(name))
	}
	if !utf8.ValidString(name) {
		return usagef("%q is no name for a session: it is not UTF-8", name)
	}
	if i := strings.IndexFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) }); i >= 0 {
		r, _ := utf8.DecodeRuneInString(name[i:])
		return usagef("%q is no name for a session: %U in it cannot be seen", name, r)
	}
	return nil
}

// serverIdle is the variable that says how long a session server stays without anything to do.
const serverIdle = "HERMES_EXEC_SERVER_IDLE"

// client talks to the session server of a HERMES_HOME.
func (a *app) client(home string) (*server.Client, error) {
	place, err := server.Locate(home)
	if err != nil {
		return nil, usagef("%v", err)
	}
	args := []string{serveName}
	if idle := a.environ[serverIdle]; idle != "" {
		if d, err := time.ParseDuration(idle); err != nil || d <= 0 {
			return nil, usagef("%s: %q is not a time: give 90s, 5m or 1h", serverIdle, idle)
		}
		args = append(args, "--idle", idle)
	}
	if a.environ[transport.EnvToken] != "" {
		args = append(args, "--inside")
	}
	return &server.Client{Place: place, Version: identity(), Start: server.Command(append(args, home)...)}, nil
}

// identity tells this program from other versions of it. One that was built on the way from one
// release to the next has the size and the time of its file.
func identity() string {
	v := readVersion()
	text := v.Version
	if v.Revision != "" {
		text += " " + v.Revision
	}
	if exe, err := os.Executable(); err == nil && (strings.Contains(v.Version, "devel") || strings.HasSuffix(v.Version, "dirty")) {
		if info, err := os.Stat(exe); err == nil {
			text += fmt.Sprintf(" %d-%d", info.Size(), info.ModTime().UnixNano())
		}
	}
	return text
}

// cells runs cells somewhere.
type cells interface {
	Run(ctx context.Context, c server.Cell) *hermes.Result
}

// cell is a cell of a session as the flags describe it.
func (a *app) cell(c *cli.Context, loaded *config.Loaded, session string) (server.Cell, error) {
	level, err := logLevel(a.option(c, "log-level"))
	if err == nil {
		err = a.full
	}
	return server.Cell{Session: session, Options: a.options(loaded, nil), LogLevel: level, Progress: a.progress(a.isOn(c, "quiet"))}, err
}

// runCell runs a script as a cell of a session that the server holds.
func (a *app) runCell(c *cli.Context, loaded *config.Loaded, session string, s *script, out sink) error {
	if a.option(c, "stdin") != "" {
		return usagef("--stdin: a cell of a session has an empty stdin: leave out --session, or read the file in the cell")
	}
	if err := s.load(); err != nil {
		return err
	}
	in, leave, err := a.cellsFor(session, loaded)
	if err != nil {
		return err
	}
	defer leave()
	cell, err := a.cell(c, loaded, session)
	if err != nil {
		return err
	}
	cell.Script, cell.Reset = s.Script, a.isOn(c, "reset")
	return exitWith(a.show(c.Context, in, cell, out))
}

// load reads FILE: the code of a cell travels with it.
func (s *script) load() error {
	if s.File == "" {
		return nil
	}
	f, err := os.Open(s.File)
	if err != nil {
		return usagef("read the script: %v", err)
	}
	defer f.Close()
	if s.Code, err = readCode(f, s.File); err != nil {
		return err
	}
	s.Name, s.File = s.File, ""
	return nil
}

// show runs a cell and shows it. The first signal interrupts it, which still ends with a result; the
// second kills it at once.
func (a *app) show(ctx context.Context, in cells, cell server.Cell, out sink) *hermes.Result {
	kill := make(chan struct{})
	cell.Kill = kill
	ctx, stop := a.interrupts(ctx, sync.OnceFunc(func() { close(kill) }))
	defer stop()
	return a.showUnder(ctx, in, cell, out)
}

// showUnder runs a cell and shows it. Signals are the caller's.
func (a *app) showUnder(ctx context.Context, in cells, cell server.Cell, out sink) *hermes.Result {
	out.attach(&cell.Script)
	r := in.Run(ctx, cell)
	out.finish(r)
	a.logRun(r)
	return r
}

// sessionClient is the client for commands that need no settings.
func (a *app) sessionClient() (*server.Client, error) {
	return a.client(config.Home(a.environ, a.dir))
}

func (a *app) listSessions(ctx context.Context, c *cli.Context) error {
	asJSON, err := a.wantsJSON(c)
	if err != nil {
		return err
	}
	client, err := a.sessionClient()
	if err != nil {
		return err
	}
	list, err := client.List(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(sessionRows(list))
	}
	return a.printSessions(list)
}

// sessionRow is a session as session list --output json tells of it.
type sessionRow struct {
	Name           string     `json:"name"`
	Backend        string     `json:"backend"`
	Target         string     `json:"target"`
	Busy           bool       `json:"busy"`
	ExecutionCount int        `json:"execution_count"`
	PID            int        `json:"pid"`
	Started        time.Time  `json:"started"`
	LastUsed       *time.Time `json:"last_used"`
}

func sessionRows(list []hermes.SessionInfo) []sessionRow {
	rows := make([]sessionRow, 0, len(list))
	for _, i := range list {
		row := sessionRow{
			Name: i.Name, Backend: i.Backend, Target: i.Target, Busy: i.Busy, ExecutionCount: i.ExecutionCount,
			PID: i.PID, Started: i.Started,
		}
		if !i.LastUsed.IsZero() {
			row.LastUsed = &i.LastUsed
		}
		rows = append(rows, row)
	}
	return rows
}

func (a *app) printSessions(list []hermes.SessionInfo) error {
	if len(list) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tCELLS\tPID\tLAST USED\tBACKEND\tTARGET")
	for _, i := range list {
		state, used := "idle", "-"
		switch {
		case i.Busy:
			state = "busy"
		case i.PID == 0:
			state = "empty" // its Python has ended
		}
		if !i.LastUsed.IsZero() {
			used = time.Since(i.LastUsed).Round(time.Second).String() + " ago"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\t%s\n", i.Name, state, i.ExecutionCount, i.PID, used,
			cmp.Or(i.Backend, "-"), cmp.Or(i.Target, "-"))
	}
	return w.Flush()
}

// oneName is the only argument of a command about one session.
func oneName(c *cli.Context) (string, error) {
	switch {
	case c.NArg() == 0:
		return "", usagef("session %s: the NAME of a session is missing; hermes-exec session list shows those that there are", c.Command.Name)
	case c.NArg() > 1:
		return "", usagef("unexpected argument %q: session %s takes one NAME", c.Args().Get(1), c.Command.Name)
	}
	return c.Args().First(), checkSessionName(c.Args().First())
}

func (a *app) resetSession(c *cli.Context) error {
	return a.onSession(c, func(client *server.Client, name string) (bool, error) { return client.Reset(c.Context, name) })
}

func (a *app) endSession(c *cli.Context) error {
	if !c.Bool("all") {
		return a.onSession(c, func(client *server.Client, name string) (bool, error) { return client.End(c.Context, name) })
	}
	if c.Args().Present() {
		return usagef("session end: either NAME or --all")
	}
	client, err := a.sessionClient()
	if err != nil {
		return err
	}
	if err := client.Stop(c.Context); !errors.Is(err, server.ErrNoServer) {
		return err
	}
	return nil
}

// onSession does something with the session that the command line names.
func (a *app) onSession(c *cli.Context, do func(client *server.Client, name string) (bool, error)) error {
	name, err := oneName(c)
	if err != nil {
		return err
	}
	client, err := a.sessionClient()
	if err != nil {
		return err
	}
	found, err := do(client, name)
	switch {
	case err != nil && !errors.Is(err, server.ErrNoServer):
		return err
	case !found:
		a.complain("there is no session " + name + ": hermes-exec session list shows those that there are")
		return statusError(exitError)
	}
	return nil
}
