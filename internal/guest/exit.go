package guest

import (
	"fmt"
	"io"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/fields"
)

func (p *process) exited(f fields.Fields) {
	p.leave(fate(f), f["survivor"])
	p.finish(p.fate, p.counts(f, "stdout", p.cmd.Stdout), p.counts(f, "stderr", p.cmd.Stderr))
}

// leave says that the process is gone. The first word counts.
func (p *process) leave(fate error, survivors []string) {
	p.leaving.Do(func() {
		p.fate, p.survivors = fate, survivors
		close(p.ended)
	})
}

// fate is how a process ended.
func fate(f fields.Fields) error {
	exit := &backend.ExitError{Code: int(f.Int("code")), OOMKilled: f.Int("oom") == 1}
	if sig := f.Int("signal"); sig != 0 {
		exit.Code, exit.Signal = -int(sig), backend.Signal(sig)
	}
	switch {
	case exit.Code != 0:
		return exit
	case f.Text("code") == "0":
		return nil
	case exit.OOMKilled: // its supervisor was, and then it by the agent
		return &backend.ExitError{Code: -int(backend.Kill), Signal: backend.Kill, OOMKilled: true}
	default:
		return fmt.Errorf("%w: its supervisor was killed", backend.ErrNoExitStatus)
	}
}

// counts corrects what appendKeep asked for: a stream that nobody reads lacks only what Keep would
// have left out.
func (p *process) counts(f fields.Fields, name string, w io.Writer) backend.Counts {
	c := backend.Counts{Total: f.Int(name + "_total"), Omitted: f.Int(name + "_omitted")}
	switch {
	case w != nil:
	case p.cmd.Keep == nil:
		c.Omitted = 0
	default:
		head := min(c.Total, p.cmd.Keep.Head)
		c.Omitted = max(0, c.Total-head-p.cmd.Keep.Tail)
	}
	return c
}

func (p *process) lost(err error) { p.finish(err, backend.Counts{}, backend.Counts{}) }

// finish says that nothing more comes. The first word counts: the link may be lost, or closed, while its
// reader hands out the last of what came.
func (p *process) finish(err error, stdout, stderr backend.Counts) {
	p.finishing.Do(func() {
		p.g.forget(p.id)
		p.err, p.stdout, p.stderr = err, stdout, stderr
		p.leave(err, nil)
		select {
		case p.started <- err:
		default:
		}
		for _, in := range p.in {
			if in != nil {
				in.end(io.EOF)
			}
		}
		for _, out := range p.out {
			if out != nil {
				out.end(io.ErrClosedPipe)
			}
		}
		close(p.over)
	})
}
