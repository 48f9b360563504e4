package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/near"
)

// maxInput is the longest text that is taken from stdin, in bytes. Nobody writes one so long: it is
// data that went the wrong way.
const maxInput = 64 << 20

func (a *app) runCommand() *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "run a script; the command itself may be left out",
		UsageText: "hermes-exec [run] [flags] FILE|- [-- ARGS...]",
		Description: described(
			"Flags stand before FILE, arguments of the script after --. Without FILE, or with -, the\n"+
				"script is read from stdin. The exit status is the script's own; 124 is a timeout, 130 an\n"+
				"interrupt, 125 a failure of hermes-exec, 126 a refusal by policy, 127 no usable Python,\n"+
				"2 a mistake on the command line.",
			"hermes-exec run job.py",
			"hermes-exec run --timeout 60 --tools read_file,terminal job.py -- --fast src",
			"hermes-exec run --output json --trace < job.py",
			"hermes-exec run --check job.py",
			"hermes-exec run --artifacts out job.py",
			"hermes-exec run --session work job.py",
			"hermes-exec run --backend docker --image python:3.13-slim --mount-cwd job.py",
		),
		Flags: append(
			append(a.settingFlags(), sessionFlags()...),
			&cli.StringFlag{Name: "stdin", Usage: "give the script `FILE` as stdin, or with - that of this program (default empty)"},
			&cli.GenericFlag{Name: "spill", Value: texts{&a.spills}, Usage: "let the script read the spill file `PATH` of an earlier run; may be repeated"},
			&cli.StringFlag{Name: "output", Usage: "print `FORMAT`: text, json or ndjson (default text)"},
			&cli.BoolFlag{Name: "trace", DisableDefaultText: true, Usage: "list the tool calls in the result"},
			&cli.BoolFlag{Name: "check", DisableDefaultText: true, Usage: "look at the script and do not run it: its syntax, and how it uses the tools"},
			&cli.StringFlag{Name: "artifacts", Usage: "bring the files that the script leaves in $HERMES_ARTIFACTS back into `DIR`"},
			&cli.BoolFlag{
				Name: "figures", Usage: "with --artifacts: have matplotlib save its figures there, as figure-1.png and so on", DisableDefaultText: true,
				Action: func(_ *cli.Context, on bool) error {
					return (&setting{"figures", &a.settings}).Set(strconv.FormatBool(on))
				},
			},
			&cli.BoolFlag{Name: "quiet", DisableDefaultText: true, Usage: "print no warnings and hints, only errors"},
		),
		Action: a.run,
	}
}

// run is the command run.
func (a *app) run(c *cli.Context) error {
	format, err := parseFormat(a.option(c, "output"))
	if err != nil {
		return err
	}
	session, err := a.sessionName(c)
	if err != nil {
		return err
	}
	s, err := a.script(c)
	if err != nil {
		return err
	}
	defer s.close()
	loaded, err := a.load(c)
	if err != nil {
		return err
	}
	s.Trace = a.isOn(c, "trace")
	if dir := a.option(c, "artifacts"); dir != "" {
		s.Artifacts = a.absolute(dir)
	} else if c.Bool("figures") {
		return usagef("--figures needs --artifacts DIR: that is where the figures come to")
	}
	if s.Spills, err = a.spillFiles(loaded.Settings.Home); err != nil {
		return err
	}
	if a.isOn(c, "check") {
		o := a.options(loaded, a.progress(a.isOn(c, "quiet")))
		return a.check(c.Context, o, s.Script, session != "", format, cmp.Or(s.File, s.Name, "script"))
	}
	out := a.newSink(format, a.isOn(c, "quiet"))
	if session != "" {
		return a.runCell(c, loaded, session, s, out)
	}
	return a.execute(c.Context, a.options(loaded, a.progress(a.isOn(c, "quiet"))), s.Script, out)
}

// script is what to run, with the files that are open for it.
type script struct {
	hermes.Script
	stdin *os.File
}

func (s *script) close() {
	if s.stdin != nil {
		s.stdin.Close()
	}
}

