package guest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/fields"
)

// controlWait is how long control messages may take to be read when their process has been killed,
// and again when it has ended.
const controlWait = 2 * time.Second

// process is one process of the guest. It implements backend.Process and stream.
type process struct {
	g   *Guest
	id  uint32
	cmd backend.Cmd
	to  Redirect

	in      [channels]*inbox  // stdout, stderr and control; nil where there is none
	out     [channels]*outbox // stdin and control
	output  sync.WaitGroup    // the goroutines that write to the caller's writers
	started chan error        // one value: nil once it runs
	over    chan struct{}     // closed at EXIT, FAILED or a lost link: nothing more comes
	done    chan struct{}     // closed when all output is written, too

	ended   chan struct{} // closed at ENDED, or with over
	leaving sync.Once

	// Written before ended is closed.
	fate      error
	survivors []string

	// Written before over is closed.
	err            error
	stdout, stderr backend.Counts

	writing  sync.Mutex
	writeErr error // the first error of the caller's writers
}

// Redirect names FIFOs of the environment, which have a reader, that a process's output goes to past
// the agent; "" leaves it with the agent.
type Redirect struct{ Stdout, Stderr string }

// Start starts cmd in the environment.
func (g *Guest) Start(ctx context.Context, cmd backend.Cmd) (backend.Process, error) {
	return g.StartTo(ctx, cmd, Redirect{})
}

// StartTo starts cmd with its output redirected. Output that is gets neither to cmd's writers nor
// into the counts; the caller sees to both, and to the order of output and control.
func (g *Guest) StartTo(ctx context.Context, cmd backend.Cmd, to Redirect) (backend.Process, error) {
	if err := check(cmd); err != nil {
		return nil, g.wrap("start", err)
	}
	if ctx.Err() != nil { // or it could run for a moment
		return nil, g.wrap("start "+cmd.Args[0], context.Cause(ctx))
	}
	if cmd.Dir == "" {
		cmd.Dir = g.info.Dir
	}
	p := &process{
		g: g, cmd: cmd, to: to, started: make(chan error, 1),
		ended: make(chan struct{}), over: make(chan struct{}), done: make(chan struct{}),
	}
	op := "start " + cmd.Args[0]
	if err := g.open(ctx, kindStart, p.encode(), p.register); err != nil {
		if p.id != 0 {
			g.outputs.Done() // there will be none
		}
		return nil, g.wrap(op, err)
	}
	p.flow()
	select {
	case err := <-p.started:
		if err != nil {
			<-p.done
			return nil, g.wrap(startOp(op, cmd.Dir, err), backend.Exhausted(err))
		}
		return p, nil
	case <-ctx.Done():
		// It may run by now, or soon: nobody will ask for it again.
		g.work.Go(p.disown)
		return nil, g.wrap(op, context.Cause(ctx))
	}
}

// check refuses what no system can start.
func check(cmd backend.Cmd) error {
	if len(cmd.Args) == 0 {
		return errors.New("no command")
	}
	for _, arg := range cmd.Args {
		if strings.ContainsRune(arg, 0) {
			return fmt.Errorf("%w: an argument with a NUL byte", fs.ErrInvalid)
		}
	}
	for name, value := range cmd.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return fmt.Errorf("%w: variable %q", fs.ErrInvalid, name)
		}
	}
	return nil
}

// startOp names the directory in place of the program where that is what is missing.
func startOp(op, dir string, err error) string {
	if remote := (*remoteError)(nil); errors.As(err, &remote) && remote.op == "chdir" {
		return op + " in " + dir
	}
	return op
}

func (g *Guest) wrap(op string, err error) error {
	return &backend.Error{Backend: g.opt.Name, Op: op, Err: err}
}

func (p *process) register(id uint32) stream {
	p.id = id
	p.g.outputs.Add(1) // here, where the link is known to be up, so that Close does not miss it
	p.in[chanStdout] = newInbox(p.g, id, chanStdout)
	if !p.cmd.Merged() {
		p.in[chanStderr] = newInbox(p.g, id, chanStderr)
	}
	if p.cmd.Control != nil {
		p.in[chanControl] = newInbox(p.g, id, chanControl)
		p.out[chanControl] = newOutbox(p.g, id, chanControl)
	}
	if p.cmd.Stdin != nil {
		p.out[chanStdin] = newOutbox(p.g, id, chanStdin)
	}
	return p
}

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
	deliver := func() {
		if err := in.copyTo(w); err != nil {
			p.writing.Lock()
			defer p.writing.Unlock()
			if p.writeErr == nil {
				p.writeErr = err
			}
		}
	}
	p.output.Go(deliver)
}

