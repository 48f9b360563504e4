package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
)

const (
	maxOutput = 48 << 20          // bytes of output that come back
	keepHead  = maxOutput / 5 * 2 // of them from the start
	maxReply  = 60 << 20          // bytes of a result, so that it fits a line of 64 MiB
	replyTail = 64                // bytes of a result behind the output, at most
	maxInline = 100 << 10         // bytes of a command in argv: Linux allows 128 KiB an argument
	winInline = 8 << 10           // and Windows 32 Ki characters for all of them, with what quotes them
	timedOut  = 124               // the exit code that timeout(1) has too
	maxSecs   = 9e9               // about the seconds that a time.Duration holds
)

// errTimeout ends a command that had its own time.
var errTimeout = errors.New("timeout of the command")

// terminalTool runs shell commands.
type terminalTool struct{}

var _ Tool = terminalTool{}

// Spec describes terminal.
func (terminalTool) Spec() Spec {
	return Spec{
		Name:    "terminal",
		Summary: "Run a shell command in the foreground; stdout and stderr come back merged, stdin is empty.",
		Params: []Param{
			{Name: "command", Type: String, Required: true, NoNUL: true, Doc: "The command, for bash or else sh."},
			{Name: "timeout", Type: Number, Nullable: true, Above: limit(0), Below: limit(maxSecs), Doc: "The most seconds it may take; None is the run's remaining time."},
			{Name: "workdir", Type: String, Nullable: true, NonEmpty: true, NoNUL: true, Doc: "The directory to run it in; None is the current one."},
		},
		Returns: `{"output": str, "exit_code": int}; exit_code 124 is a timeout, "truncated": True is there when output was cut`,
		Keys:    []string{"output", "exit_code", "truncated"},
		Holds:   `its text is in ["output"]`,
	}
}

type terminalArgs struct {
	Command string
	Timeout *float64
	Workdir *string
}

