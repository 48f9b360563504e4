package hermes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/kernel"
)

var errStdin = errors.New("a cell of a session has an empty stdin: --stdin is for runs of their own")

// session is one name and its state.
type session struct {
	set  *Sessions
	name string
	life context.Context //nolint:containedctx // the life of the session, ended by end
	over context.CancelCauseFunc

	// turn holds a token while a cell runs, or somebody changes the world. Senders are served in
	// the order in which they came.
	turn chan struct{}

	// Under the set's mu.
	users             int // cells that run or wait
	limit             int // how many kernels the last caller allows; 0: any number
	started, lastUsed time.Time
	timer             func() bool // stops the timer that ends the idle kernel; nil: none
	running           *running    // the cell that runs; nil: none does
	resetting         bool        // the state goes when that cell ends
	opening           bool        // a world is on its way
	world             *world      // nil: none; written by who has the turn, too
	backend, target   string      // where the world is, or was; "" if there was none
	spills            []string    // the full texts of earlier cells' outputs
	lost              Loss        // why the state is gone, until a cell has told it
	asked             bool        // a reset was asked for, until a cell has told it
}

// running is a cell that runs.
type running struct {
	ctx    context.Context //nolint:containedctx // tells whether the cell has been told to end
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when it has ended
	calls  []*session    // those in which programs of the cell run cells; under the set's mu
}

func newSession(set *Sessions, name string) *session {
	x := &session{set: set, name: name, turn: make(chan struct{}, 1), started: set.clock.Now()}
	x.life, x.over = context.WithCancelCause(context.Background())
	return x
}

// ending is why a session ends a cell.
type ending struct {
	loss Loss
	*kernel.Interrupt
}

// Unwrap makes it an interrupt.
func (e *ending) Unwrap() error { return e.Interrupt }

// wait takes the turn of a cell.
func (x *session) wait(ctx context.Context) error {
	select {
	case x.turn <- struct{}{}:
	case <-ctx.Done():
		return ended(ctx, fmt.Errorf("wait for the cell before: %w", context.Cause(ctx)))
	}
	if ctx.Err() != nil { // both were possible
		x.yield()
		return ended(ctx, context.Cause(ctx))
	}
	return nil
}

// tryTurn takes the turn if nobody has it.
func (x *session) tryTurn() bool {
	select {
	case x.turn <- struct{}{}:
		return true
	default:
		return false
	}
}

func (x *session) yield() { <-x.turn }

// begin makes a cell known to those who may want to end it, and returns the spills that it may read.
func (x *session) begin(ctx context.Context, cancel context.CancelCauseFunc, spills []string) []string {
	x.set.mu.Lock()
	defer x.set.mu.Unlock()
	x.running = &running{ctx: ctx, cancel: cancel, done: make(chan struct{})}
	return slices.Concat(spills, x.spills)
}

// halt ends the cell that runs, if one does, without a grace. One that has its grace already does not
// hear of this: kill ends it, and does nothing for others. The caller holds mu, and not when it calls
// kill.
func (x *session) halt(why *ending) (kill func()) {
	if x.running == nil {
		return func() {}
	}
	graced, w := x.running.ctx.Err() != nil, x.world
	x.running.cancel(why)
	if !graced || w == nil {
		return func() {}
	}
	return w.kill
}

// finish is the end of a cell. A reset that came while it ran is done by then.
func (x *session) finish() {
	x.set.mu.Lock()
	resetting, ended := x.resetting, x.running
	x.resetting, x.running = false, nil
	x.set.mu.Unlock()
	if resetting {
		x.reset()
	}
	close(ended.done)
}

// reset discards the state. The caller has the turn.
func (x *session) reset() {
	x.drop(LostReset)
	x.set.mu.Lock()
	defer x.set.mu.Unlock()
	x.asked = true
}

// reap ends a kernel that was idle for long enough.
func (x *session) reap() {
	if !x.tryTurn() {
		return
	}
	defer x.yield()
	x.set.mu.Lock()
	idle := x.users == 0
	x.set.mu.Unlock()
	if idle {
		x.drop(LostIdle)
	}
}

// stopTimer stops the idle timer. The caller holds mu.
func (x *session) stopTimer() {
	if x.timer != nil {
		x.timer()
		x.timer = nil
	}
}

// drop ends the world, and notes why state was lost if there was any. The caller has the turn.
func (x *session) drop(why Loss) {
	x.set.mu.Lock()
	w := x.world
	x.world = nil
	if w != nil && w.kernel.Load() != nil {
		x.lost = why
	}
	x.set.mu.Unlock()
	if w != nil {
		w.close()
	}
}

// end ends the session, which nobody can find any more, with what runs.
func (x *session) end(why string) {
	cause := &ending{LostInterrupted, &kernel.Interrupt{Reason: why, Kill: true}}
	x.set.mu.Lock()
	kill := x.halt(cause)
	x.set.mu.Unlock()
	x.over(cause) // for those that wait
	kill()
	x.turn <- struct{}{}
	defer x.yield()
	x.drop(LostReset)
	x.set.mu.Lock()
	defer x.set.mu.Unlock()
	x.stopTimer()
}

// info tells of the session. The caller holds mu.
func (x *session) info() SessionInfo {
	i := SessionInfo{
		Name: x.name, Backend: x.backend, Target: x.target,
		Busy: x.users > 0, Started: x.started, LastUsed: x.lastUsed,
	}
	if x.world != nil {
		if k := x.world.living(); k != nil {
			i.ExecutionCount, i.PID = k.Count(), k.PID()
		}
	}
	return i
}

