package hermes

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/output"
)

// Witness sees what a caller is shown of a run that happens in another process, and makes a result of
// it where the run's own is lost with that process. It is safe for concurrent use.
type Witness struct {
	options Options
	script  Script // the caller's
	start   time.Time
	secrets *output.Secrets
	stdout  *output.Capture
	stderr  *output.Capture

	mu    sync.Mutex
	last  float64 // the time of the last event
	calls []Call
	told  *Result // by an event
}

// Witnessed returns s with live output and events that a Witness sees, too. The time of the run
// begins.
func Witnessed(o Options, s Script) (*Witness, Script) {
	secrets := output.NewSecrets(secrets(o, backend.Info{})...)
	w := &Witness{
		options: o, script: s, start: time.Now(), secrets: secrets,
		stdout: output.NewCapture("OUTPUT", output.Limits{Inline: o.Settings.MaxStdout}, secrets, nil),
		stderr: output.NewCapture("STDERR", output.Limits{Inline: o.Settings.MaxStderr}, secrets, nil),
	}
	seen := s
	if s.Stdout != nil {
		seen.Stdout = io.MultiWriter(w.stdout, s.Stdout)
	}
	if s.Stderr != nil {
		seen.Stderr = io.MultiWriter(w.stderr, s.Stderr)
	}
	if s.Events != nil {
		seen.Events = func(e Event) {
			w.see(e)
			s.Events(e)
		}
	}
	return w, seen
}

// see takes note of an event. Output that a writer takes is seen there.
func (w *Witness) see(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = max(w.last, e.Time)
	switch e.Type {
	case EventStdout:
		if w.script.Stdout == nil {
			_, _ = w.stdout.Write([]byte(e.Text))
		}
	case EventStderr:
		if w.script.Stderr == nil {
			_, _ = w.stderr.Write([]byte(e.Text))
		}
	case EventToolCall:
		w.calls = append(w.calls, Call{Tool: e.Tool, ArgsPreview: e.ArgsPreview})
	case EventToolResult:
		if i := e.ID - 1; i >= 0 && i < int64(len(w.calls)) {
			w.calls[i].Duration, w.calls[i].Error = Seconds(e.Duration), e.Error
		}
	case EventResult:
		w.told = e.Result
	case EventStart:
	}
}

// Failed is the result of a run that did not begin because of err, or because ctx, the caller's, has
// ended. It is an event, too.
func (w *Witness) Failed(ctx context.Context, err error, k KernelState) *Result {
	return w.tell(w.result(ended(ctx, err), k))
}

// Lost is the result of a run whose own was lost because of err: with the output and the tool calls
// that were seen, and a warning that there may have been more. It is an event, too.
func (w *Witness) Lost(err error, k KernelState) *Result {
	w.mu.Lock()
	told, calls := w.told, slices.Clone(w.calls)
	w.mu.Unlock()
	if told != nil {
		return told
	}
	r := w.result(err, k)
	stdout, stderr := w.stdout.Finish(0), w.stderr.Finish(0)
	r.keep(stdout)
	r.addStderr(stderr.Text)
	r.ToolCallsMade = int64(len(calls))
	if w.script.Trace {
		r.ToolCalls = append([]Call{}, calls...)
	}
	r.Warning = strings.Join(slices.Concat(w.options.Warnings, []string{w.doubt()}, cuts(w.script, stdout, stderr)), "\n")
	return w.tell(r)
}

// doubt says what the result does not know.
func (w *Witness) doubt() string {
	if w.script.Stdout != nil || w.script.Stream && w.script.Events != nil {
		return "the result of the cell is lost: its output and its tool calls are those that were seen until then, and may be incomplete"
	}
	return "the result of the cell is lost, and with it what the cell has printed"
}

func (w *Witness) result(err error, k KernelState) *Result {
	r := Failed(err)
	r.Error = w.secrets.Mask(output.StripEscapes(r.Error))
	r.Kernel = &k
	r.Warning = strings.Join(w.options.Warnings, "\n")
	r.Duration = Seconds(time.Since(w.start).Seconds())
	return r
}

// tell makes an event of a result, which is later than those before.
func (w *Witness) tell(r *Result) *Result {
	if w.script.Events != nil {
		w.mu.Lock()
		at := max(w.last, float64(r.Duration))
		w.mu.Unlock()
		w.script.Events(Event{Type: EventResult, Time: at, Result: r})
	}
	return r
}
