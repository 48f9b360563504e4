package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hermes-exec/hermes-exec/backend"
)

// nativeProcess is a process that this one has started.
type nativeProcess struct {
	n    *Native
	cmd  backend.Cmd
	exec *exec.Cmd
	tree *tree

	stdin          *os.File // our end; nil: there is none
	stdout, stderr *stream  // both writers are equal: stderr is nil

	ended chan struct{} // closed when it and its descendants have ended
	done  chan struct{} // closed when its output is written, too

	// Written before ended is closed.
	fate      error
	survivors []string

	err error // valid when done is closed
}

var _ backend.Process = (*nativeProcess)(nil)

// errNoControl is what Start answers to who wants a control stream.
var errNoControl = fmt.Errorf("%w: without a guest agent nothing carries a control stream", errors.ErrUnsupported)

// Start starts cmd; an empty Dir is the environment's.
func (n *Native) Start(ctx context.Context, cmd backend.Cmd) (backend.Process, error) {
	if err := cmd.Check(); err != nil {
		return nil, wrap("start", err)
	}
	op := "start " + cmd.Args[0]
	if cmd.Dir == "" {
		cmd.Dir = n.info.Dir
	}
	switch {
	case ctx.Err() != nil:
		return nil, wrap(op, context.Cause(ctx))
	case n.err() != nil:
		return nil, wrap(op, n.err())
	case cmd.Control != nil:
		return nil, wrap(op, errNoControl)
	}
	cmd, err := cmd.PutFiles(ctx, n.Put)
	if err != nil {
		return nil, err
	}
	if err := usable(filepath.FromSlash(cmd.Dir)); err != nil { // a file may have made it
		return nil, wrap(op+" in "+cmd.Dir, bare(err))
	}
	p := &nativeProcess{n: n, cmd: cmd, ended: make(chan struct{}), done: make(chan struct{})}
	if err := p.start(); err != nil {
		return nil, wrap(op, backend.Exhausted(err))
	}
	return p, nil
}

// start starts the process, unless the environment is closed.
func (p *nativeProcess) start() (err error) {
	program, err := program(runtime.GOOS, p.cmd)
	if err != nil {
		return err
	}
	p.exec = &exec.Cmd{Path: program, Args: p.cmd.Args, Env: list(p.cmd.Env), Dir: filepath.FromSlash(p.cmd.Dir)}
	if p.tree, err = newTree(p.exec); err != nil {
		return err
	}
	if err = p.connect(); err == nil {
		err = p.launch()
	}
	if err != nil {
		p.tree.release()
		p.disconnect()
		return err
	}
	return nil
}

// launch is the moment of the start: an environment that is being closed waits for it, or refuses it.
func (p *nativeProcess) launch() error {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	if p.n.closed {
		return net.ErrClosed
	}
	if err := p.exec.Start(); err != nil {
		return startError(err)
	}
	if err := p.tree.adopt(p.exec.Process); err != nil {
		_ = p.exec.Process.Kill()
		_ = p.exec.Wait()
		return fmt.Errorf("take hold of the process: %w", err)
	}
	p.n.trees[p.tree] = struct{}{}
	p.n.work.Add(1)
	p.flow()
	return nil
}

// startError says of an error of the system which of the contract's it is.
func startError(err error) error {
	if notExecutable(err) && !errors.Is(err, backend.ErrNotExecutable) {
		return fmt.Errorf("%w: %w", backend.ErrNotExecutable, bare(err))
	}
	return err
}

// list is an environment as exec has it. It is never nil, which would be that of hermes-exec itself. On
// Windows exec adds SYSTEMROOT, without which little starts.
func list(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}

// connect makes the pipes. A process without a stdin gets the null device.
func (p *nativeProcess) connect() (err error) {
	if p.stdout, err = newStream(p.cmd.Stdout, p.cmd.Keep); err != nil {
		return err
	}
	p.exec.Stdout, p.exec.Stderr = p.stdout.w, p.stdout.w
	if !p.cmd.Merged() {
		if p.stderr, err = newStream(p.cmd.Stderr, p.cmd.Keep); err != nil {
			return err
		}
		p.exec.Stderr = p.stderr.w
	}
	if p.cmd.Stdin != nil {
		var theirs *os.File
		if theirs, p.stdin, err = os.Pipe(); err != nil {
			return err
		}
		p.exec.Stdin = theirs
	}
	return nil
}

