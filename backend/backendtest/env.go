package backendtest

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
)

// markName is the variable by which the processes of a case are found again, and groupName the one by
// which tree.py knows that it has to stay in its session.
const (
	markName  = "HX_CASE"
	groupName = "HX_GROUP"
)

//go:embed testdata/*.py
var scripts embed.FS

// env is what a case works with: the test, a fresh environment, and helpers to look into it.
type env struct {
	testing.TB
	backend.Backend

	mark    string                 // in the environment of all processes of the case
	another func() backend.Backend // opens a second environment beside this one

	group    bool     // as Config.Group has it
	networks []string // there are, the one that every environment should have first; nil: as usual
}

// network is one that listeners are made on.
func (e *env) network() string {
	if len(e.networks) == 0 {
		return "unix"
	}
	return e.networks[0]
}

// vars is the environment of the case's processes. The locale is set because Python sets it
// otherwise.
func (e *env) vars(more ...string) map[string]string {
	vars := map[string]string{"PATH": e.Info().Env["PATH"], "LC_ALL": "C.UTF-8", markName: e.mark}
	if e.group {
		vars[groupName] = "1"
	}
	for _, pair := range more {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	return vars
}

// py is a command that runs Python code.
func (e *env) py(code string, args ...string) backend.Cmd {
	python := []string{e.Info().Python.Path, "-c", code}
	return backend.Cmd{Args: append(python, args...), Env: e.vars()}
}

// script is a command that runs a file of testdata.
func (e *env) script(name string, args ...string) backend.Cmd {
	code, err := scripts.ReadFile("testdata/" + name)
	if err != nil {
		e.Fatal(err)
	}
	return e.py(string(code), args...)
}

// sh is a command that runs a shell script.
func (e *env) sh(code string, args ...string) backend.Cmd {
	return backend.Cmd{Args: append([]string{"/bin/sh", "-c", code, "sh"}, args...), Env: e.vars()}
}

var errEnded = errors.New("with status 0")

// proc is a started process whose output is kept.
type proc struct {
	backend.Process
	t        testing.TB
	out, err *buffer
}

// start starts cmd, with its output in buffers where cmd has no writers.
func (e *env) start(ctx context.Context, cmd backend.Cmd) *proc {
	e.Helper()
	p := &proc{t: e.TB, out: &buffer{}, err: &buffer{}}
	if cmd.Stdout == nil {
		cmd.Stdout = p.out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = p.err
	}
	var err error
	if p.Process, err = e.Start(ctx, cmd); err != nil {
		e.Fatalf("start %.80q: %v", cmd.Args, err)
	}
	return p
}

// ready starts cmd and waits until it has printed a line "ready".
func (e *env) ready(ctx context.Context, cmd backend.Cmd) *proc {
	e.Helper()
	p := e.start(ctx, cmd)
	p.await(ctx, "ready\n")
	return p
}

// await waits until the process has printed text, and fails the test if it ends without.
func (p *proc) await(ctx context.Context, text string) {
	p.t.Helper()
	if err := p.printed(ctx, text); err != nil {
		p.t.Fatalf("%q was not printed: %v; stdout %.500q, stderr %.2000q", text, err, p.out, p.err)
	}
}

// printed waits until the process has printed text, or has ended.
func (p *proc) printed(ctx context.Context, text string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cancel(fmt.Errorf("the process ended: %w", cmp.Or(p.Wait(ctx), errEnded)))
	}()
	defer func() { cancel(nil); <-ended }()
	return p.out.await(ctx, text)
}

// wait waits for the process and fails the test unless it ended with status 0.
func (p *proc) wait(ctx context.Context) {
	p.t.Helper()
	if err := p.Wait(ctx); err != nil {
		p.t.Fatalf("wait: %v; stdout %.500q, stderr %.2000q", err, p.out, p.err)
	}
}

