package hermes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/kernel"
)

// TestResultJSON compares with golden files: the keys, their order, which are there and how values
// are written are a contract. UPDATE=1 writes them anew.
func TestResultJSON(t *testing.T) {
	for _, tt := range []struct {
		name   string
		result Result
	}{
		{"least", Result{Status: Success, ExitCode: new(0)}},
		{"most", Result{
			Status: Failure, Output: "<b> & 'quotes' \"too\" ünï\u2028中🎉\n\x00\x1b\\ \xff", ExitCode: new(-11),
			ToolCallsMade: 3, ToolCallsRefused: 2, Duration: 1.005, Backend: "local", Transport: "uds", Execution: "oneshot",
			StdoutTruncated: true, StdoutCaptured: 50000, StdoutTotal: 1 << 40, StdoutOmitted: 1<<40 - 50000,
			StdoutSpillPath: "/h/cache/exec/a<b.txt", StdoutSpillTruncated: new(false),
			Warning: "one\ntwo", Fallback: []Fallback{{"uds", "tcp", "no sockets"}},
			Error: "Script was killed by signal 11 (SIGSEGV).", ErrorKind: KindSignal, Hint: "try <this>",
			ToolCalls: []Call{
				{Tool: "terminal", ArgsPreview: `{"command":"ls > x"}`, Duration: 0.1},
				{Tool: "read_file", ArgsPreview: "{}", Duration: 2, Error: new("no such file")},
			},
		}},
		{"session", Result{
			Status: Timeout, Backend: "local", Transport: "uds", Execution: "kernel", Warning: "one",
			Kernel:   &KernelState{Session: "a <b>", Reused: true, ExecutionCount: 3, StateReset: true, StateLost: true, Ended: true, Reason: LostTimeout},
			Fallback: []Fallback{{"kernel", "oneshot", "no room"}}, Error: "e", ErrorKind: KindTimeout,
		}},
		{"session whose state is there", Result{Status: Success, ExitCode: new(0), Kernel: &KernelState{Session: "s", ExecutionCount: 1}}},
		{"trace without calls", Result{Status: Success, ExitCode: new(0), ToolCalls: []Call{}}},
		{"spill that ends early", Result{Status: Success, ExitCode: new(0), StdoutSpillPath: "/x", StdoutSpillTruncated: new(true)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := JSON(&tt.result)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "testdata/result/"+tt.name+".json", string(got)+"\n")
			var back Result
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatal(err)
			}
			again, err := JSON(&back)
			if err != nil || tt.name != "most" && string(again) != string(got) {
				t.Errorf("read and written again: %s, %v", again, err)
			}
		})
	}
}

// golden compares text with a file.
func golden(t *testing.T, name, text string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || string(want) != text {
		t.Errorf("got\n%swant\n%s%v", text, want, err)
	}
}

func TestEventJSON(t *testing.T) {
	for _, tt := range []struct {
		event Event
		want  string
	}{
		{Event{Type: EventStart}, `{"type":"start","time":0.000000}`},
		{Event{Type: EventStdout, Time: 1.5, Text: "<x>\n"}, `{"type":"stdout","time":1.500000,"text":"<x>\n"}`},
		{Event{Type: EventStderr, Time: 1.5, Text: "é"}, `{"type":"stderr","time":1.500000,"text":"é"}`},
		{
			Event{Type: EventToolCall, ID: 1, Tool: "terminal", ArgsPreview: `{"command":"a>b"}`},
			`{"type":"tool_call","time":0.000000,"id":1,"tool":"terminal","args_preview":"{\"command\":\"a>b\"}"}`,
		},
		{
			Event{Type: EventToolResult, ID: 1, Tool: "terminal"},
			`{"type":"tool_result","time":0.000000,"id":1,"tool":"terminal","duration_seconds":0.00,"error":null}`,
		},
		{
			Event{Type: EventToolResult, ID: 1, Tool: "terminal", Duration: 0.25, Error: new("no")},
			`{"type":"tool_result","time":0.000000,"id":1,"tool":"terminal","duration_seconds":0.25,"error":"no"}`,
		},
	} {
		if got, err := JSON(tt.event); err != nil || string(got) != tt.want {
			t.Errorf("got  %s\nwant %s\n%v", got, tt.want, err)
		}
	}
	r, err := JSON(&Result{Status: Success})
	if err != nil {
		t.Fatal(err)
	}
	got, err := JSON(Event{Type: EventResult, Time: 2, Result: &Result{Status: Success}})
	if want := `{"type":"result","time":2.000000,"result":` + string(r) + `}`; err != nil || string(got) != want {
		t.Errorf("got  %s\nwant %s\n%v", got, want, err)
	}
}

func TestSeconds(t *testing.T) {
	for s, want := range map[Seconds]string{0: "0.00", 0.004: "0.00", 0.006: "0.01", 12.3: "12.30", -1: "0.00", 3e5: "300000.00"} {
		if got, err := s.MarshalJSON(); err != nil || string(got) != want {
			t.Errorf("%v: %s, %v", float64(s), got, err)
		}
	}
	if got := seconds(300 * time.Second); got != "300" {
		t.Errorf("300 s: %s", got)
	}
	if got := seconds(2500 * time.Millisecond); got != "2.5" {
		t.Errorf("2.5 s: %s", got)
	}
}

