package hermes

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/tool"
)

// Status says how a run ended.
type Status string

// The ways in which a run ends.
const (
	Success     Status = "success" // an exit status of 0 was delivered
	Failure     Status = "error"
	Timeout     Status = "timeout"
	Interrupted Status = "interrupted"
)

// ErrorKind says what went wrong.
type ErrorKind string

// The kinds of what goes wrong.
const (
	KindScript      ErrorKind = "script"
	KindTimeout     ErrorKind = "timeout"
	KindInterrupted ErrorKind = "interrupted"
	KindSignal      ErrorKind = "signal"
	KindOOM         ErrorKind = "oom"
	KindPython      ErrorKind = "python_missing"
	KindBackend     ErrorKind = "backend"
	KindTransport   ErrorKind = "transport"
	KindPolicy      ErrorKind = "policy"
	KindUsage       ErrorKind = "usage"
)

// Result is what one run came to. Its JSON has the same keys, in this order, on every backend.
type Result struct {
	Status           Status  `json:"status"`
	Output           string  `json:"output"`
	ExitCode         *int    `json:"exit_code"` // nil: none was delivered; −n: signal n
	ToolCallsMade    int64   `json:"tool_calls_made"`
	ToolCallsRefused int64   `json:"tool_calls_refused"`
	Duration         Seconds `json:"duration_seconds"`

	// Backend, Transport and Execution are "" where the run did not get that far.
	Backend   Name `json:"backend"`
	Transport Name `json:"transport"`
	Execution Name `json:"execution"` // "oneshot" or "kernel"

	StdoutTruncated      bool   `json:"stdout_truncated"`
	StdoutCaptured       int64  `json:"stdout_bytes_captured"`
	StdoutTotal          int64  `json:"stdout_bytes_total"`
	StdoutOmitted        int64  `json:"stdout_bytes_omitted"`
	StdoutSpillPath      string `json:"stdout_spill_path,omitempty"`
	StdoutSpillTruncated *bool  `json:"stdout_spill_truncated,omitempty"` // nil without a spill

	Warning   string       `json:"warning,omitempty"` // one a line
	Kernel    *KernelState `json:"kernel,omitempty"`  // nil outside a session
	Fallback  []Fallback   `json:"fallback,omitempty"`
	Error     string       `json:"error,omitempty"`
	ErrorKind ErrorKind    `json:"error_kind,omitempty"`
	Hint      string       `json:"hint,omitempty"`
	ToolCalls []Call       `json:"tool_calls,omitzero"` // nil without Script.Trace
	Artifacts []Artifact   `json:"artifacts,omitzero"`  // nil without Script.Artifacts

	// Exited says that a cell ended itself, by sys.exit or its like: whoever typed it may want to
	// leave. JSON does not have it.
	Exited bool `json:"-" cbor:"exited"`

	// Signal is the one that ended what ran, 0 if none did: where that was a kernel ExitCode does not tell.
	// JSON does not have it.
	Signal backend.Signal `json:"-" cbor:"signal"`
}

// KernelState says what a cell found of its session's state, and what it left.
type KernelState struct {
	Session        string `json:"session"`
	Reused         bool   `json:"reused"`          // the cell ran in a kernel that was there already
	ExecutionCount int    `json:"execution_count"` // of the cells of this kernel, this one included
	StateReset     bool   `json:"state_reset"`     // the caller had asked for it
	StateLost      bool   `json:"state_lost"`      // what earlier cells, or this one, made is gone
	Ended          bool   `json:"ended"`           // no kernel lives at return
	Reason         Loss   `json:"reason"`          // "" unless state was reset or lost
}

// Loss is why a session's state is gone. It is null in JSON when it is empty.
type Loss string

// The reasons for which state is lost.
const (
	LostTimeout     Loss = "timeout"
	LostInterrupted Loss = "interrupted"
	LostReset       Loss = "reset"
	LostIdle        Loss = "idle"
	LostEvicted     Loss = "evicted"
	LostDied        Loss = "died"
	LostTarget      Loss = "target_changed"
	LostEnvironment Loss = "environment_gone"
	LostServer      Loss = "server_restarted"
)

// MarshalJSON writes the reason or null.
func (l Loss) MarshalJSON() ([]byte, error) { return Name(l).MarshalJSON() }

// Fallback is a choice that did not work and what was taken in its place.
type Fallback struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"`
}

// Call is one tool call of a trace.
type Call struct {
	Tool        string  `json:"tool"`
	ArgsPreview string  `json:"args_preview"` // at most 80 characters
	Duration    Seconds `json:"duration_seconds"`
	Error       *string `json:"error"` // nil: it succeeded
}

// Seconds is a time that is written with two decimals.
type Seconds float64

// MarshalJSON writes two decimals.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, math.Max(0, float64(s)), 'f', 2, 64), nil
}

// Name is a name that is null in JSON when it is empty.
type Name string

// MarshalJSON writes the name or null.
func (n Name) MarshalJSON() ([]byte, error) {
	if n == "" {
		return []byte("null"), nil
	}
	return jsontext.AppendQuote(nil, string(n))
}

// JSON returns v, which is a *Result or an Event, as one line of JSON without a line end. Nothing is
// escaped that need not be.
func JSON(v any) ([]byte, error) {
	return json.Marshal(v, jsontext.AllowInvalidUTF8(true))
}

// ExitStatus is the exit status that a program should end with which has run this script: the
// script's own, or one that tells why there is none.
func (r *Result) ExitStatus() int {
	switch r.ErrorKind {
	case KindTimeout:
		return 124
	case KindInterrupted:
		return 130
	case KindBackend, KindTransport:
		return 125
	case KindPolicy:
		return 126
	case KindPython:
		return 127
	case KindUsage:
		return 2
	case KindScript, KindSignal, KindOOM:
	}
	switch {
	case r.ExitCode == nil && r.Signal != 0:
		return 128 + int(r.Signal)
	case r.ExitCode == nil:
		return 125
	case *r.ExitCode < 0:
		return 128 - *r.ExitCode
	default:
		return *r.ExitCode
	}
}

// addStderr shows what was printed on stderr below the output.
func (r *Result) addStderr(text string) {
	if text != "" {
		r.Output += "\n--- stderr ---\n" + text
	}
}

// trace turns the dispatcher's list into that of a result.
func trace(entries []tool.Entry, masked func(string) string) []Call {
	calls := make([]Call, 0, len(entries))
	for _, e := range entries {
		call := Call{Tool: e.Tool, ArgsPreview: masked(e.ArgsPreview), Duration: Seconds(e.Duration)}
		if e.Error != nil {
			text := masked(*e.Error)
			call.Error = &text
		}
		calls = append(calls, call)
	}
	return calls
}