// disconnect closes the pipes of a process that has not started.
func (p *nativeProcess) disconnect() {
	for _, s := range p.streams() {
		_ = s.r.Close()
		_ = s.w.Close()
	}
	if p.stdin != nil {
		_ = p.stdin.Close()
	}
	p.closeTheirs()
}

// closeTheirs closes our copy of the process's end of its stdin.
func (p *nativeProcess) closeTheirs() {
	if theirs, ok := p.exec.Stdin.(*os.File); ok {
		_ = theirs.Close()
	}
}

func (p *nativeProcess) streams() []*stream {
	var list []*stream
	for _, s := range []*stream{p.stdout, p.stderr} {
		if s != nil {
			list = append(list, s)
		}
	}
	return list
}

// flow starts the goroutines that move data, and the one that waits for the end.
func (p *nativeProcess) flow() {
	p.closeTheirs()
	if p.stdin != nil {
		go func() { // ends when a Read of the caller's reader does, which nobody waits for
			_, _ = io.Copy(struct{ io.Writer }{p.stdin}, struct{ io.Reader }{p.cmd.Stdin})
			_ = p.stdin.Close()
		}()
	}
	for _, s := range p.streams() {
		_ = p.n.opened.Add(s) // it is open: that is closed after all processes have ended
		go s.read()
	}
	go p.wait()
}

// wait waits for the process, ends what it has left, and takes the rest of its output.
func (p *nativeProcess) wait() {
	_ = p.exec.Wait() // its error is told better by the state
	p.fate = p.tree.fate(p.exec.ProcessState)
	if !p.cmd.Linger {
		p.survivors = p.tree.end()
	}
	if p.cmd.Linger && !p.tree.empty() {
		p.tree.lingers.Store(true)
	} else {
		p.n.forget(p.tree)
	}
	close(p.ended)
	p.n.work.Done()
	p.n.forgetEmpty()
	if p.stdin != nil {
		_ = p.stdin.Close()
	}
	p.err = p.fate
	for _, s := range p.streams() {
		s.finish(func() { p.n.opened.Remove(s) })
		if p.err == nil && s.err != nil {
			p.err = fmt.Errorf("write output: %w", s.err)
		}
	}
	close(p.done)
}

// forgetEmpty lets those trees go whose last process has ended since the first one had.
func (n *Native) forgetEmpty() {
	for _, t := range n.living() {
		if t.lingers.Load() && t.empty() {
			n.forget(t)
		}
	}
}

// Signal sends sig to the process and its descendants.
func (p *nativeProcess) Signal(ctx context.Context, sig backend.Signal) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := p.tree.signal(sig); err != nil {
		return wrap(fmt.Sprintf("signal %d", sig), err)
	}
	return nil
}

// Ended is closed when the process has ended.
func (p *nativeProcess) Ended() <-chan struct{} { return p.ended }

// Exit tells how it ended.
func (p *nativeProcess) Exit() error {
	<-p.ended
	return p.fate
}

// Wait waits for the end of the process and of its output.
func (p *nativeProcess) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	default:
	}
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Output returns the counts: exact after Wait, and what was read so far before that.
func (p *nativeProcess) Output() (stdout, stderr backend.Counts) {
	stdout = p.stdout.counted()
	if p.stderr != nil {
		stderr = p.stderr.counted()
	}
	return stdout, stderr
}

// Survivors names what could not be ended.
func (p *nativeProcess) Survivors() []string {
	<-p.ended
	return p.survivors
}

// program finds the file that a command starts, by the rules of that system.
func program(goos string, cmd backend.Cmd) (string, error) {
	name := cmd.Args[0]
	if goos == "windows" {
		return winProgram(name, cmd.Dir, cmd.Env, isFile)
	}
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(cmd.Dir, name)
		}
		return name, nil
	}
	if found := lookAll(name, cmd.Env["PATH"]); name != "" && len(found) > 0 {
		return found[0], nil
	}
	return "", fmt.Errorf("%w: it is not on PATH", fs.ErrNotExist)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