func TestExitStatus(t *testing.T) {
	for _, tt := range []struct {
		result Result
		want   int
	}{
		{Result{Status: Success, ExitCode: new(0)}, 0},
		{Result{Status: Failure, ErrorKind: KindScript, ExitCode: new(3)}, 3},
		{Result{Status: Failure, ErrorKind: KindScript, ExitCode: new(125)}, 125},
		{Result{Status: Failure, ErrorKind: KindSignal, ExitCode: new(-11)}, 139},
		{Result{Status: Failure, ErrorKind: KindOOM, ExitCode: new(-9)}, 137},
		{Result{Status: Failure, ErrorKind: KindOOM, Signal: 9}, 137},
		{Result{Status: Failure, ErrorKind: KindSignal, Signal: 11}, 139},
		{Result{Status: Timeout, ErrorKind: KindTimeout, Signal: 9}, 124},
		{Result{Status: Timeout, ErrorKind: KindTimeout, ExitCode: new(-15)}, 124},
		{Result{Status: Timeout, ErrorKind: KindTimeout}, 124},
		{Result{Status: Interrupted, ErrorKind: KindInterrupted, ExitCode: new(0)}, 130},
		{Result{Status: Failure, ErrorKind: KindBackend}, 125},
		{Result{Status: Failure, ErrorKind: KindTransport}, 125},
		{Result{Status: Failure, ErrorKind: KindPolicy}, 126},
		{Result{Status: Failure, ErrorKind: KindPython}, 127},
		{Result{Status: Failure, ErrorKind: KindUsage}, 2},
		{Result{Status: Failure}, 125},
	} {
		if got := tt.result.ExitStatus(); got != tt.want {
			t.Errorf("%+v: %d, want %d", tt.result, got, tt.want)
		}
	}
}

func TestFailed(t *testing.T) {
	_, late := (&net.Dialer{Deadline: time.Unix(1, 0)}).DialContext(t.Context(), "tcp", "127.0.0.1:1")
	if !errors.Is(late, context.DeadlineExceeded) { // which is why it may be taken for one
		t.Errorf("dial: %v", late)
	}
	for _, tt := range []struct {
		name   string
		err    error
		kind   ErrorKind
		status Status
		output string
	}{
		{"a timeout", &timeoutError{time.Second}, KindTimeout, Timeout, "⏰ Script timed out after 1s before it began."},
		{
			"a timeout while something was under way", fmt.Errorf("open environment: no answer yet: %w", &timeoutError{time.Second}),
			KindTimeout, Timeout, "⏰ Script timed out after 1s before it began: open environment: no answer yet.",
		},
		{"P4 an interrupt", &Interrupt{}, KindInterrupted, Interrupted, "[execution interrupted]"},
		{"P3 an interrupt with a reason", &Interrupt{Reason: "user typed stop"}, KindInterrupted, Interrupted, "[execution interrupted — user typed stop]"},
		{"B037 a cancelled context has no invented reason", context.Canceled, KindInterrupted, Interrupted, "[execution interrupted]"},
		{"a deadline that bounds one step is no interrupt", fmt.Errorf("lock: %w", context.DeadlineExceeded), KindBackend, Failure, ""},
		{"nor is a timeout of the network", fmt.Errorf("connect: %w", late), KindBackend, Failure, ""},
		{"python", fmt.Errorf("open: %w", backend.ErrNoPython), KindPython, Failure, ""},
		{"usage", usageError{errors.New("no")}, KindUsage, Failure, ""},
		{"a value of the configuration", &config.ValueError{}, KindUsage, Failure, ""},
		{"a configuration that others may write to", fmt.Errorf("read: %w", config.ErrUnsafe), KindPolicy, Failure, ""},
		{"transport", fmt.Errorf("%w: %w", errTransport, errors.New("x")), KindTransport, Failure, ""},
		{"an environment that has too little memory to open", fmt.Errorf("open: %w: %w", backend.ErrUnavailable, &backend.ExitError{Code: -9, OOMKilled: true}), KindOOM, Failure, ""},
		{"anything else", errors.New("daemon is down"), KindBackend, Failure, ""},
		{"unavailable", backend.ErrUnavailable, KindBackend, Failure, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Failed(tt.err)
			if r.ErrorKind != tt.kind || r.Status != tt.status || r.Output != tt.output || r.Error == "" || r.ExitCode != nil {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name   string
		exit   *backend.ExitError
		stderr string
		kind   ErrorKind
		error  string
	}{
		{"success", nil, "noise", "", ""},
		{"a status", &backend.ExitError{Code: 4}, "", KindScript, "Script exited with code 4"},
		{"a traceback", &backend.ExitError{Code: 1}, "\n  File x\nSyntaxError: y\n", KindScript, "  File x\nSyntaxError: y"},
		{"blank stderr", &backend.ExitError{Code: 1}, " \n", KindScript, "Script exited with code 1"},
		{"a crash", &backend.ExitError{Code: -11, Signal: 11}, "x", KindSignal, "Script was killed by signal 11 (SIGSEGV)."},
		{"a rare signal", &backend.ExitError{Code: -40, Signal: 40}, "", KindSignal, "Script was killed by signal 40."},
		{"B072 only 137 is known", &backend.ExitError{Code: -9, Signal: 9}, "", KindSignal, "Script was killed by signal 9 (SIGKILL), which nobody here sent: likely memory ran out."},
		{"B072 the cgroup says so", &backend.ExitError{Code: -9, Signal: 9, OOMKilled: true}, "", KindOOM, "Script was killed: out of memory."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r Result
			r.judge(&kernel.Outcome{Delivered: true, Exit: tt.exit}, tt.stderr)
			if r.ErrorKind != tt.kind || r.Error != tt.error || (r.Status == Success) != (tt.exit == nil) {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func BenchmarkEventJSON(b *testing.B) {
	e := Event{Type: EventStdout, Text: strings.Repeat("line 12345 of the output\n", 2621)}
	b.SetBytes(int64(len(e.Text)))
	for b.Loop() {
		if _, err := JSON(e); err != nil {
			b.Fatal(err)
		}
	}
}
