package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	hermes "github.com/hermes-exec/hermes-exec"
)

// sink shows a run: attach before it begins, finish once at its end.
type sink interface {
	attach(s *hermes.Script)
	finish(r *hermes.Result)
}

func (a *app) newSink(f format, quiet bool) sink {
	switch f {
	case formatJSON:
		return jsonSink{a}
	case formatNDJSON:
		return &ndjsonSink{app: a}
	default:
		return textSink{app: a, quiet: quiet}
	}
}

// textSink passes the script's output on as it comes, on the same streams.
type textSink struct {
	app   *app
	quiet bool
}

func (s textSink) attach(script *hermes.Script) {
	script.Stdout, script.Stderr = s.app.out, scriptStderr{s.app}
}

// scriptStderr is stderr until stdout has lost its reader: what the script says about being
// interrupted then is of no use to anybody.
type scriptStderr struct{ app *app }

func (s scriptStderr) Write(p []byte) (int, error) {
	if s.app.out.failed() {
		return len(p), nil
	}
	return s.app.err.Write(p)
}

// lastWords is how long a reader may take for what is said of a run that was ended.
const lastWords = time.Second

// conclude tells how a run came to its end. The time of one that was ended is over, even if the
// reader has stalled.
func conclude(r *hermes.Result, tell func()) {
	if r.Status != hermes.Timeout && r.Status != hermes.Interrupted {
		tell()
		return
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		tell()
	}()
	select {
	case <-told:
	case <-time.After(lastWords):
	}
}

// finish tells what the streams did not.
func (s textSink) finish(r *hermes.Result) { conclude(r, func() { s.tell(r) }) }

// tell prints every error but an exception and an exit status of the script's own: Python has told
// those, or the status does.
func (s textSink) tell(r *hermes.Result) {
	if s.app.out.failed() {
		return // app.finish says what there is to say
	}
	if !s.quiet {
		s.notes(r)
		s.artifacts(r)
	}
	if ownWords := r.ErrorKind == hermes.KindScript && r.ExitCode != nil; r.Error != "" && !ownWords {
		s.app.complain(r.Error)
	}
	if r.Hint != "" && !s.quiet {
		s.app.complain("hint: " + r.Hint)
	}
}

// notes prints warnings and fallbacks.
func (s textSink) notes(r *hermes.Result) {
	for _, f := range r.Fallback {
		s.app.complain(fmt.Sprintf("fallback: %s instead of %s: %s", f.To, f.From, f.Reason))
	}
	for line := range strings.Lines(r.Warning) {
		s.app.complain("warning: " + line)
	}
}

// artifacts tells a person where the script's files are. A program asks for a result.
func (s textSink) artifacts(r *hermes.Result) {
	if f, ok := s.app.err.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return
	}
	for _, f := range r.Artifacts[:min(len(r.Artifacts), mostShown)] {
		s.app.complain("artifact: " + f.String())
	}
	if n := len(r.Artifacts) - mostShown; n > 0 {
		s.app.complain(fmt.Sprintf("artifacts: %d more, in the same directory; --output json lists all", n))
	}
}

// mostShown is how many artifacts a person is told of by name: more would be no sight of what else is told.
const mostShown = 20

// jsonSink prints the result on one line.
type jsonSink struct{ app *app }

func (s jsonSink) attach(*hermes.Script) {}

func (s jsonSink) finish(r *hermes.Result) { conclude(r, func() { s.app.printLine(r) }) }

// ndjsonSink prints every event on one line; the last is the result.
type ndjsonSink struct {
	app  *app
	over atomic.Bool // the result was an event
}

func (s *ndjsonSink) attach(script *hermes.Script) {
	script.Stream = true
	script.Events = func(e hermes.Event) {
		if e.Type == hermes.EventResult {
			s.over.Store(true)
		}
		s.app.printLine(e)
	}
}

// finish prints the result of a run that did not begin.
func (s *ndjsonSink) finish(r *hermes.Result) {
	if !s.over.Load() {
		conclude(r, func() { s.app.printLine(hermes.Event{Type: hermes.EventResult, Result: r}) })
	}
}

// printLine prints a result or an event.
func (a *app) printLine(v any) {
	line, err := hermes.JSON(v)
	if err != nil {
		a.complain(err.Error())
		return
	}
	write(a.out, append(line, '\n'))
}

// write drops its error: the outlet keeps the first of stdout, and there is nobody to tell that
// stderr is gone.
func write(w io.Writer, p []byte) { _, _ = w.Write(p) }
