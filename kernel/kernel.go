// Package kernel runs cells of Python in an environment: each in a process of its own, or one after
// another in a process that keeps its state.
package kernel

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
)

// Cell is one piece of Python to run.
type Cell struct {
	// File is a script that lies in the environment already and runs in place, which a kernel refuses
	// with errors.ErrUnsupported. If it is empty, Code runs; OneShot stages it as ScriptName.
	File string
	Code []byte

	// Script is sys.argv[0] in a kernel; "" is the file that __main__.__file__ names there. OneShot
	// does not need it: an interpreter says itself which file it runs.
	Script string
	Args   []string // sys.argv[1:]

	// Dir is the working directory; "" is the backend's. A kernel goes there when it is another than
	// that of the cell before: until then it stays where the cells themselves have gone.
	Dir string

	// Env are variables of this cell alone, beside those of the process and before them.
	Env map[string]string

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Keep           *backend.Keep

	// ToolsChanged has a kernel load hermes_tools again, which was replaced in its staging directory.
	ToolsChanged bool

	// Display has a kernel show the values of expressions, as the interactive interpreter does.
	Display bool

	// Soft has a kernel whose cell is ended try KeyboardInterrupt first, which may keep its state.
	// SoftInterrupt is that for an *Interrupt alone.
	Soft, SoftInterrupt bool
}

// Outcome is how a cell ended.
type Outcome struct {
	Delivered      bool               // an exit status was
	Exit           *backend.ExitError // that status; nil is status 0
	Exited         bool               // the cell asked for it, by sys.exit or its like; only a kernel tells
	Stdout, Stderr backend.Counts
	Survivors      []string // processes of the cell that could not be ended

	// Ended says that the kernel is gone, and with it what it held. A one-shot executor has none.
	Ended bool
	// Unconfirmed says that it was to be ended and that nobody has told that it is: it may still run.
	Unconfirmed bool
	// Spoilt is why it was ended although nobody wanted that: nil or ErrSpoilt.
	Spoilt error
	// Fallback is why the cell ran in a process of its own although a kernel was wanted.
	Fallback string
	// Lost is why the state of earlier cells was gone when this one began: its kernel had ended.
	Lost error
	// Tools are the names by which a cell that failed knew tools of earlier cells, with those tools, or
	// hermes_tools. It is the environment's word.
	Tools map[string]string
	// Moved is where the cell ran because its directory had been removed; "" is where it should.
	Moved string
}

// Executor runs cells.
type Executor interface {
	// Exec runs one cell to its end. An error means that the cell did not end by itself: it is the
	// cause of ctx, when that ended the cell, or an error of the backend. The outcome is nil only if
	// the cell did not start.
	Exec(ctx context.Context, c Cell) (*Outcome, error)

	// Close ends what the executor keeps. It is idempotent.
	Close() error
}

// Interrupt is the cause with which a caller ends a cell.
type Interrupt struct { //nolint:errname // it says what the caller does
	Reason string // what the result says; "" is neutral
	Kill   bool   // at once, without a chance to end in order
	Soft   bool   // a kernel may answer with KeyboardInterrupt and live on, as with Cell.Soft
}

// Error says why the cell was interrupted.
func (i *Interrupt) Error() string {
	if i.Reason == "" {
		return "interrupted"
	}
	return "interrupted: " + i.Reason
}

// Process says how the processes of cells run.
type Process struct {
	// Staging is a directory of the environment that an executor puts its files into.
	// OneShot's is a cell's code, which replaces that of the cell before: use one directory for cells
	// that run at once.
	Staging string

	// Files are put in place with each process of OneShot: what lies in Staging then.
	Files []backend.File

	Env   map[string]string // the whole environment of the cells
	Grace time.Duration     // between the signal that ends a cell and Kill; 0 kills at once
}

// stop says how a cell ends whose context has.
func (p Process) stop(cause error) backend.Stop {
	interrupt := (*Interrupt)(nil)
	switch {
	case !errors.As(cause, &interrupt):
		return backend.Stop{Signal: backend.Terminate, Grace: p.Grace}
	case interrupt.Kill:
		return backend.Stop{}
	default:
		return backend.Stop{Signal: backend.Interrupt, Grace: p.Grace}
	}
}
