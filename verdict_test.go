//go:build unix

package hermes

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/local"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
	"github.com/hermes-exec/hermes-exec/kernel"
)

// What a result says of an end is what happened: the error, what the output ends with, the warnings
// and the reason for which state is lost.
func TestEndsAreToldAsTheyWere(t *testing.T) {
	e := openHere(t)
	const lostState = "the session's state is lost: its Python process has ended with this cell"
	const waited = "the cell did not begin: it waited for its turn, or for its environment"
	limit := error(&timeoutError{3 * time.Second})
	inQueue := fmt.Errorf("wait for the cell before: %w", limit)
	exit := func(code int, oom bool) *kernel.Outcome {
		return &kernel.Outcome{Ended: true, Exit: &backend.ExitError{Code: -code, Signal: backend.Signal(code), OOMKilled: oom}}
	}
	lostLink := fmt.Errorf("%w: %w", kernel.ErrDied, backend.ErrUnavailable)
	drained := fmt.Errorf("%w: %w", lostLink, &backend.ExitError{Code: -9, Signal: 9, OOMKilled: true})
	for _, tt := range []struct {
		event   string
		outcome *kernel.Outcome // nil: the cell did not begin
		err     error
		queued  bool // it has no environment either

		kind     ErrorKind
		error    string
		mark     string
		warnings []string
		lost     Loss
	}{
		{
			event: "timeout", outcome: &kernel.Outcome{Ended: true}, err: limit,
			kind: KindTimeout, error: "Script timed out after 3s and was killed.", mark: "⏰ Script timed out after 3s and was killed.",
			warnings: []string{lostState}, lost: LostTimeout,
		},
		{
			event: "timeout, and nobody answers", outcome: &kernel.Outcome{Ended: true, Unconfirmed: true}, err: limit,
			kind: KindTimeout, error: "Script timed out after 3s and was given up: its environment does not answer.",
			mark: "⏰ Script timed out after 3s and was given up: its environment does not answer.",
			warnings: []string{
				"the session's state is lost: its Python process was given up with this cell",
				"the environment did not confirm that the script has ended: it may still run",
			}, lost: LostTimeout,
		},
		{
			event: "timeout, and the cell obeyed", outcome: &kernel.Outcome{Delivered: true, Exit: &backend.ExitError{Code: 1}}, err: limit,
			kind: KindTimeout, error: "Script timed out after 3s and was interrupted (KeyboardInterrupt). The session's state is kept.",
			mark: "⏰ Script timed out after 3s and was interrupted (KeyboardInterrupt). The session's state is kept.",
		},
		{
			event: "timeout in the queue", err: inQueue, queued: true,
			kind: KindTimeout, error: "Script timed out after 3s before it began: wait for the cell before.",
			mark:     "⏰ Script timed out after 3s before it began: wait for the cell before.",
			warnings: []string{waited},
		},
		{
			event: "timeout while the kernel starts", err: limit,
			kind: KindTimeout, error: "Script timed out after 3s before it began.", mark: "⏰ Script timed out after 3s before it began.",
		},
		{
			event: "timeout without a kernel", outcome: &kernel.Outcome{Fallback: "no room", Delivered: true, Exit: &backend.ExitError{Code: -15, Signal: 15}}, err: limit,
			kind: KindTimeout, error: "Script timed out after 3s and was killed.", mark: "⏰ Script timed out after 3s and was killed.",
		},
		{
			event: "interrupt", outcome: &kernel.Outcome{Ended: true}, err: &Interrupt{Reason: "user typed stop"},
			kind: KindInterrupted, error: "Script was interrupted: user typed stop", mark: "[execution interrupted — user typed stop]",
			warnings: []string{lostState}, lost: LostInterrupted,
		},
		{
			event: "interrupt, and the cell obeyed", outcome: &kernel.Outcome{Delivered: true}, err: &Interrupt{Soft: true},
			kind: KindInterrupted, error: "Script was interrupted.", mark: "[execution interrupted]",
		},
		{
			event: "interrupt in the queue", err: &Interrupt{}, queued: true,
			kind: KindInterrupted, error: "Script was interrupted before it began.", mark: "[execution interrupted]",
			warnings: []string{waited},
		},
		{
			event: "interrupt with a reason while the kernel starts", err: &Interrupt{Reason: "enough"},
			kind: KindInterrupted, error: "Script was interrupted before it began: enough", mark: "[execution interrupted — enough]",
		},
		{
			event: "reset under the cell", outcome: &kernel.Outcome{Ended: true}, err: &ending{LostReset, &Interrupt{Reason: "the session was reset", Kill: true}},
			kind: KindInterrupted, error: "Script was interrupted: the session was reset", mark: "[execution interrupted — the session was reset]",
			warnings: []string{lostState}, lost: LostReset,
		},
		{
			event: "SIGKILL from elsewhere", outcome: exit(9, false), kind: KindSignal,
			error:    "Script was killed by signal 9 (SIGKILL), which nobody here sent: likely memory ran out.",
			warnings: []string{lostState}, lost: LostDied,
		},
		{
			event: "out of memory", outcome: exit(9, true), kind: KindOOM, error: "Script was killed: out of memory.",
			warnings: []string{lostState}, lost: LostDied,
		},
		{
			event: "a crash", outcome: exit(11, false), kind: KindSignal, error: "Script was killed by signal 11 (SIGSEGV).",
			warnings: []string{lostState}, lost: LostDied,
		},
		{
			event: "os._exit", outcome: &kernel.Outcome{Ended: true}, kind: KindScript,
			error:    "The session's Python process ended without a word, and its state is lost.",
			warnings: []string{lostState}, lost: LostDied,
		},
		{
			event: "nonsense on the channel", outcome: &kernel.Outcome{Ended: true, Spoilt: errors.New("so it was")}, kind: KindScript,
			error:    "The session's Python process was ended, and its state is lost: so it was.",
			warnings: []string{lostState}, lost: LostDied,
		},
		{
			event: "the environment is gone", outcome: &kernel.Outcome{Ended: true}, err: lostLink, kind: KindTransport,
			error:    "the script was lost: no exit status was delivered: " + lostLink.Error(),
			warnings: []string{lostState}, lost: LostEnvironment,
		},
		{
			event: "the environment is gone, for its memory ran out", outcome: &kernel.Outcome{Ended: true}, err: drained, kind: KindOOM,
			error:    "Script was killed: out of memory.",
			warnings: []string{lostState}, lost: LostEnvironment,
		},
		{
			event: "the cells before are gone", outcome: &kernel.Outcome{Delivered: true, Lost: kernel.ErrDied},
			warnings: []string{"the state of earlier cells is gone: the session's Python process died"}, lost: LostDied,
		},
	} {
		t.Run(tt.event, func(t *testing.T) {
			x := newSession(NewSessions(nil), "s")
			w := &world{gone: t.Context()}
			w.kernel.Store(&kernel.Kernel{})
			x.world = w
			r := &run{session: &KernelState{Session: "s"}, outcome: tt.outcome}
			if tt.outcome != nil {
				r.fallback = tt.outcome.Fallback
			}
			if !tt.queued {
				r.env = e
				x.account(r, tt.err)
			}
			res := r.conclude(Options{}, tt.err)
			if res.ErrorKind != tt.kind || res.Error != tt.error || res.Output != tt.mark {
				t.Errorf("%s: %q, output %q; want %s: %q, %q", res.ErrorKind, res.Error, res.Output, tt.kind, tt.error, tt.mark)
			}
			if want := strings.Join(tt.warnings, "\n"); res.Warning != want {
				t.Errorf("warnings %q, want %q", res.Warning, want)
			}
			if res.Kernel.Reason != tt.lost || res.Kernel.StateLost != (tt.lost != "") {
				t.Errorf("kernel %+v, want %q", res.Kernel, tt.lost)
			}
			ended := tt.outcome != nil && tt.outcome.Ended
			if !tt.queued && res.Kernel.Ended != ended {
				t.Errorf("ended: %v, want %v", res.Kernel.Ended, ended)
			}
		})
	}
}

// openHere opens an environment on this machine.
func openHere(t *testing.T) *Env {
	t.Helper()
	vars := map[string]string{"PATH": os.Getenv("PATH"), "HOME": t.TempDir()}
	opener := func(ctx context.Context, _ *url.URL) (backend.Backend, error) {
		return local.Open(ctx, local.Config{Dir: t.TempDir(), Env: vars, Python: testenv.Python(t)})
	}
	o := Options{Settings: config.Defaults(), Environ: vars, Dir: t.TempDir(), Openers: map[string]backend.Opener{"local": opener}}
	o.Settings.Home = t.TempDir()
	e, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	testenv.CloseAfter(t, e)
	return e
}
