package backendtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
)

func hostileCases() []testCase {
	var cases []testCase
	for _, victim := range []string{"supervisor", "agent"} {
		for _, sig := range []backend.Signal{backend.Terminate, backend.Kill} {
			name := fmt.Sprintf("hostile script ends its %s with signal %d", victim, sig)
			cases = append(cases, testCase{name, func(ctx context.Context, e *env) { hostileKill(ctx, e, victim, sig) }})
		}
	}
	return append(cases,
		testCase{"hostile script stops its supervisor", hostileStopSupervisor},
		testCase{"hostile script stops its agent", hostileStopAgent},
		testCase{"hostile script kills its agent and its supervisor beside another", hostileKillBeside},
		testCase{"hostile script kills all that it may see", hostileKillAll},
	)
}

// attack starts a deaf tree with one more process that sends sig to what is above the script.
func (e *env) attack(ctx context.Context, victim string, sig backend.Signal) *proc {
	e.Helper()
	cmd := e.script("attack.py", victim, itoa(int(sig)))
	cmd.Env["SCRATCH"] = e.Info().Scratch // as every script of a run has
	near, far := duplex()
	e.Cleanup(func() { far.Close() })
	cmd.Stdin = near
	p := e.start(ctx, cmd)
	p.await(ctx, "attack\n")
	if _, err := far.Write([]byte("go\n")); err != nil {
		e.Fatal(err)
	}
	return p
}

// lost tells whether err says that a process ended without anyone to tell how.
func lost(err error) bool {
	return errors.Is(err, backend.ErrUnavailable) || errors.Is(err, backend.ErrNoExitStatus)
}

// bySignal tells whether err says that a signal ended a process.
func bySignal(err error) bool {
	var exit *backend.ExitError
	return errors.As(err, &exit) && exit.Signal != 0
}

// hostileKill: whatever the script does to those who watch it, nothing of it stays, and the host is
// told that it is lost or how it ended, but never of a success (B019).
func hostileKill(ctx context.Context, e *env, victim string, sig backend.Signal) {
	witness := e.another()
	p := e.attack(ctx, victim, sig)
	if sig == backend.Terminate { // which may be ignored: then nothing is lost, and it can be ended
		_ = p.printed(ctx, "attacked\n")
		_ = p.Signal(ctx, backend.Kill)
	}
	err := p.Wait(ctx)
	if !lost(err) && !bySignal(err) {
		e.Errorf("wait: %v", err)
	}
	e.awaitGone(ctx, witness)
	if _, err := e.Start(ctx, e.sh("true")); victim == "agent" && err != nil {
		e.wantErr("start afterwards", err, backend.ErrUnavailable)
	} else if victim == "supervisor" && err != nil {
		e.Errorf("another process's environment suffers: %v", err)
	}
}

func hostileStopSupervisor(ctx context.Context, e *env) {
	p := e.attack(ctx, "supervisor", 19)
	p.await(ctx, "attacked\n")
	if err := p.Signal(ctx, backend.Kill); err != nil {
		e.Errorf("kill: %v", err)
	}
	if err := p.Wait(ctx); !lost(err) && !bySignal(err) {
		e.Errorf("wait: %v", err)
	}
	e.awaitGone(ctx, e)
}

// hostileStopAgent: nothing answers any more, so Wait ends with its ctx; Close ends all the same.
func hostileStopAgent(ctx context.Context, e *env) {
	witness := e.another()
	p := e.attack(ctx, "agent", 19)
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	err := p.Wait(short)
	if !errors.Is(err, context.DeadlineExceeded) && !lost(err) {
		e.Errorf("wait: %v", err)
	}
	if err := e.Close(); err != nil {
		e.Logf("close: %v", err)
	}
	e.awaitGone(ctx, witness)
}

// hostileKillBeside: as long as one supervisor is left, it ends what the others had.
func hostileKillBeside(ctx context.Context, e *env) {
	witness := e.another()
	e.ready(ctx, e.sh("echo ready; sleep 600"))
	p := e.attack(ctx, "beside", backend.Kill)
	if err := p.Wait(ctx); !lost(err) && !bySignal(err) {
		e.Errorf("wait: %v", err)
	}
	e.awaitGone(ctx, witness)
}

// hostileKillAll: when all that could have ended the script are killed, nothing here can end it but
// the environment's own walls, which a backend may not have. The host is told all the same.
func hostileKillAll(ctx context.Context, e *env) {
	witness := e.another()
	p := e.attack(ctx, "both", backend.Kill)
	if err := p.Wait(ctx); err == nil {
		e.Error("a success was reported")
	}
	if err := e.Close(); err != nil {
		e.Logf("close: %v", err)
	}
	e.awaitGone(ctx, witness) // the script ends by itself, after a moment
	look := &env{TB: e.TB, Backend: witness, mark: "looking"}
	look.output(ctx, look.sh(`rm -rf "$1"`, e.Info().Scratch)) // as prune does
}
