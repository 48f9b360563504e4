package hermes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/kernel"
)

// usageError is a mistake of the caller.
type usageError struct{ error }

// Unwrap returns the mistake.
func (e usageError) Unwrap() error { return e.error }

// NoCode begins the error of a script that is empty. Programs match on it.
const NoCode = "No code provided."

// errNoCode answers a model.
var errNoCode = errors.New(NoCode + //nolint:staticcheck // fixed wording
	" The parameter `code` is required: pass the Python source of the script to run")

// Failed is the result of a run that did not come about because of err, which Open returned or
// which stands for a mistake of the caller: *config.ValueError, *config.FileError.
func Failed(err error) *Result {
	r := &Result{}
	r.fail(err, notBegun)
	r.mark(err)
	return r
}

// end is what became of a script whose run was ended.
type end int

const (
	notBegun end = iota // nothing of it has run
	killed
	givenUp // nobody has told that it has ended
	obeyed  // a cell that ended by KeyboardInterrupt: its kernel lives on
)

// end says what became of the script.
func (r *run) end() end {
	switch o := r.outcome; {
	case o == nil:
		return notBegun
	case r.unconfirmed():
		return givenUp
	case o.Ended || r.session == nil || r.fallback != "":
		return killed
	default:
		return obeyed
	}
}

// fail puts an error that is not the script's own into the result. How is what became of the script.
func (r *Result) fail(err error, how end) {
	r.ErrorKind, r.Error = kindOf(err), err.Error()
	switch r.ErrorKind {
	case KindTimeout:
		r.Status = Timeout
		if limit, ok := errors.AsType[*timeoutError](err); ok {
			r.Error = limit.Error() + map[end]string{
				notBegun: " before it began" + under(err, limit) + ".", killed: " and was killed.",
				givenUp: " and was given up: its environment does not answer.",
				obeyed:  " and was interrupted (KeyboardInterrupt). The session's state is kept.",
			}[how]
		}
	case KindInterrupted:
		r.Status = Interrupted
		r.Error = "Script was interrupted"
		if how == notBegun {
			r.Error += " before it began"
		}
		if reason := interruption(err); reason != "" {
			r.Error += ": " + reason
		} else {
			r.Error += "."
		}
	case KindOOM:
		r.Status = Failure
		if how != notBegun {
			r.Error = memoryRanOut
		}
	default:
		r.Status = Failure
	}
}

// memoryRanOut is the error of a script that was killed for want of memory.
const memoryRanOut = "Script was killed: out of memory."

// outOfMemory tells whether an environment is gone because its memory ran out.
func outOfMemory(err error) bool {
	exit, ok := errors.AsType[*backend.ExitError](err)
	return ok && exit.OOMKilled
}

// mark ends the output of a run that was ended with what ended it.
func (r *Result) mark(err error) {
	switch r.Status {
	case Timeout:
		r.Output = below(r.Output, "\n⏰ "+r.Error)
	case Interrupted:
		marker := "[execution interrupted]"
		if reason := interruption(err); reason != "" {
			marker = "[execution interrupted — " + reason + "]"
		}
		r.Output = below(r.Output, marker)
	case Success, Failure:
	}
}

// below puts text on a line of its own after what was printed.
func below(printed, text string) string {
	switch {
	case printed == "":
		return strings.TrimLeft(text, "\n")
	case strings.HasSuffix(printed, "\n"):
		return printed + text
	default:
		return printed + "\n" + text
	}
}

// interruption is the reason that the caller gave, "" if there is none.
func interruption(err error) string {
	if i := (*kernel.Interrupt)(nil); errors.As(err, &i) {
		return i.Reason
	}
	return ""
}

// deadlineError is the end of a context whose deadline the caller has set. Others are no interrupts: each
// bounds one step (a dial, a lock), whose failure it is.
type deadlineError struct{ error }

// Unwrap returns what the deadline has ended.
func (e deadlineError) Unwrap() error { return e.error }

// kindOf says what kind of failure err is, as long as it is not the script's.
func kindOf(err error) ErrorKind {
	switch {
	case errors.As(err, new(*timeoutError)):
		return KindTimeout
	case errors.As(err, new(*kernel.Interrupt)), errors.As(err, new(deadlineError)), errors.Is(err, context.Canceled):
		return KindInterrupted
	case errors.Is(err, config.ErrUnsafe):
		return KindPolicy
	case errors.As(err, new(usageError)), errors.As(err, new(*config.ValueError)), errors.As(err, new(*config.FileError)):
		return KindUsage
	case errors.Is(err, backend.ErrNoPython):
		return KindPython
	case outOfMemory(err):
		return KindOOM
	case errors.Is(err, errTransport):
		return KindTransport
	default:
		return KindBackend
	}
}

// judge says how a script ended by itself. Stderr is what it printed there.
func (r *Result) judge(o *kernel.Outcome, stderr string) {
	exit := o.Exit
	if exit == nil && o.Delivered {
		r.Status = Success
		return
	}
	r.Status = Failure
	if exit != nil {
		r.Signal = exit.Signal
	}
	switch {
	case o.Spoilt != nil:
		r.ErrorKind, r.Error = KindScript, fmt.Sprintf("The session's Python process was ended, and its state is lost: %v.", o.Spoilt)
	case exit == nil:
		r.ErrorKind, r.Error = KindScript, "The session's Python process ended without a word, and its state is lost."
	case exit.OOMKilled:
		r.ErrorKind, r.Error = KindOOM, memoryRanOut
	case exit.Signal == backend.Kill:
		r.ErrorKind, r.Error = KindSignal, "Script was killed by signal 9 (SIGKILL), which nobody here sent: likely memory ran out."
	case exit.Signal != 0:
		r.ErrorKind, r.Error = KindSignal, fmt.Sprintf("Script was killed by signal %d%s.", int(exit.Signal), signalName(exit.Signal))
	default:
		r.ErrorKind, r.Error = KindScript, strings.TrimRight(strings.TrimLeft(stderr, "\r\n"), " \t\r\n")
		if r.Error == "" {
			r.Error = fmt.Sprintf("Script exited with code %d", exit.Code)
		}
	}
}

// signalName is the name of a signal that ends scripts, in brackets.
func signalName(s backend.Signal) string {
	names := map[backend.Signal]string{
		1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
		11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
	}
	if name := names[s]; name != "" {
		return " (" + name + ")"
	}
	return ""
}

// under tells what was under way when the time was over, as far as err does.
func under(err error, limit *timeoutError) string {
	if what, ok := strings.CutSuffix(err.Error(), ": "+limit.Error()); ok {
		return ": " + what
	}
	return ""
}

// ended is the cause of ctx, if that has ended and err does not tell of it, else err. Ctx is that of a
// caller, or made of one: a deadline of it that has no cause is the caller's.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	cause := context.Cause(ctx)
	if !errors.Is(err, cause) {
		err = cause
	}
	if cause == context.DeadlineExceeded { //nolint:errorlint // the context's own: a timeout of the network counts as one, too
		err = deadlineError{err}
	}
	return err
}

// joined is the text of several errors of one teardown.
func joined(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

var _ multierror.ErrorFormatFunc = joined