// cell runs a cell whose turn it is.
func (x *session) cell(ctx context.Context, cancel context.CancelCauseFunc, o Options, r *run, reset bool) error {
	if reset {
		x.reset()
	}
	x.notice()
	err := x.attempt(ctx, cancel, o, r)
	if r.outcome == nil && x.lostWorld(r, err) && ctx.Err() == nil { // nothing of the cell has run
		x.drop(LostEnvironment)
		err = x.attempt(ctx, cancel, o, r)
	}
	if err != nil { // one that came to its end has, whatever ended at that moment
		err = ended(ctx, err)
	}
	x.account(r, err)
	if x.lostWorld(r, err) {
		x.drop(LostEnvironment)
	}
	return err
}

// lostWorld tells whether err says that the cell's world is gone, and not that it could not be
// opened: then there may be another, with state in it.
func (*session) lostWorld(r *run, err error) bool { return r.env != nil && gone(err) }

// gone tells whether err says that there is no environment any more.
func gone(err error) bool {
	return errors.Is(err, backend.ErrUnavailable) || errors.Is(err, errTransport) || errors.Is(err, net.ErrClosed)
}

// notice looks whether the kernel has ended since the last cell.
func (x *session) notice() {
	if x.world == nil {
		return
	}
	switch why := x.world.loss(); why {
	case "":
	case LostEnvironment:
		x.drop(why)
	default:
		x.world.kernel.Store(nil)
		x.lose(why)
	}
}

// lose notes that state is gone.
func (x *session) lose(why Loss) {
	x.set.mu.Lock()
	defer x.set.mu.Unlock()
	x.lost = why
}

// attempt runs the cell in the world that fits.
func (x *session) attempt(ctx context.Context, cancel context.CancelCauseFunc, o Options, r *run) error {
	w, err := x.ready(ctx, o)
	if err != nil {
		return err
	}
	defer context.AfterFunc(w.gone, func() { cancel(context.Cause(w.gone)) })()
	return w.run(ctx, o, r)
}

// ready returns the world for a cell. A new one is opened before another is given up for it: what
// cannot be opened costs no state.
func (x *session) ready(ctx context.Context, o Options) (*world, error) {
	if w := x.world; w != nil && w.fits(o) {
		return w, nil
	}
	x.open(true)
	defer x.open(false)
	x.set.trim(x)
	w, err := openWorld(ctx, o, x.set.log)
	if err != nil {
		return nil, err
	}
	x.drop(LostTarget)
	x.set.mu.Lock()
	defer x.set.mu.Unlock()
	x.world = w
	x.backend, x.target = w.env.Info().Name, w.env.Info().Target
	return w, nil
}

// open says whether a world is on its way.
func (x *session) open(is bool) {
	x.set.mu.Lock()
	defer x.set.mu.Unlock()
	x.opening = is
}

// account says what the cell found of the state and what it left. One that did not begin says nothing,
// and leaves it to the next. Err is why it did not end by itself.
func (x *session) account(r *run, err error) {
	o, state := r.outcome, r.session
	if o == nil {
		return
	}
	x.set.mu.Lock()
	defer x.set.mu.Unlock()
	if o.Lost != nil && x.lost == "" {
		x.lost = LostDied
	}
	state.StateReset, state.StateLost, state.Reason = x.asked, x.lost != "", x.lost
	if state.StateReset && !state.StateLost {
		state.Reason = LostReset
	}
	if state.StateLost && !state.StateReset {
		r.warnings = append(r.warnings, "the state of earlier cells is gone: "+state.Reason.before())
	}
	x.lost, x.asked = "", false
	if o.Fallback == "" {
		if k := x.world.kernel.Load(); k != nil {
			state.ExecutionCount = k.Count()
			state.Reused = k.Count() > 1
		}
		if o.Ended {
			x.world.kernel.Store(nil)
			x.lost = lossOf(err)
			state.StateLost, state.Reason = true, x.lost
			how := "has ended"
			if o.Unconfirmed {
				how = "was given up"
			}
			r.warnings = append(r.warnings, "the session's state is lost: its Python process "+how+" with this cell")
		}
	}
	state.Ended = x.world.living() == nil
}

// before says to a cell why the state was lost that earlier ones had made.
func (l Loss) before() string {
	texts := map[Loss]string{
		LostTimeout: "one of them ran out of time", LostInterrupted: "one of them was interrupted",
		LostReset: "the session was reset", LostIdle: "the session was idle for too long",
		LostEvicted: "other sessions needed the room", LostDied: "the session's Python process died",
		LostTarget:      "another interpreter, backend or target is asked for",
		LostEnvironment: "the session's environment ended", LostServer: "the server that kept the session ended",
	}
	return texts[l]
}

// lossOf is why a kernel ended in a cell that err ended.
func lossOf(err error) Loss {
	by := (*ending)(nil)
	switch kind := kindOf(err); {
	case err == nil:
		return LostDied
	case errors.As(err, &by):
		return by.loss
	case kind == KindTimeout:
		return LostTimeout
	case kind == KindInterrupted:
		return LostInterrupted
	case gone(err):
		return LostEnvironment
	default:
		return LostDied
	}
}
