package hermes

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-exec/hermes-exec/kernel"
)

// Sessions are the named sessions of one process. A session is a Python that lives between calls:
// variables, imports and loaded data of one cell are there for the next. It is safe for concurrent
// use; cells of one session run one after another, those of different ones at the same time.
//
// No two sessions share anything: each has an environment, an endpoint and a kernel of its own.
type Sessions struct {
	log    *slog.Logger
	clock  clock
	tools  toolsets
	ending sync.WaitGroup // of Close
	runs   sync.WaitGroup // cells that run or wait

	mu     sync.Mutex // guards what sessions say is under it, too
	closed bool
	byName map[string]*session
}

// SessionInfo tells of one session.
type SessionInfo struct {
	Name           string
	Backend        string // of its environment, also of one that is gone; "" if this process has opened none
	Target         string // what that is: a directory, an image, user@host
	Busy           bool   // a cell runs, or waits for its turn
	ExecutionCount int    // the cells that the living kernel has begun; 0 if there is none
	PID            int    // of the kernel, in its environment; 0 if there is none
	Started        time.Time
	LastUsed       time.Time // the beginning or the end of a cell, whichever was last
}

// NewSessions returns an empty set. A nil log is silent.
func NewSessions(log *slog.Logger) *Sessions {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Sessions{log: log, clock: realClock{}, byName: map[string]*session{}}
}

// Run runs one cell of the session called name, which it opens when there is none, and always
// returns a result. Its code is that of script, also of a FILE; its stdin is empty. What o says
// holds for this cell alone, but for what a kernel cannot change while it lives: its environment,
// which stays what it was at its start. Another interpreter, backend or target is another state.
// Reset discards the state first.
//
// Ctx ends the cell as it ends Env.Run, and with it the kernel: Result.Kernel says what was lost and
// why. The time that the cell waits for another of the session counts against its timeout.
func (s *Sessions) Run(ctx context.Context, name string, o Options, script Script, reset bool) *Result {
	start := time.Now()
	r := &run{
		script: script, start: start, emitter: newEmitter(start, script.Events),
		session: &KernelState{Session: name},
	}
	r.emitter.emit(Event{Type: EventStart})
	result := r.conclude(o, s.cell(ctx, name, o, r, reset))
	s.remember(name, append(r.kept.written(), result.StdoutSpillPath)...)
	r.emitter.result(result)
	return result
}

// cell waits for the cell's turn and runs it. An error means that it did not end by itself.
func (s *Sessions) cell(ctx context.Context, name string, o Options, r *run, reset bool) (err error) {
	ctx, expire := context.WithTimeoutCause(ctx, o.Settings.Timeout, &timeoutError{o.Settings.Timeout})
	defer expire()
	if r.source, err = readSource(r.script, o.Dir, false); err != nil {
		return err
	}
	if r.script.Stdin != nil {
		return usageError{errStdin}
	}
	t, err := s.tools.get(o)
	if err != nil {
		return err
	}
	r.terms = newTerms(o, t)
	x, by, err := s.enter(name, o)
	if err != nil {
		return err
	}
	defer s.leave(x, by, o)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, r.emitter.end)()
	defer context.AfterFunc(x.life, func() { cancel(context.Cause(x.life)) })()
	if err := x.wait(ctx); err != nil {
		return err
	}
	defer x.yield()
	r.script.Spills = x.begin(ctx, cancel, r.script.Spills)
	defer x.finish()
	return x.cell(ctx, cancel, o, r, reset)
}

// conclude makes the result of a cell. Err is why it did not end by itself.
func (r *run) conclude(o Options, err error) *Result {
	if r.env != nil {
		return r.result(err)
	}
	res := Failed(err)
	res.Kernel = r.session
	warnings := o.Warnings
	if res.Status != Failure {
		warnings = append(slices.Clone(warnings), "the cell did not begin: it waited for its turn, or for its environment")
	}
	res.Warning, res.Hint = strings.Join(warnings, "\n"), o.limits(err)
	res.Duration = Seconds(time.Since(r.start).Seconds())
	return res
}

// enter finds or makes a session and counts a cell in. By is the cell that calls, nil if none does.
func (s *Sessions) enter(name string, o Options) (x *session, by *running, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, fmt.Errorf("session %s: %w", name, net.ErrClosed)
	}
	x, by = s.find(name), s.caller(o)
	if err := by.call(x); err != nil {
		return nil, nil, err
	}
	x.users++
	x.limit = o.Settings.MaxSessionKernels
	x.lastUsed = s.clock.Now()
	x.stopTimer()
	s.runs.Add(1)
	return x, by, nil
}

// remember has later cells of a session read files with full texts; "" is none.
func (s *Sessions) remember(name string, spills ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.byName[name]
	if x == nil {
		return
	}
	for _, spill := range spills {
		if spill != "" && !slices.Contains(x.spills, spill) {
			x.spills = append(x.spills, spill)
		}
	}
}

