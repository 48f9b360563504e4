package guest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/fields"
)

// controlWait is how long control messages may take to be read when their process has been killed,
// and again when it has ended.
const controlWait = 2 * time.Second

var _ backend.Process = (*process)(nil)

// process is one process of the guest.
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

	asking  sync.Once
	killing sync.Once
	asked   question      // by the first signal
	ended   chan struct{} // closed at ENDED, or with over
	leaving sync.Once

	finishing sync.Once // closes over

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

// AskLogin runs a command by the login shell of the agent's user, in the agent's own environment, and returns
// what it printed, as far as the limit at its beginning and its end.
func (g *Guest) AskLogin(ctx context.Context, command string, limit int64) (string, error) {
	var out bytes.Buffer
	cmd := backend.Cmd{Args: []string{"-c", command}, Dir: "/", Stdout: &out, Keep: &backend.Keep{Head: limit, Tail: limit}}
	_, err := backend.Run(ctx, asLogin{g}, cmd, nil)
	return out.String(), err
}

// asLogin starts commands by the login shell, whose first arguments they lack.
type asLogin struct{ g *Guest }

func (a asLogin) Start(ctx context.Context, cmd backend.Cmd) (backend.Process, error) {
	return a.g.start(ctx, cmd, Redirect{}, fields.AppendInt(nil, "login", 1))
}

// StartTo starts cmd with its output redirected. Output that is gets neither to cmd's writers nor
// into the counts; the caller sees to both, and to the order of output and control.
func (g *Guest) StartTo(ctx context.Context, cmd backend.Cmd, to Redirect) (backend.Process, error) {
	return g.start(ctx, cmd, to, nil)
}

// start is StartTo with more for the agent to heed.
func (g *Guest) start(ctx context.Context, cmd backend.Cmd, to Redirect, more []byte) (backend.Process, error) {
	if err := cmd.Check(); err != nil {
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
	files, err := g.sendFiles(ctx, cmd.Files)
	if err != nil {
		return nil, err
	}
	defer files.over()
	if err := g.open(ctx, kindStart, slices.Concat(p.encode(), files.after(), more), p.register); err != nil {
		if p.id != 0 {
			g.outputs.Done() // there will be none
		}
		return nil, g.wrap(op, err)
	}
	p.flow()
	told, err := p.begun(ctx)
	switch {
	case !told: // it may run soon: nobody will ask for it again
		g.work.Go(p.disown)
		return nil, g.wrap(op, context.Cause(ctx))
	case err != nil:
		<-p.done
		if failed := files.failed(); failed != nil {
			return nil, failed
		}
		return nil, g.wrap(startOp(op, cmd.Dir, err), backend.Exhausted(err))
	}
	return p, nil
}

// begunWait is how much longer than its context a start waits for the agent's word of it.
const begunWait = time.Second

// begun waits for the agent's word of a start. That may be on its way when ctx ends: then the process is the
// caller's to end, as gently as it wants, and has not ended before it began.
func (p *process) begun(ctx context.Context) (told bool, err error) {
	select {
	case err := <-p.started:
		return true, err
	case <-ctx.Done():
	}
	timer := time.NewTimer(begunWait)
	defer timer.Stop()
	select {
	case err := <-p.started:
		return true, err
	case <-timer.C:
		return false, nil
	}
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
	p.g.lingers = p.g.lingers || p.cmd.Linger // the caller has the lock
	p.g.outputs.Add(1)                        // here, where the link is known to be up, so that Close does not miss it
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

// frame is called by the link's reader.
func (p *process) frame(k kind, channel byte, payload []byte) error {
	switch k {
	case kindStarted:
		select {
		case p.started <- nil:
		default:
		}
	case kindFailed:
		p.finish(failure(payload), backend.Counts{}, backend.Counts{})
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

// at is a slice access by an index that the guest chose.
func at[T any](list []*T, i byte) *T {
	if int(i) >= len(list) {
		return nil
	}
	return list[i]
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
	p.asking.Do(func() { p.asked = p.ask() })
	if sig == backend.Kill {
		p.killing.Do(func() { p.g.begin(p.insist) })
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

// An agent that is to kill a process may be silent for silentWait in all, and for lastWait after a Kill: its
// word may be on its way, or lie unread because this process itself was stopped.
const (
	silentWait = 4 * time.Second
	lastWait   = time.Second
)

// question is one to the agent, whose answer is whatever it says next.
type question struct {
	at     time.Time
	before int64 // what was heard until then
}

// ask has the agent say something if it can, so that a Kill which comes later finds out at once whether
// it does.
func (p *process) ask() question {
	q := question{time.Now(), p.g.heard.Load()}
	p.g.begin(func() { _ = p.g.sendUntil(p.ended, kindPing, 0, 0, make([]byte, 4)) })
	return q
}

// insist gives up an agent that does not get to a Kill and has not said anything else either since it was
// asked: it was stopped, by user code or with all of its environment, or the link froze. Letting it go ends
// everything.
func (p *process) insist() {
	q := p.asked
	if p.g.heard.Load() != q.before {
		q = p.ask()
	}
	if !waitFor(p.ended, max(silentWait-time.Since(q.at), lastWait)) && p.g.heard.Load() == q.before {
		p.g.Abandon()
	}
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