// Call runs the command and returns when it ends; what it left in the background goes on. A timeout
// ends the command with all it started: SIGTERM, Env.Grace, SIGKILL.
func (terminalTool) Call(ctx context.Context, env *Env, args json.RawMessage) (json.RawMessage, error) {
	var a terminalArgs
	err := json.Unmarshal(args, &a)
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	limited, cancel := a.limit(ctx)
	defer cancel()
	var out output
	defer out.close()
	omitted, code, err := a.run(limited, env, &out)
	if ctx.Err() != nil { // not by our timeout
		return nil, fmt.Errorf("terminal: the run ended first: %w", context.Cause(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	reply, err := terminalReply(ctx, env, out.take(omitted), code)
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	return reply, nil
}

// limit derives the context that has the command's own timeout.
func (a *terminalArgs) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.Timeout == nil {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, time.Duration(*a.Timeout*float64(time.Second)), errTimeout)
}

// run runs the command and returns how many bytes of its output did not come to out, and its exit
// code.
func (a *terminalArgs) run(ctx context.Context, env *Env, out *output) (omitted int64, code int, err error) {
	cmd, err := a.command(ctx, env)
	if err != nil {
		return 0, 0, err
	}
	cmd.Stdout, cmd.Stderr = out, out
	p, err := backend.Run(ctx, env.Backend, cmd, func(error) backend.Stop { return backend.Stop{Grace: env.Grace} })
	if p == nil {
		return 0, 0, a.notStarted(cmd, err)
	}
	if code, err = exitCode(err); err != nil {
		return 0, 0, err
	}
	counts, _ := p.Output()
	return counts.Omitted, code, nil
}

func (a *terminalArgs) notStarted(cmd backend.Cmd, err error) error {
	if !errors.Is(err, fs.ErrNotExist) { // the shell was seen to exist
		return err
	}
	dir := cmd.Dir
	if a.Workdir != nil {
		dir = *a.Workdir
	}
	return fmt.Errorf("cannot run in the directory %s: no such directory", clipPath(dir))
}

// command returns what to start.
func (a *terminalArgs) command(ctx context.Context, env *Env) (backend.Cmd, error) {
	cmd := backend.Cmd{
		Dir:    env.Dir,
		Env:    env.Environ,
		Keep:   &backend.Keep{Head: keepHead, Tail: maxOutput - keepHead},
		Linger: true,
	}
	var err error
	if a.Workdir != nil {
		if cmd.Dir, err = env.resolve(*a.Workdir); err != nil {
			return cmd, fmt.Errorf("workdir: %w", err)
		}
	}
	shell, err := env.Files.shells.find(ctx, env)
	if err != nil {
		return cmd, err
	}
	cmd.Args, err = shellArgs(ctx, env, shell, a.Command)
	return cmd, err
}

// shellArgs returns the argv for a command. One that is too long for an argument goes through a
// file, which the shell removes as it reads it.
func shellArgs(ctx context.Context, env *Env, shell, command string) ([]string, error) {
	if len(command) <= inlineLimit(env.Backend.Info().OS) {
		return []string{shell, "-c", command}, nil
	}
	name := env.Backend.Info().Scratch + "/" + scratchName("command")
	if err := env.Backend.Put(ctx, name, strings.NewReader(command), 0o600); err != nil {
		return nil, fmt.Errorf("store the command: %w", err)
	}
	return []string{shell, "-c", `eval "$(cat -- "$0"; rm -f -- "$0")"`, name}, nil
}

// inlineLimit is how long a command in argv may be on that system.
func inlineLimit(goos string) int {
	if goos == "windows" {
		return winInline
	}
	return maxInline
}

// exitCode returns the code that a shell would show. A process that ended without one is an error.
func exitCode(err error) (int, error) {
	exit := (*backend.ExitError)(nil)
	switch {
	case err == nil:
		return 0, nil
	case errors.Is(err, errTimeout):
		return timedOut, nil
	case errors.As(err, &exit) && exit.Signal != 0:
		return 128 + int(exit.Signal), nil
	case errors.As(err, &exit):
		return exit.Code, nil
	default:
		return 0, err
	}
}

// terminalReply returns the result as JSON, with more of the output cut until it fits a reply. There
// is memory for one copy of it, which is the only one.
func terminalReply(ctx context.Context, env *Env, out ends, code int) (json.RawMessage, error) {
	size := min(out.size()+out.size()/16+2*replyTail, maxReply) // most texts have few characters to escape
	for {
		if err := env.admit(ctx, size); err != nil {
			return nil, err
		}
		line, err := appendReply(make([]byte, 0, size), out, code)
		if !errors.Is(err, errTooLong) {
			return line, err
		}
		if size, err = out.quotedLen(); err != nil {
			return nil, err
		}
		size += 2 * replyTail
		if size > maxReply {
			out = out.cut(0.95 * maxReply / float64(size))
			size = maxReply
		}
	}
}

// appendReply makes the result in the room that line has.
func appendReply(line []byte, out ends, code int) ([]byte, error) {
	line, err := out.appendTo(append(line, `{"output":`...), cap(line)-replyTail)
	if err != nil {
		return nil, err
	}
	line = fmt.Appendf(line, `,"exit_code":%d`, code)
	if out.omitted > 0 {
		line = append(line, `,"truncated":true`...)
	}
	return append(line, '}'), nil
}

// shellProbe finds the shell of an environment once.
type shellProbe struct {
	mu    sync.Mutex
	shell string
}

func (s *shellProbe) find(ctx context.Context, env *Env) (string, error) {
	s.mu.Lock()
	shell := s.shell
	s.mu.Unlock()
	if shell != "" {
		return shell, nil
	}
	names := shellNames(env.Backend.Info().OS)
	for _, shell := range names {
		switch works, err := runs(ctx, env, shell); {
		case err != nil:
			return "", fmt.Errorf("look for a shell: %w", err)
		case works:
			s.mu.Lock()
			defer s.mu.Unlock()
			s.shell = shell
			return shell, nil
		}
	}
	missing := "neither bash nor sh is in PATH"
	if len(names) == 1 {
		missing = "sh, which Git for Windows has, is not in PATH"
	}
	return "", fmt.Errorf("no shell was found: %s, which is '%s'", missing, clipPath(env.Environ["PATH"]))
}

// shellNames are the shells to look for on that system. The bash in PATH of a Windows may be that of
// another system: of the Linux that lives beside it and has files of its own.
func shellNames(goos string) []string {
	if goos == "windows" {
		return []string{"sh"}
	}
	return []string{"bash", "sh"}
}

// runs tells whether there is such a shell. The error says that this cannot be told.
func runs(ctx context.Context, env *Env, shell string) (bool, error) {
	// In the root directory, so that a missing directory cannot be taken for a missing shell.
	cmd := backend.Cmd{Args: []string{shell, "-c", ":"}, Dir: "/", Env: env.Environ}
	_, err := backend.Run(ctx, env.Backend, cmd, nil)
	exit := (*backend.ExitError)(nil)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, backend.ErrNotExecutable) || errors.As(err, &exit) {
		return false, nil
	}
	return err == nil, err
}
