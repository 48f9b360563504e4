package hermes

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/output"
)

// result gathers what the run came to. Err is why the script did not end by itself.
func (r *run) result(err error) *Result {
	res := &Result{Backend: Name(r.env.Info().Name)}
	if r.meeting != nil {
		res.Transport, res.Fallback = Name(r.meeting.name), r.meeting.fallback
	}
	if r.fallback != "" {
		res.Fallback = append(slices.Clone(res.Fallback), Fallback{From: "kernel", To: "oneshot", Reason: r.fallback})
	}
	r.count(res)
	stdout, stderr := r.printed()
	res.keep(stdout)
	if r.outcome != nil {
		r.execution(res)
		err = lost(err)
	}
	res.Kernel = r.session
	if err != nil {
		res.fail(err, r.end())
	} else {
		res.judge(r.outcome, stderr.Text)
	}
	if res.Status == Failure {
		res.addStderr(stderr.Text)
	}
	res.mark(err)
	res.Hint = cmp.Or(r.env.options.limits(err), hint(r.evidence(res, stdout, stderr)))
	if res.Hint == "" && res.ErrorKind == KindScript {
		res.Hint = r.foreseen(stderr.Text)
	}
	r.warn(stdout, stderr)
	if r.unconfirmed() && res.Status != Failure && r.env.life.Err() == nil {
		r.warnings = append(r.warnings, "the environment did not confirm that the script has ended: it may still run")
	}
	res.Warning = strings.Join(r.warnings, "\n")
	r.mask(res)
	res.Duration = Seconds(time.Since(r.start).Seconds())
	return res
}

// execution says how the script ran, and what status it delivered.
func (r *run) execution(res *Result) {
	o := r.outcome
	res.Execution = "oneshot"
	res.ExitCode, res.Exited = exitCode(o.Delivered, o.Exit), o.Exited
	if r.session != nil && r.fallback == "" {
		res.Execution = "kernel"
	}
}

// unconfirmed tells whether a script may still run that was to be ended.
func (r *run) unconfirmed() bool {
	if r.outcome == nil {
		return false
	}
	return r.outcome.Unconfirmed || !r.outcome.Delivered && (r.session == nil || r.fallback != "")
}

// lost says that a script that had begun was lost with its environment: that is no fault of the
// backend's set-up but of the way there.
func lost(err error) error {
	if errors.Is(err, backend.ErrUnavailable) || errors.Is(err, backend.ErrNoExitStatus) {
		return lostError{err}
	}
	return err
}

// lostError is what happened to a script whose end is not known.
type lostError struct{ error }

// Error says so.
func (e lostError) Error() string {
	if errors.Is(e.error, backend.ErrNoExitStatus) { // which says so itself
		return "the script was lost: " + e.error.Error()
	}
	return "the script was lost: no exit status was delivered: " + e.error.Error()
}

// Unwrap returns the cause.
func (e lostError) Unwrap() []error { return []error{errTransport, e.error} }

// exitCode is nil if no status was delivered.
func exitCode(delivered bool, exit *backend.ExitError) *int {
	if !delivered {
		return nil
	}
	code := 0
	if exit != nil {
		code = exit.Code
	}
	return &code
}

// count puts the tool calls into the result.
func (r *run) count(res *Result) {
	res.ToolCallsMade, res.ToolCallsRefused = r.calls.Made, r.calls.Refused
	res.Artifacts = r.artifacts
	if r.script.Trace {
		res.ToolCalls = trace(r.calls.Trace, r.secrets.Mask)
	}
}

// printed ends the capture of the script's output.
func (r *run) printed() (stdout, stderr output.Text) {
	if r.stdout == nil {
		return output.Text{}, output.Text{}
	}
	var out, err backend.Counts
	if r.outcome != nil {
		out, err = r.outcome.Stdout, r.outcome.Stderr
	}
	return r.stdout.Finish(out.Omitted), r.stderr.Finish(err.Omitted)
}

// keep puts what was printed into the result.
func (r *Result) keep(stdout output.Text) {
	r.Output = stdout.Text
	r.StdoutTruncated = stdout.Truncated
	r.StdoutCaptured, r.StdoutTotal, r.StdoutOmitted = stdout.Captured, stdout.Total, stdout.Omitted
	if stdout.SpillPath != "" {
		r.StdoutSpillPath, r.StdoutSpillTruncated = stdout.SpillPath, &stdout.SpillTruncated
	}
}

// warn adds what the run itself gives reason to warn of.
func (r *run) warn(stdout, stderr output.Text) {
	r.warnings = append(r.warnings, cuts(r.script, stdout, stderr)...)
	if n := r.calls.OverBudget; n > 0 {
		r.warnings = append(r.warnings, fmt.Sprintf("%d tool call(s) were refused: the limit is %d a run (--max-tool-calls)",
			n, r.env.options.Settings.MaxToolCalls))
	}
	if r.outcome != nil && r.outcome.Moved != "" {
		r.warnings = append(r.warnings, "the working directory had been removed: the cell ran in "+r.outcome.Moved)
	}
	if r.outcome != nil && len(r.outcome.Survivors) > 0 {
		r.warnings = append(r.warnings, "these processes of the script could not be ended: "+strings.Join(r.outcome.Survivors, ", "))
	}
}

// cuts warns of output that is not all shown, to callers who have not had it live.
func cuts(s Script, stdout, stderr output.Text) []string {
	var warnings []string
	if stdout.Truncated && s.Stdout == nil {
		warnings = append(warnings, truncation(stdout))
	}
	if stderr.Truncated && s.Stderr == nil {
		warnings = append(warnings, fmt.Sprintf("stderr was truncated: %d of %d bytes are shown", stderr.Captured, stderr.Total))
	}
	return warnings
}

// truncation tells what is missing and where it is.
func truncation(t output.Text) string {
	text := fmt.Sprintf("output was truncated: %d of %d bytes are shown", t.Captured, t.Total)
	switch {
	case t.SpillErr != nil:
		return text + fmt.Sprintf("; the full text could not be kept: %v", t.SpillErr)
	case t.SpillPath == "":
		return text
	case t.SpillTruncated:
		return text + "; the beginning of the full text is in " + t.SpillPath + ": use read_file to see it"
	default:
		return text + "; the full text is in " + t.SpillPath + ": use read_file to see it"
	}
}

// evidence gathers what a hint may need.
func (r *run) evidence(res *Result, stdout, stderr output.Text) evidence {
	e := evidence{
		status: res.Status, kind: res.ErrorKind, stdout: stdout.Text, stderr: stderr.Text, code: r.source.code,
		tools: r.env.tools.Specs(), others: r.env.others, made: r.calls.Made, lastError: r.calls.LastError,
		refused: r.calls.Refused - r.calls.OverBudget, refusal: r.calls.Refusal, cut: stdout.Truncated || stderr.Truncated,
		dropped: r.report.Dropped, reserved: r.env.options.Settings.ReservedEnv,
		python: r.env.Info().Python.Path, shipped: r.source.shipped,
		artifacts: r.artifacts != nil, noNetwork: r.env.Info().NoNetwork, memory: r.env.Info().Memory,
	}
	if r.env.Info().TempInMemory {
		e.memoryDir = r.env.Info().Temp
	}
	return e
}

// mask takes secrets and terminal escapes out of the texts that were not rendered already.
func (r *run) mask(res *Result) {
	res.Error = r.secrets.Mask(output.StripEscapes(res.Error))
	res.Warning = r.secrets.Mask(res.Warning)
	res.Hint = r.secrets.Mask(res.Hint)
}