// find returns the session of that name, a new one if need be. The caller holds mu.
func (s *Sessions) find(name string) *session {
	x := s.byName[name]
	if x == nil {
		x = newSession(s, name)
		s.byName[name] = x
	}
	return x
}

// leave counts a cell out. The last one sets the time from which the session is idle, and takes the
// name with it if no environment could be opened and there is nothing to tell.
func (s *Sessions) leave(x *session, by *running, o Options) {
	defer s.runs.Done()
	s.mu.Lock()
	by.returned(x)
	x.users--
	x.lastUsed = s.clock.Now()
	if x.users == 0 && x.backend == "" && x.lost == "" && s.byName[x.name] == x {
		delete(s.byName, x.name)
	}
	if idle := o.Settings.KernelIdleTimeout; x.users == 0 && x.world != nil && idle > 0 && !s.closed {
		x.stopTimer()
		x.timer = s.clock.AfterFunc(idle, x.reap)
	}
	s.mu.Unlock()
	s.trim(x)
}

// trim ends the kernels that were least recently used until no more are left than may be. Busy ones
// are spared, and that of the session which was used just now, also if then there are more: a kernel
// that had to be one too many lives until another one is idle.
func (s *Sessions) trim(now *session) {
	for _, x := range s.surplus(now) {
		s.log.Info("session evicted", "session", x.name)
		x.drop(LostEvicted)
		x.yield()
	}
}

// surplus are the sessions to evict. The caller has the turn of each.
func (s *Sessions) surplus(now *session) []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var idle, victims []*session
	live, limit := 0, 0
	for _, x := range s.byName {
		if x.world == nil && !x.opening {
			continue
		}
		if x.limit <= 0 {
			return nil
		}
		live++
		limit = max(limit, x.limit) // whoever allows fewer must not end what others keep
		if x.world != nil && x.users == 0 && x != now {
			idle = append(idle, x)
		}
	}
	slices.SortFunc(idle, func(a, b *session) int { return a.lastUsed.Compare(b.lastUsed) })
	for _, x := range idle {
		if live > limit && x.tryTurn() {
			victims = append(victims, x)
			live--
		}
	}
	return victims
}

// List tells of the sessions, in the order of their names.
func (s *Sessions) List() []SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]SessionInfo, 0, len(s.byName))
	for _, x := range s.byName {
		list = append(list, x.info())
	}
	slices.SortFunc(list, func(a, b SessionInfo) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Reset ends the kernel of a session, also under a cell that runs, and returns when it is gone. The
// next cell starts afresh and says so. It tells whether there is such a session.
func (s *Sessions) Reset(name string) bool {
	s.mu.Lock()
	x := s.byName[name]
	if x == nil {
		s.mu.Unlock()
		return false
	}
	if cell := x.running; cell != nil {
		x.resetting = true // whether or not the cell comes to its end before it hears of it
		kill := x.halt(&ending{LostReset, &kernel.Interrupt{Reason: "the session was reset", Kill: true}})
		s.mu.Unlock()
		kill()
		<-cell.done
		return true
	}
	s.mu.Unlock()
	x.turn <- struct{}{}
	defer x.yield()
	x.reset()
	return true
}

// End ends a session with all that it has, also under a cell that runs, and forgets it. It returns
// when all is gone, and tells whether there was such a session.
func (s *Sessions) End(name string) bool {
	s.mu.Lock()
	x := s.byName[name]
	delete(s.byName, name)
	s.mu.Unlock()
	if x != nil {
		x.end("the session was ended")
	}
	return x != nil
}

// Idle tells whether there is nothing to keep: no cell runs or waits, and no environment is open.
func (s *Sessions) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.byName {
		if x.users > 0 || x.world != nil || x.opening {
			return false
		}
	}
	return true
}

// Losses are the sessions whose state is gone without that any result has told it, with the
// reasons. A process that ends hands them to its successor, which gives them to Lose.
func (s *Sessions) Losses() map[string]Loss {
	s.mu.Lock()
	defer s.mu.Unlock()
	losses := map[string]Loss{}
	for name, x := range s.byName {
		if x.lost != "" {
			losses[name] = x.lost
		}
	}
	return losses
}

// Lose has the next cell of a session tell that its state is gone, and why: it was kept by a process
// that lives no more. It does nothing to a session that has a kernel here.
func (s *Sessions) Lose(name string, why Loss) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if x := s.find(name); x.world == nil && !x.opening {
		x.lost = why
	}
}

// Close ends all sessions, also under cells that run, and returns when all of it is gone. It is
// idempotent; a later Run answers with an error.
func (s *Sessions) Close() error {
	s.mu.Lock()
	s.closed = true
	for _, x := range s.byName {
		s.ending.Go(func() { x.end("the sessions were closed") }) // under the lock: whoever closes them too waits for it
	}
	clear(s.byName)
	s.mu.Unlock()
	s.ending.Wait()
	s.runs.Wait()
	return nil
}
