//go:build unix

package hermes_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
)

func TestEvents(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		o.Settings.EnvPassthrough = []string{"TENOR_API_KEY"}
		e := open(t, o)
		var events []hermes.Event
		inside := false
		r := e.Run(t.Context(), hermes.Script{
			Code: []byte("import os, sys, time\nfrom hermes_tools import terminal, read_file\nk = os.environ['TENOR_API_KEY']\nprint('out é', k, flush=True)\n" +
				"terminal('echo ' + k)\nread_file('nowhere/' + k)\nfor c in k: print(c, end='', file=sys.stderr, flush=True)\nprint(file=sys.stderr)\n"),
			Stream: true,
			Events: func(e hermes.Event) {
				if inside {
					t.Error("two events at once")
				}
				inside = true
				events = append(events, e)
				inside = false
			},
		})
		texts := map[hermes.EventType]string{}
		var order []string
		last := 0.0
		for _, e := range events {
			line, err := hermes.JSON(e)
			if err != nil || strings.Contains(string(line), "tenor-secret-value") {
				t.Errorf("event %s, %v", line, err)
			}
			if e.Time < last {
				t.Errorf("time goes back: %s", line)
			}
			last = e.Time
			texts[e.Type] += e.Text
			if e.Type != hermes.EventStdout && e.Type != hermes.EventStderr {
				order = append(order, fmt.Sprint(e.Type, e.ID))
			}
		}
		if texts[hermes.EventStdout] != "out é ***\n" || !strings.HasSuffix(texts[hermes.EventStderr], "***\n") {
			t.Errorf("stdout %q, stderr %q", texts[hermes.EventStdout], texts[hermes.EventStderr])
		}
		if want := "start0 tool_call1 tool_result1 tool_call2 tool_result2 result0"; strings.Join(order, " ") != want {
			t.Errorf("order %v, want %s", order, want)
		}
		if end := events[len(events)-1]; end.Result != r || r.ToolCallsMade != 2 {
			t.Errorf("last event %+v", end)
		}
	})
}

// A caller who is stuck does not hold up the end of a run.
func TestStuckEvents(t *testing.T) {
	for name, end := range map[string]hermes.Status{"by its timeout": hermes.Timeout, "by its caller": hermes.Interrupted} {
		t.Run(name, func(t *testing.T) {
			o := options(t, "local")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if end == hermes.Timeout {
				o.Settings.Timeout = time.Second
			}
			e := open(t, o)
			free, freed := make(chan struct{}), make(chan struct{})
			var stuck atomic.Bool
			r := e.Run(ctx, hermes.Script{
				Code:   []byte("import time\nprint('on', flush=True)\ntime.sleep(600)\n"),
				Stream: true,
				Events: func(e hermes.Event) {
					if e.Type == hermes.EventStart {
						return
					}
					if stuck.Swap(true) {
						t.Errorf("another event: %+v", e)
						return
					}
					if end == hermes.Interrupted {
						cancel(&hermes.Interrupt{})
					}
					<-free
					close(freed)
				},
			})
			if r.Status != end || r.Output == "" {
				t.Errorf("%+v", r)
			}
			close(free)
			<-freed
		})
	}
}

func TestEventsWithoutStream(t *testing.T) {
	e := open(t, options(t, "local"))
	var types []string
	e.Run(t.Context(), hermes.Script{
		Code:   []byte("print(1)\nfrom hermes_tools import terminal\nterminal('true')"),
		Events: func(e hermes.Event) { types = append(types, string(e.Type)) },
	})
	if got := strings.Join(types, " "); got != "start tool_call tool_result result" {
		t.Errorf("events %s", got)
	}
}

// brokenWriter takes a few bytes and then fails.
type brokenWriter struct{ strings.Builder }

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.Len() > 0 {
		return 0, errors.New("nobody reads")
	}
	return w.Builder.Write(p)
}

func TestWriters(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		e := open(t, o)
		var out, errs strings.Builder
		r := e.Run(t.Context(), hermes.Script{
			Code:   []byte("import sys\nsys.stdout.buffer.write(b'\\x1b[1m\\xff' * 50000)\nprint('e', file=sys.stderr)"),
			Stdout: &out, Stderr: &errs,
		})
		if out.String() != strings.Repeat("\x1b[1m\xff", 50000) || errs.String() != "e\n" {
			t.Errorf("%d bytes, stderr %q", out.Len(), errs.String())
		}
		if !r.StdoutTruncated || r.StdoutSpillPath != "" || r.Warning != "" {
			t.Errorf("truncated %v, spill %q, warning %q", r.StdoutTruncated, r.StdoutSpillPath, r.Warning)
		}
		var broken brokenWriter
		r = e.Run(t.Context(), hermes.Script{Code: []byte("for i in range(1000): print(i, flush=True)"), Stdout: &broken})
		if r.Status != hermes.Success || !strings.HasSuffix(r.Output, "999\n") {
			t.Errorf("after a writer has failed: %+v", r)
		}
	})
}

// Python writes the line end of print by itself when it does not buffer.
func TestOutputIsGathered(t *testing.T) {
	e := open(t, options(t, "local"))
	var got []string
	e.Run(t.Context(), hermes.Script{
		Code:   []byte("import os\nfor s in 'x', '\\n', 'y': os.write(1, s.encode())"),
		Stream: true, Events: func(e hermes.Event) {
			if e.Text != "" {
				got = append(got, e.Text)
			}
		},
	})
	if text := strings.Join(got, ""); text != "x\ny" || len(got) == 3 {
		t.Errorf("events %q", got)
	}
}
