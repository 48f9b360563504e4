package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/all"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/logfile"
	"github.com/hermes-exec/hermes-exec/internal/near"
	"github.com/hermes-exec/hermes-exec/internal/threads"
)

// app is one call of the program.
type app struct {
	in      io.Reader
	out     *outlet
	err     io.Writer
	environ map[string]string
	dir     string // the caller's working directory
	args    []string
	full    error // why no run can be started; nil: there is room

	settings []config.Flag // flags that are settings, in the order in which they were given
	spills   []string      // what --spill names
	shared   all.Shared    // what environments have in common
	logFile  *logfile.File
	log      *slog.Logger
	deaf     sync.Once
	giveBack func() // what a program that ends in the middle owes the terminal; nil: nothing
}

// run is the program: it returns the exit status and leaves nothing behind.
func run(args []string, in io.Reader, out, err io.Writer, environ []string) int {
	a := &app{
		in: in, out: &outlet{w: out}, err: err,
		environ: variables(environ), args: args, log: slog.New(slog.DiscardHandler),
	}
	defer a.closeLog()
	slog.SetDefault(a.log) // what libraries have to say: stderr is not theirs
	if a.full = backend.Exhausted(threads.Reserve()); a.full == nil {
		quitTerminates()
	}
	dir, failure := workingDir(a.environ["PWD"])
	if failure != nil {
		return a.finish(usagef("the working directory cannot be told (%v): change to one that exists", failure))
	}
	a.dir = dir
	return a.finish(a.command(args))
}

// workingDir is the caller's directory. One that was removed still has the name that it had: not
// every command needs it, and those that do say that it is not there. Shell is what the shell calls it.
func workingDir(shell string) (string, error) {
	dir, err := os.Getwd()
	if !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	if dir, err := os.Readlink("/proc/self/cwd"); err == nil {
		return strings.TrimSuffix(dir, " (deleted)"), nil
	}
	if _, gone := os.Stat(shell); filepath.IsAbs(shell) && errors.Is(gone, fs.ErrNotExist) {
		return shell, nil
	}
	return "", err
}

// command runs the command that args name.
func (a *app) command(args []string) error {
	c := a.program()
	args = topic(c, args)
	err := c.Run(append([]string{c.Name}, withCommand(c, args)...))
	asked := slices.IndexFunc(args, func(arg string) bool { return slices.Contains([]string{"-h", "-help", "--help"}, arg) })
	switch {
	case !noTopic(err):
		return err
	case asked >= 0 && asked+1 < len(args):
		return a.command(args[:asked+1]) // what follows was taken for a topic, and is a script
	case len(args) > 1:
		return noCommand(c, args[1])
	}
	return err
}

// topic turns help of a command of a command, which the library does not go into, to a flag of it.
func topic(c *cli.App, args []string) []string {
	if len(args) != 3 || args[0] != "help" && args[0] != "h" {
		return args
	}
	if of := c.Command(args[1]); of == nil || of.Command(args[2]) == nil {
		return args
	}
	return []string{args[1], args[2], "--help"}
}

// noTopic tells whether help was asked for with what is no command. The library has no other sign of it.
func noTopic(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "No help topic for ")
}

// variables turns the environment into a map. The first of two equal names wins, as in getenv.
func variables(environ []string) map[string]string {
	m := make(map[string]string, len(environ))
	for _, entry := range environ {
		// Windows has entries like "=C:=C:\dir", whose name is empty for Cut.
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			if _, seen := m[name]; !seen {
				m[name] = value
			}
		}
	}
	return m
}

// withCommand puts the command run in front of arguments that name none: hermes-exec [flags] FILE.
func withCommand(c *cli.App, args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"run"}
	case slices.Contains([]string{"help", "h", "-h", "-help", "--help"}, args[0]), c.Command(args[0]) != nil:
		return args
	case slices.Contains([]string{"-version", "--version"}, args[0]):
		return append([]string{"version"}, args[1:]...)
	default:
		return append([]string{"run"}, args...)
	}
}

