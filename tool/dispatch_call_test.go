package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-exec/hermes-exec/transport"
)

// P73: 10 calls are in flight at once, and not more than the bound.
func TestDispatchParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDispatcher(10, nil)
		var mu sync.Mutex
		inside, most := 0, 0
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			inside += n
			most = max(most, inside)
		}
		tool := named("t", func(context.Context, *Env, json.RawMessage) (json.RawMessage, error) {
			count(1)
			defer count(-1)
			time.Sleep(time.Second)
			return json.RawMessage(`{}`), nil
		})
		if err := d.Begin(t.Context(), Grant{Tools: registry(t, tool), MaxCalls: 99}); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 25 {
			wg.Go(func() {
				if _, err := call(d, t, "t", `{}`); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if most != 10 {
			t.Errorf("%d calls at once", most)
		}
		if got := d.End(t.Context()); got.Made != 25 {
			t.Errorf("report %+v", got)
		}
	})
}

// A call whose caller goes away while it waits for its turn reaches no tool and costs nothing.
func TestDispatchWaitHonoursContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDispatcher(1, nil)
		tool := named("t", func(ctx context.Context, _ *Env, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		if err := d.Begin(t.Context(), Grant{Tools: registry(t, tool), MaxCalls: 2}); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		first, endFirst := context.WithCancelCause(t.Context())
		second, endSecond := context.WithCancelCause(t.Context())
		start := func(ctx context.Context, want error) {
			wg.Go(func() {
				if _, err := d.Handle(ctx, &transport.Call{Tool: "t", Args: []byte(`{}`)}); !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			})
			synctest.Wait()
		}
		start(first, io.ErrClosedPipe)
		start(second, io.ErrUnexpectedEOF)
		endSecond(io.ErrUnexpectedEOF)
		synctest.Wait()
		endFirst(io.ErrClosedPipe)
		wg.Wait()
		again, endAgain := context.WithCancelCause(t.Context())
		start(again, io.EOF) // the budget of 2 has one left
		endAgain(io.EOF)
		wg.Wait()
		if got := d.End(t.Context()); got.Made != 2 || got.Refused != 0 {
			t.Errorf("report %+v", got)
		}
	})
}

// The end of a cell ends its calls, and no hook comes after End.
func TestDispatchEndCancelsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDispatcher(0, nil)
		tool := named("t", func(ctx context.Context, _ *Env, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			time.Sleep(time.Second) // tidying up
			return nil, context.Cause(ctx)
		})
		var results atomic.Int64
		hook := func(int64, string, time.Duration, error) { results.Add(1) }
		g := Grant{Tools: registry(t, tool), MaxCalls: 9, Trace: true, OnResult: hook}

		for _, tt := range []struct {
			patience time.Duration
			results  int64
			err      string
		}{
			{2 * time.Second, 1, "No active execute_code cell"},
			{time.Second / 2, 0, "the call was still running when its cell ended"},
		} {
			results.Store(0)
			if err := d.Begin(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := call(d, t, "t", `{}`); !errors.Is(err, ErrNoCell) {
					t.Error(err)
				}
			})
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), tt.patience)
			got := d.End(ctx)
			cancel()
			wg.Wait()
			if got.Made != 1 || len(got.Trace) != 1 || *got.Trace[0].Error != tt.err || results.Load() != tt.results {
				t.Errorf("%v: %d results, report %+v", tt.patience, results.Load(), got)
			}
		}
	})
}

// SPEC 5: a call waits as long as the run's deadline allows, so tools must see it.
func TestDispatchDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDispatcher(0, nil)
		tool := named("t", func(ctx context.Context, _ *Env, _ json.RawMessage) (json.RawMessage, error) {
			at, ok := ctx.Deadline()
			if left := time.Until(at); !ok || left != 5*time.Second {
				t.Errorf("deadline in %v, %v", left, ok)
			}
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := d.Begin(ctx, Grant{Tools: registry(t, tool), MaxCalls: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := call(d, t, "t", `{}`); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		d.End(t.Context())
	})
}

func TestDispatchHooks(t *testing.T) {
	d := NewDispatcher(0, nil)
	tool := fake{spec: everything(), call: func(_ context.Context, _ *Env, args json.RawMessage) (json.RawMessage, error) {
		if strings.Contains(string(args), "bad") {
			return nil, errors.New("it is bad")
		}
		return args, nil
	}}
	var events []string
	begin(t, d, Grant{
		Tools: registry(t, tool), MaxCalls: 2,
		OnCall: func(id int64, tool, args string) {
			events = append(events, fmt.Sprint("call ", id, " ", tool, " ", args))
		},
		OnResult: func(id int64, tool string, d time.Duration, err error) {
			events = append(events, fmt.Sprint("result ", id, " ", tool, " ", d >= 0, " ", err))
		},
	})
	for _, args := range []string{`{"s":"ok"}`, `{}`, `{"s":"bad"}`, `{"s":"too much"}`} {
		call(d, t, "every", args) //nolint:errcheck // seen by the hooks
	}
	got := d.End(t.Context())
	want := []string{
		`call 1 every {"s":"ok"}`, "result 1 every true <nil>",
		`call 2 every {"s":"bad"}`, "result 2 every true it is bad",
	}
	if !slices.Equal(events, want) {
		t.Errorf("got  %q\nwant %q", events, want)
	}
	if got.Trace != nil || got.LastError != "Tool call limit reached (2). No more tool calls allowed in this execution." {
		t.Errorf("report %+v", got)
	}
}

func TestDispatchPanic(t *testing.T) {
	var log strings.Builder
	d := NewDispatcher(1, slog.New(slog.NewTextHandler(&log, nil)))
	tool := named("t", func(context.Context, *Env, json.RawMessage) (json.RawMessage, error) { panic("oh") })
	begin(t, d, Grant{Tools: registry(t, tool), MaxCalls: 9})
	for range 2 { // the slot comes back
		_, err := call(d, t, "t", `{}`)
		wantError(t, err, "t failed inside: oh")
	}
	if !strings.Contains(log.String(), "dispatch_test.go") {
		t.Errorf("the log has no stack: %s", &log)
	}
}