// spillFiles are the files of --spill, under the names that were given and under their whole paths.
// Only what hermes-exec has put there is served: a tool reads it on this machine, wherever the script
// runs.
func (a *app) spillFiles(home string) ([]string, error) {
	var paths []string
	for _, name := range a.spills {
		path := a.absolute(name)
		if err := isSpill(path, home); err != nil {
			return nil, usagef("--spill: %q %v: name the stdout_spill_path of an earlier result", name, err)
		}
		paths = append(paths, name, path)
	}
	return paths, nil
}

// absolute is a path of this call's working directory.
func (a *app) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.dir, path)
}

// isSpill tells why path is no spill file of home.
func isSpill(path, home string) error {
	cache := filepath.Join(home, "cache", "exec")
	here, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("is no file in %s: %w", cache, err)
	}
	if there, err := os.Stat(cache); home == "" || err != nil || !os.SameFile(here, there) {
		return fmt.Errorf("is no file in %s", cache)
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return errors.New("is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	return f.Close()
}

// script reads the command line from FILE on.
func (a *app) script(c *cli.Context) (*script, error) {
	file, args, err := splitArgs(c.Args().Slice(), c.App)
	if err != nil {
		return nil, err
	}
	s := &script{Script: hermes.Script{Args: args}}
	if file == "" && a.onTerminal() {
		if a.greet() {
			return nil, statusError(exitUsage)
		}
		return nil, usagef("no script: name a FILE, or give the script on stdin; see hermes-exec --help")
	}
	fromStdin := slices.Contains([]string{"", "-", "/dev/stdin", "/dev/fd/0"}, file)
	if fromStdin {
		s.Code, err = readAll(a.in)
		switch {
		case err != nil || !hermes.IsBlank(s.Code) || a.isOn(c, "check"): // which tells of it as of what else is wrong
		case a.greet():
			err = statusError(exitUsage)
		default:
			err = usagef(hermes.NoCode+" There is no script on stdin: name a FILE, or give it there%s; see hermes-exec --help", a.taken(c))
		}
	} else {
		err = a.openScript(c, s, file)
	}
	if err != nil {
		return nil, err
	}
	return s, a.openStdin(s, a.option(c, "stdin"), fromStdin)
}

// taken tells of a flag that has got for its value what looks like the FILE that is missing.
func (a *app) taken(c *cli.Context) string {
	given := slices.Clone(a.settings)
	for _, name := range c.LocalFlagNames() {
		given = append(given, config.Flag{Name: name, Value: c.String(name)})
	}
	for _, f := range given {
		if strings.HasSuffix(f.Value, ".py") {
			return fmt.Sprintf(" (%s is the value of --%s)", f.Value, f.Name)
		}
	}
	return ""
}

// readCode reads the script that a name stands for.
func readCode(f *os.File, name string) ([]byte, error) {
	code, err := readAll(f)
	if err == nil && hermes.IsBlank(code) {
		err = usagef(hermes.NoCode+" %s is empty: it has to hold Python", name)
	}
	return code, err
}

// splitArgs separates FILE from the script's arguments. Whatever else stands after FILE is refused:
// a misplaced flag must not change where or how a script runs without a word.
func splitArgs(args []string, program *cli.App) (file string, rest []string, err error) {
	if len(args) == 0 {
		return "", nil, nil
	}
	file, rest = args[0], args[1:]
	switch {
	case file == "": // a variable of a shell that is not set, and no wish to read stdin
		return "", nil, usagef("FILE is empty: name one, or leave it out for a script on stdin")
	case len(rest) == 0:
		return file, nil, nil
	case rest[0] == "--":
		return file, rest[1:], nil
	case file != "-" && isWord(file) && isMissing(file):
		return "", nil, noCommand(program, file)
	case strings.HasPrefix(rest[0], "-"):
		return "", nil, usagef("unexpected %q after %s: flags stand before FILE, arguments of the script after --", rest[0], file)
	default:
		return "", nil, usagef("unexpected argument %q after %s: arguments of the script stand after --", rest[0], file)
	}
}

// onTerminal reports whether a person would have to type the script.
func (a *app) onTerminal() bool {
	f, ok := a.in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// openScript looks at FILE. What can be read once only is read here, as stdin is, while a signal still
// ends the program: a FIFO, and a descriptor of this program, <(...) of a shell, which means nothing to
// the process that is to run it, also where it stands for a file.
func (a *app) openScript(c *cli.Context, s *script, file string) error {
	is, err := os.Stat(file)
	if err != nil {
		return a.noScript(c, file, err)
	}
	if is.IsDir() {
		return usagef("%s is a directory: name a FILE, as in %s", file, filepath.Join(file, "job.py"))
	}
	descriptor := strings.HasPrefix(file, "/dev/fd/") || strings.HasPrefix(file, "/proc/self/fd/")
	if !descriptor && is.Mode().IsRegular() {
		s.File = file
		return nil
	}
	quiet := a.isOn(c, "quiet") || a.wantedFormat() != formatText
	note := time.AfterFunc(noteWait, func() {
		if !quiet {
			a.complain("nobody writes to " + file + ": waiting for the script")
		}
	})
	f, err := os.Open(file) // of a FIFO: waits for a writer
	note.Stop()
	if err != nil {
		return usagef("read the script: %v", err)
	}
	defer f.Close()
	if a.isOn(c, "check") {
		s.Name = file
		s.Code, err = readAll(f)
	} else {
		s.Code, err = readCode(f, file)
	}
	return err
}

// noteWait is how long the writer of a FIFO may take before it is said that it is waited for.
const noteWait = time.Second

// readAll reads a stream, to which nobody meant to give more than maxInput.
func readAll(in io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	switch {
	case err != nil:
		return nil, usagef("read the input: %v", err)
	case len(data) > maxInput:
		return nil, usagef("the input is longer than %d MiB", maxInput>>20)
	}
	return data, nil
}

// noScript says why FILE cannot be run. A single word is more likely a command that does not exist.
func (a *app) noScript(c *cli.Context, name string, err error) error {
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return usagef("read the script: %v", err)
	case isWord(name):
		return noCommand(c.App, name)
	case filepath.IsAbs(name):
		return usagef("there is no file %s: name one that is there, or give the script on stdin", name)
	default:
		return usagef("there is no file %s in %s: name one that is there, or give the script on stdin", name, a.dir)
	}
}

// isWord tells whether a name may be that of a command.
func isWord(name string) bool { return !strings.ContainsAny(name, `./\`) }

// isMissing tells whether there is no file of that name.
func isMissing(name string) bool {
	_, err := os.Stat(name)
	return errors.Is(err, fs.ErrNotExist)
}

// noCommand names the command that was meant, else all there are.
func noCommand(program *cli.App, name string) error {
	switch {
	case program.Command(name) != nil:
		return usagef("the command %s comes first and its flags follow: hermes-exec %s [flags] …", name, name)
	case slices.Contains([]string{"mcp", "rpc", "serve"}, name):
		return usagef("%s is not built yet: no version so far has faces that agents call; hermes-exec run and a library for Go are there", name)
	}
	commands := []string{}
	for _, command := range program.VisibleCommands() {
		commands = append(commands, command.Name)
	}
	slices.Sort(commands)
	what := name + " is neither a file here nor a command"
	if meant := near.One(name, commands); meant != "" {
		return usagef("%s: did you mean %s?", what, meant)
	}
	return usagef("%s; the commands are %s", what, strings.Join(commands, ", "))
}

// openStdin opens what --stdin names.
func (a *app) openStdin(s *script, name string, scriptFromStdin bool) (err error) {
	switch {
	case name == "":
		return nil
	case name != "-":
		is, err := os.Stat(name)
		switch {
		case err == nil && is.IsDir():
			return usagef("--stdin: %s is a directory", name)
		case err == nil && is.Mode().Type() == fs.ModeNamedPipe:
			s.Stdin = &fifo{open: sync.OnceValues(func() (*os.File, error) { return os.Open(name) })}
			return nil
		}
		if s.stdin, err = os.Open(name); err != nil {
			return usagef("--stdin: %v", err)
		}
		s.Stdin = s.stdin
	case scriptFromStdin:
		return usagef("--stdin -: stdin is the script already: name a FILE to run")
	default:
		s.Stdin = a.in
	}
	return nil
}

// fifo is opened by its first Read: that waits for a writer, and a run does not wait for that.
type fifo struct {
	open func() (*os.File, error)
}

// Read waits for a writer and reads.
func (f *fifo) Read(p []byte) (int, error) {
	file, err := f.open()
	if err != nil {
		return 0, err
	}
	return file.Read(p)
}