// program describes the command line.
func (a *app) program() *cli.App {
	c := &cli.App{
		Name:      "hermes-exec",
		Usage:     "run Python that a model wrote, with host tools as ordinary functions",
		UsageText: "hermes-exec [run] [flags] FILE|- [-- ARGS...]\nhermes-exec COMMAND [flags]",
		Description: strings.Join([]string{
			"Run a script, or what comes on stdin:",
			"  hermes-exec job.py",
			"  echo 'print(6 * 7)' | hermes-exec",
			"With a limit of time and arguments of the script's own; the result as JSON:",
			"  hermes-exec --output json --timeout 60s job.py -- --fast",
			"In a container, and on another host:",
			"  hermes-exec --backend docker job.py",
			"  hermes-exec --backend ssh --host me@build1 job.py",
			"What can be used here, and what a script can call:",
			"  hermes-exec doctor",
			"  hermes-exec tools list",
		}, "\n"),
		Commands: []*cli.Command{
			a.runCommand(), a.replCommand(), a.sessionCommand(), a.doctorCommand(), a.stubsCommand(), a.schemaCommand(),
			a.toolsCommand(), a.pruneCommand(), a.serveSessionsCommand(),
			a.configCommand(), a.logsCommand(), a.completionCommand(), a.completeCommand(), a.manCommand(), a.versionCommand(),
		},
		Reader: a.in, Writer: a.out, ErrWriter: a.err,
		HideVersion:    true, // ours is a command too
		Flags:          []cli.Flag{&cli.BoolFlag{Name: "version", DisableDefaultText: true, Usage: "print the version"}},
		OnUsageError:   a.onUsageError,
		ExitErrHandler: func(*cli.Context, error) {}, // the default exits
	}
	for _, command := range c.Commands {
		a.strict(command)
	}
	return c
}

// strict makes a command and those below it report mistakes instead of printing help.
func (a *app) strict(c *cli.Command) {
	c.OnUsageError = a.onUsageError
	c.HideHelpCommand = true
	c.Before = noEmptyFlags
	for _, sub := range c.Subcommands {
		a.strict(sub)
	}
}

// load computes the settings from what has been parsed.
func (a *app) load(c *cli.Context) (*config.Loaded, error) {
	if err := misspelt(a.settings); err != nil {
		return nil, err
	}
	loaded, err := config.Load(config.Input{
		Flags:    a.settings,
		Environ:  a.environ,
		File:     c.String("config"),
		Dir:      a.dir,
		Backends: all.Names(),
	})
	if err != nil {
		return nil, err
	}
	if err := a.openLog(loaded.Settings.Home, a.option(c, "log-level")); err != nil {
		return nil, err
	}
	for _, note := range loaded.Notes {
		a.log.Debug(note)
	}
	return loaded, nil
}

// option returns a flag that is no setting: what was given, else HERMES_EXEC_ and its name.
func (a *app) option(c *cli.Context, name string) string {
	if c.IsSet(name) {
		return c.String(name)
	}
	return a.environ["HERMES_EXEC_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))]
}

// isOn is option for a switch: any value but 0 and false switches it on.
func (a *app) isOn(c *cli.Context, name string) bool {
	if c.IsSet(name) {
		return c.Bool(name)
	}
	value := a.option(c, name)
	return value != "" && value != "0" && value != "false"
}

// logPath is where the log lies.
func logPath(home string) string { return filepath.Join(home, "logs", "agent.log") }

// openLog makes a.log write records of that level and above; "" is info.
func (a *app) openLog(home, level string) error {
	at, err := logLevel(level)
	if err != nil || home == "" {
		return err
	}
	a.logFile = &logfile.File{Path: logPath(home)}
	a.log = slog.New(slog.NewTextHandler(a.logFile, &slog.HandlerOptions{Level: at}))
	slog.SetDefault(a.log)
	return nil
}

// closeLog closes what openLog opened.
func (a *app) closeLog() {
	if a.logFile == nil {
		return
	}
	if err := a.logFile.Close(); err != nil {
		fmt.Fprintf(a.err, "hermes-exec: close the log: %v\n", err)
	}
}

// logLevel reads a level; "" is info.
func logLevel(text string) (level slog.Level, err error) {
	if text == "" {
		return slog.LevelInfo, nil
	}
	if err := level.UnmarshalText([]byte(text)); err != nil {
		return 0, usagef("unknown log level %q: %s", text, near.Or(text, logLevels(), "debug, info, warn or error"))
	}
	return level, nil
}

// logLevels are the names of levels.
func logLevels() []string { return []string{"debug", "info", "warn", "error"} }

// noArguments refuses arguments of a command that takes none.
func noArguments(action func(context.Context, *cli.Context) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.Args().Present() {
			return usagef("unexpected argument %q: %s takes none", c.Args().First(), c.Command.Name)
		}
		return action(c.Context, c)
	}
}
