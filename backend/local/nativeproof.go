package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/keep"
)

// proof has an interpreter say what it is, in UTF-8 whatever the locale. The first line tells it from
// what a shim may print before.
const proof = "import sys;sys.stdout.buffer.write(('%s\\n%d.%d.%d\\n%s\\n' % (('" + proofLine +
	"',) + tuple(sys.version_info[:3]) + (sys.executable,))).encode('utf-8', 'surrogateescape'))"

const proofLine = "hermes-exec-python"

// prove finds the interpreter.
func (n *Native) prove(ctx context.Context, cfg Config) error {
	list, err := nativeCandidates(cfg)
	if err != nil {
		return err
	}
	var passedOver []string
	for i, c := range list {
		bounded, cancel := patience(ctx, len(list)-i)
		n.info.Python, err = n.ask(bounded, cfg, c)
		cancel()
		if err == nil {
			for _, p := range passedOver {
				n.info.Warnings = append(n.info.Warnings, "interpreter passed over: "+p)
			}
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("start %s: %w", c.path, context.Cause(ctx))
		}
		if errors.Is(err, backend.ErrExhausted) {
			return err // another interpreter would meet the same
		}
		passedOver = append(passedOver, fmt.Sprintf("%s (%s) cannot be used: %v", c, c.from, unstarted(c.path, err)))
	}
	return noPython(passedOver)
}

// nativeCandidates lists interpreters as the rules of this system have it.
func nativeCandidates(cfg Config) ([]candidate, error) {
	if runtime.GOOS == "windows" {
		return winCandidates(cfg, isFile)
	}
	return candidates(cfg)
}

// ask starts a candidate to have it say what it is.
func (n *Native) ask(ctx context.Context, cfg Config, c candidate) (backend.Python, error) {
	var out bytes.Buffer
	var said keep.Last
	_, err := backend.Run(ctx, n, backend.Cmd{
		Args: append(append([]string{c.path}, c.args...), "-I", "-S", "-c", proof), Dir: n.info.Scratch, Env: shimEnv(runtime.GOOS, cfg.Env),
		Stdout: &out, Stderr: &said, Keep: &backend.Keep{Tail: 64 << 10},
	}, nil)
	if e := (*backend.Error)(nil); errors.As(err, &e) {
		err = e.Err // its operation repeats what the message has
	}
	if line := said.Line(); err != nil && line != "" {
		err = backend.Shortage(fmt.Errorf("%w: %s", err, line), line)
	}
	if err != nil {
		return backend.Python{}, err
	}
	return readProof(out.String())
}

// readProof reads what an interpreter said of itself, and whether it is new enough.
func readProof(text string) (backend.Python, error) {
	at := strings.LastIndex(text, proofLine+"\n")
	if at < 0 {
		return backend.Python{}, errors.New("it does not answer as a Python does")
	}
	version, path, _ := strings.Cut(text[at+len(proofLine)+1:], "\n")
	python := backend.Python{Path: strings.TrimSuffix(path, "\n"), Version: version}
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	if n, err := strconv.Atoi(minor); err != nil || major != "3" || n < 8 {
		return backend.Python{}, fmt.Errorf("%s is older than 3.8", version)
	}
	if python.Path == "" {
		return backend.Python{}, errors.New("it does not know where it lies")
	}
	return python, nil
}
