package hermes

import (
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hermes-exec/hermes-exec/internal/output"
)

// Event is something that happened during a run.
type Event struct {
	Type        EventType
	Time        float64 // seconds since the run's start
	Text        string  // of stdout and stderr: whole characters, with known secrets masked
	ID          int64   // numbers tool calls from 1
	Tool        string
	ArgsPreview string // at most 80 characters
	Duration    float64
	Error       *string // nil: the call succeeded
	Result      *Result
}

// EventType names an event.
type EventType string

// The events, in the order in which a run has them.
const (
	EventStart      EventType = "start"
	EventStdout     EventType = "stdout"
	EventStderr     EventType = "stderr"
	EventToolCall   EventType = "tool_call"
	EventToolResult EventType = "tool_result"
	EventResult     EventType = "result"
)

// MarshalJSON writes the fields that events of this type have.
func (e Event) MarshalJSON() ([]byte, error) { return JSON(e) }

// MarshalJSONTo does the same without a copy of the text.
func (e Event) MarshalJSONTo(enc *jsontext.Encoder) error { return json.MarshalEncode(enc, e.fields()) }

// head is what all events have.
type head struct {
	Type EventType `json:"type"`
	Time instant   `json:"time"`
}

// fields returns a struct with what is written of an event of this type.
func (e Event) fields() any {
	h := head{e.Type, instant(e.Time)}
	switch e.Type {
	case EventStdout, EventStderr:
		return struct {
			head
			Text string `json:"text"`
		}{h, e.Text}
	case EventToolCall:
		return struct {
			head
			ID          int64  `json:"id"`
			Tool        string `json:"tool"`
			ArgsPreview string `json:"args_preview"`
		}{h, e.ID, e.Tool, e.ArgsPreview}
	case EventToolResult:
		return struct {
			head
			ID       int64   `json:"id"`
			Tool     string  `json:"tool"`
			Duration Seconds `json:"duration_seconds"`
			Error    *string `json:"error"`
		}{h, e.ID, e.Tool, Seconds(e.Duration), e.Error}
	case EventResult:
		return struct {
			head
			Result *Result `json:"result"`
		}{h, e.Result}
	case EventStart:
	}
	return h
}

// What is held back of output, so that print("x") is one event although Python writes it in two
// pieces.
const (
	gather     = 10 * time.Millisecond
	maxGathers = 64 << 10 // bytes
)

// lastWords is how long a caller may take for an event of a run that was ended.
const lastWords = time.Second

// emitter hands events to the caller, one at a time and in their order. Its methods may be called
// concurrently.
type emitter struct {
	start  time.Time
	events func(Event) // nil: nobody listens

	ended chan struct{} // closed by end
	once  sync.Once

	mu    sync.Mutex
	held  *Event // output that more may be added to
	text  []byte // of held
	timer *time.Timer
	over  bool // nothing may follow: the result has been told, or the caller is stuck
}

func newEmitter(start time.Time, events func(Event)) *emitter {
	return &emitter{start: start, events: events, ended: make(chan struct{})}
}

// end says that the run is being ended: that does not wait for a caller who is stuck.
func (e *emitter) end() { e.once.Do(func() { close(e.ended) }) }

// result tells the last event.
func (e *emitter) result(r *Result) {
	if r.Status == Timeout || r.Status == Interrupted {
		e.end()
	}
	e.emit(Event{Type: EventResult, Result: r})
}

func (e *emitter) emit(event Event) {
	if e.events == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return
	}
	event.Time = time.Since(e.start).Seconds()
	if event.Type == EventStdout || event.Type == EventStderr {
		e.hold(event)
		return
	}
	e.release()
	e.tell(event)
	e.over = e.over || event.Type == EventResult
}

// tell hands an event over, and waits until the caller is done with it. One that is stuck while the
// run is ended gets no more.
func (e *emitter) tell(event Event) {
	if e.over {
		return
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		e.events(event)
	}()
	select {
	case <-told:
		return
	case <-e.ended:
	}
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	select {
	case <-told:
	case <-timer.C:
		e.over = true
	}
}

// hold keeps output for a moment.
func (e *emitter) hold(event Event) {
	if e.held != nil && (e.held.Type != event.Type || len(e.text)+len(event.Text) > maxGathers) {
		e.release()
	}
	e.text = append(e.text, event.Text...)
	if e.held != nil {
		return
	}
	e.held = &event
	e.timer = time.AfterFunc(gather, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.held == &event {
			e.release()
		}
	})
}

// release hands over what is held.
func (e *emitter) release() {
	if e.held == nil {
		return
	}
	e.timer.Stop()
	event := *e.held
	event.Text = string(e.text)
	e.held, e.text = nil, e.text[:0]
	e.tell(event)
}

// instant is a time since the start, in seconds, to the microsecond.
type instant float64

// MarshalJSON writes six decimals.
func (i instant) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(i), 'f', 6, 64), nil
}

// stream makes events of one output stream. It is an io.Writer that never fails and may be used
// concurrently, though the order of concurrent writes is anybody's guess.
type stream struct {
	emitter *emitter
	kind    EventType

	mu   sync.Mutex
	live *output.Live
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(s.live.Next(p))
	return len(p), nil
}

// flush tells what was held back at the end of the stream.
func (s *stream) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(s.live.Flush())
}

func (s *stream) tell(text string) {
	if text != "" {
		s.emitter.emit(Event{Type: s.kind, Text: text})
	}
}
