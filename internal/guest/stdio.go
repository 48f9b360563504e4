package guest

import (
	"io"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/fields"
)

func (p *process) encode() []byte {
	cmd := p.cmd
	var b []byte
	for _, arg := range cmd.Args {
		b = fields.Append(b, "arg", arg)
	}
	for name, value := range cmd.Env {
		b = fields.Append(b, "env", name+"="+value)
	}
	b = fields.Append(b, "dir", cmd.Dir)
	for name, on := range map[string]bool{
		"stdin": cmd.Stdin != nil, "merge": cmd.Merged(), "control": cmd.Control != nil, "linger": cmd.Linger,
	} {
		if on {
			b = fields.AppendInt(b, name, 1)
		}
	}
	for name, path := range map[string]string{"stdout_path": p.to.Stdout, "stderr_path": p.to.Stderr} {
		if path != "" {
			b = fields.Append(b, name, path)
		}
	}
	b = appendKeep(b, "stdout", cmd.Stdout, cmd.Keep)
	return appendKeep(b, "stderr", cmd.Stderr, cmd.Keep)
}

// appendKeep asks for nothing of a stream that nobody reads: it is only counted.
func appendKeep(b []byte, name string, w io.Writer, keep *backend.Keep) []byte {
	if w == nil {
		keep = &backend.Keep{}
	}
	if keep == nil {
		return b
	}
	b = fields.AppendInt(b, name+"_head", keep.Head)
	return fields.AppendInt(b, name+"_tail", keep.Tail)
}

// flow starts the goroutines that move data. Those that read from the caller end when their Read
// does, which nobody waits for.
func (p *process) flow() {
	p.deliver(chanStdout, p.cmd.Stdout)
	p.deliver(chanStderr, p.cmd.Stderr)
	controlled := make(chan struct{})
	if p.cmd.Control != nil {
		p.output.Go(func() {
			defer close(controlled)
			_ = p.in[chanControl].copyTo(p.cmd.Control) // whoever reads at its other end has closed that
		})
		go p.feed(chanControl, p.cmd.Control)
	}
	if p.cmd.Stdin != nil {
		go p.feed(chanStdin, p.cmd.Stdin)
	}
	go func() {
		defer p.g.outputs.Done()
		<-p.over
		if p.cmd.Control != nil {
			waitFor(controlled, controlWait) // for the last words
			_ = p.cmd.Control.Close()
		}
		p.output.Wait()
		close(p.done)
	}()
}

func (p *process) deliver(channel byte, w io.Writer) {
	in := p.in[channel]
	if in == nil {
		return
	}
	if w == nil {
		w = io.Discard
	}
	p.output.Go(func() {
		if err := in.copyTo(w); err != nil {
			p.writing.Lock()
			defer p.writing.Unlock()
			if p.writeErr == nil {
				p.writeErr = err
			}
		}
	})
}

func (p *process) feed(channel byte, r io.Reader) {
	// An error ends the stream as its end does: the process cannot tell, whoever supplied r can.
	_, _ = io.CopyBuffer(struct{ io.Writer }{p.out[channel]}, struct{ io.Reader }{r}, make([]byte, piece))
	_ = p.g.send(kindEOF, channel, p.id, nil)
}

// before returns what a control message has to wait for: that the output which came before it has
// reached its writers.
func (p *process) before(channel byte) func() {
	if channel != chanControl {
		return nil
	}
	stdout, stderr := p.in[chanStdout].mark(), int64(0)
	if p.in[chanStderr] != nil {
		stderr = p.in[chanStderr].mark()
	}
	return func() {
		p.in[chanStdout].await(stdout)
		if p.in[chanStderr] != nil {
			p.in[chanStderr].await(stderr)
		}
	}
}