// kill kills the process and waits for it.
func (p *proc) kill(ctx context.Context) {
	p.t.Helper()
	if err := p.Signal(ctx, backend.Kill); err != nil {
		p.t.Fatalf("kill: %v", err)
	}
	p.wantSignal(ctx, backend.Kill)
}

// wantSignal waits for the process and fails the test unless sig ended it.
func (p *proc) wantSignal(ctx context.Context, sig backend.Signal) {
	p.t.Helper()
	want := backend.ExitError{Code: -int(sig), Signal: sig}
	if got := p.exit(ctx); got != want {
		p.t.Fatalf("exit %+v, want %+v; stderr %.2000q", got, want, p.err)
	}
}

// exit waits for the process and returns how it ended, which must be known.
func (p *proc) exit(ctx context.Context) backend.ExitError {
	p.t.Helper()
	err := p.Wait(ctx)
	if err == nil {
		return backend.ExitError{}
	}
	var exit *backend.ExitError
	if !errors.As(err, &exit) {
		p.t.Fatalf("wait: %v; stdout %.500q, stderr %.2000q", err, p.out, p.err)
	}
	return *exit
}

// output runs cmd to its end and returns what it printed.
func (e *env) output(ctx context.Context, cmd backend.Cmd) string {
	e.Helper()
	p := e.start(ctx, cmd)
	p.wait(ctx)
	return p.out.String()
}

// wantGone fails the test if a process of the case lives, as b sees it.
func (e *env) wantGone(ctx context.Context, b backend.Backend) {
	e.Helper()
	if left := e.living(ctx, b); left != "" {
		e.Fatalf("still there:\n%s", left)
	}
}

// awaitGone waits until no process of the case lives, as b sees it.
func (e *env) awaitGone(ctx context.Context, b backend.Backend) {
	e.Helper()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for left := e.living(ctx, b); left != ""; left = e.living(ctx, b) {
		select {
		case <-poll.C:
		case <-ctx.Done():
			e.Fatalf("still there:\n%s", left)
		}
	}
}

// living lists the processes that carry the case's mark, as b sees them; a zombie does not.
func (e *env) living(ctx context.Context, b backend.Backend) string {
	e.Helper()
	look := &env{TB: e.TB, Backend: b, mark: "looking"}
	return look.output(ctx, look.script("living.py", markName+"="+e.mark))
}

// scratch returns the name of a file in the scratch directory.
func (e *env) scratch(name string) string { return e.Info().Scratch + "/" + name }

// put writes a file.
func (e *env) put(ctx context.Context, name, text string, mode int) {
	e.Helper()
	if err := e.Put(ctx, name, strings.NewReader(text), perm(mode)); err != nil {
		e.Fatalf("put %.100q: %v", name, err)
	}
}

// get reads a file.
func (e *env) get(ctx context.Context, name string) string {
	e.Helper()
	r, err := e.Get(ctx, name)
	if err != nil {
		e.Fatalf("get %.100q: %v", name, err)
	}
	text, err := io.ReadAll(r)
	if cerr := r.Close(); err != nil || cerr != nil {
		e.Fatalf("read %.100q: %v, close: %v", name, err, cerr)
	}
	return string(text)
}

// wantErr fails the test unless err wraps one of wanted.
func (e *env) wantErr(what string, err error, wanted ...error) {
	e.Helper()
	for _, want := range wanted {
		if errors.Is(err, want) {
			return
		}
	}
	e.Errorf("%s: got %v, want %v", what, err, wanted)
}

// buffer keeps what is written to it and can be waited on. The zero value is empty.
type buffer struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// await waits until the buffer contains text.
func (b *buffer) await(ctx context.Context, text string) error {
	for {
		found, changed := b.look(text)
		if found {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if found, _ := b.look(text); found {
				return nil
			}
			return context.Cause(ctx)
		}
	}
}

// look tells whether the buffer contains text, and returns what is closed at the next change.
func (b *buffer) look(text string) (bool, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return bytes.Contains(b.text.Bytes(), []byte(text)), b.changed
}