func (p *process) feed(channel byte, r io.Reader) {
	// An error ends the stream as its end does: the process cannot tell, whoever supplied r can.
	_, _ = io.CopyBuffer(struct{ io.Writer }{p.out[channel]}, struct{ io.Reader }{r}, make([]byte, piece))
	_ = p.g.send(kindEOF, channel, p.id, nil)
}

// frame is called by the link's reader.
func (p *process) frame(k kind, channel byte, payload []byte) error {
	switch k {
	case kindStarted:
		select {
		case p.started <- nil:
		default:
		}
	case kindFailed:
		p.finish(failure(payload))
	case kindEnded:
		f, err := fields.Parse(payload)
		if err != nil {
			return err
		}
		p.leave(fate(f), f["survivor"])
	case kindExit:
		f, err := fields.Parse(payload)
		if err != nil {
			return err
		}
		p.exited(f)
	case kindData:
		if in := at(p.in[:], channel); in != nil {
			return in.push(parcel{payload, p.before(channel)})
		}
	case kindCredit:
		if out := at(p.out[:], channel); out != nil {
			out.grant(payload)
		}
	}
	return nil
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
		p.in[chanStdout].waitFor(stdout)
		if p.in[chanStderr] != nil {
			p.in[chanStderr].waitFor(stderr)
		}
	}
}

// at is a slice access by an index that the guest chose.
func at[T any](list []*T, i byte) *T {
	if int(i) >= len(list) {
		return nil
	}
	return list[i]
}

func (p *process) exited(f fields.Fields) {
	p.stdout = p.counts(f, "stdout", p.cmd.Stdout)
	p.stderr = p.counts(f, "stderr", p.cmd.Stderr)
	p.leave(fate(f), f["survivor"])
	p.finish(p.fate)
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

func (p *process) lost(err error) {
	select {
	case <-p.over:
	default:
		p.finish(err)
	}
}

// finish is called once, by the link's reader or when the link is lost.
func (p *process) finish(err error) {
	p.g.forget(p.id)
	p.err = err
	p.leave(err, nil)
	select {
	case p.started <- err:
	default:
	}
	end := io.EOF
	for _, in := range p.in {
		if in != nil {
			in.end(end)
		}
	}
	for _, out := range p.out {
		if out != nil {
			out.end(io.ErrClosedPipe)
		}
	}
	close(p.over)
}

// disown kills a process whose Start was given up.
func (p *process) disown() {
	select {
	case err := <-p.started:
		if err == nil {
			_ = p.Signal(context.Background(), backend.Kill)
		}
	case <-p.over:
	}
}

// Signal sends sig to the process and its descendants.
func (p *process) Signal(ctx context.Context, sig backend.Signal) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	err := p.g.sendUntil(ctx.Done(), kindSignal, 0, p.id, binary.BigEndian.AppendUint32(nil, uint32(sig)))
	if errors.Is(err, errGivenUp) {
		return context.Cause(ctx)
	}
	if err != nil {
		return p.g.wrap(fmt.Sprintf("signal %d", sig), err)
	}
	if sig == backend.Kill && p.cmd.Control != nil {
		p.g.work.Go(p.abandonControl)
	}
	return nil
}

// abandonControl closes the control stream of a killed process if its end does not come: the end
// waits until control messages are taken, and whoever kills may have stopped to take them.
func (p *process) abandonControl() {
	if !waitFor(p.over, controlWait) {
		_ = p.cmd.Control.Close()
	}
}

// waitFor waits until done is closed, but not longer than limit. It tells whether done is.
func waitFor(done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// Wait waits for the end of the process and of its output.
func (p *process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
	default:
		select {
		case <-p.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	if p.err == nil && p.writeErr != nil {
		return fmt.Errorf("write output: %w", p.writeErr)
	}
	return p.err
}

// Ended is closed when the process has ended.
func (p *process) Ended() <-chan struct{} { return p.ended }

// Exit tells how it ended.
func (p *process) Exit() error {
	<-p.ended
	return p.fate
}

// Output returns the exact counts, which are known when all output has come.
func (p *process) Output() (stdout, stderr backend.Counts) {
	select {
	case <-p.over:
		return p.stdout, p.stderr
	default:
		return backend.Counts{}, backend.Counts{}
	}
}

// Survivors names what could not be ended.
func (p *process) Survivors() []string {
	<-p.ended
	return p.survivors
}
