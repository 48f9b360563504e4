package guest

import (
	"errors"
	"io"
	"os/exec"

	"github.com/hermes-exec/hermes-exec/internal/keep"
)

// Pipes are the stdio of an agent that is a child of this process: a Link but for its Close, which is
// the business of whoever knows how the child ends.
type Pipes struct {
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr keep.Last
}

// Start starts cmd, the agent, with its stdio on p. Cmd.Wait closes what is open of p then.
func (p *Pipes) Start(cmd *exec.Cmd) (err error) {
	cmd.Stderr = &p.stderr
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if p.stdout, err = cmd.StdoutPipe(); err != nil {
		return errors.Join(err, p.stdin.Close())
	}
	return cmd.Start()
}

// Read reads from the agent's stdout.
func (p *Pipes) Read(b []byte) (int, error) { return p.stdout.Read(b) }

// Write writes to the agent's stdin.
func (p *Pipes) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// CloseRead takes no more of the agent's stdout.
func (p *Pipes) CloseRead() error { return p.stdout.Close() }

// CloseWrite ends the agent's stdin, and the agent with it.
func (p *Pipes) CloseWrite() error { return p.stdin.Close() }

// Said is the end of what was printed on the agent's stderr.
func (p *Pipes) Said() string { return p.stderr.String() }
