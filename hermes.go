// Package hermes runs Python that a language model wrote where it belongs, gives it host tools as
// ordinary functions, and returns one true result.
//
// Open proves an environment; Env.Run runs a script in it; the Result has the same keys on every
// backend and in every mode. The package reads nothing of the process it lives in: environment,
// working directory and settings are what Options say.
package hermes

import (
	"io"
	"log/slog"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/kernel"
	"github.com/hermes-exec/hermes-exec/tool"
)

// Options say where and under which limits scripts run.
type Options struct {
	Settings config.Settings           // config.Defaults() is a good start
	Environ  map[string]string         // the caller's environment variables
	Dir      string                    // the caller's working directory, absolute
	Openers  map[string]backend.Opener // the backends on offer, by URL scheme; see backend/all
	Tools    []tool.Tool               // tools of the embedding program, besides the seven
	Log      *slog.Logger              // nil: silent

	// Warnings are told by every result, for example those of config.Load.
	Warnings []string

	// Limits is the hint of a result whose run could not start for want of processes, open files or
	// memory: whose limits these are, where they are not those of the caller. It may be "".
	Limits string
}

// Script is what to run.
type Script struct {
	// File is a path on the host. Where the environment is the host it runs in place, elsewhere it
	// is sent alone. If it is empty, Code runs as script.py.
	File string
	Code []byte

	// Name is a path on the host: sys.argv[0] of a session's cell that came as Code and was a FILE.
	Name  string
	Args  []string  // sys.argv[1:]
	Stdin io.Reader // nil: empty

	// Stdout and Stderr, if not nil, get the bytes live, as the script writes them. They may be
	// written to at the same time. A writer that fails gets no more. Who takes all of stdout so has
	// no need of a spill: then none is written.
	Stdout, Stderr io.Writer

	// Stream says that output is wanted as events too. Where neither Stream nor a writer wants all
	// of it, only what the result needs crosses the wire.
	Stream bool

	// Events, if not nil, gets what happens while the script runs, one event at a time. It must not
	// close the Env. It may take its time, in which the script has to wait; when the run is ended, by
	// its timeout or the caller, one that is stuck for a second gets no more.
	Events func(Event)

	// Display shows the values of a cell's expressions, as the interactive interpreter does. A script
	// that is no cell of a session shows none.
	Display bool

	// Soft has an interrupt try KeyboardInterrupt first, which may keep the state of a session, as an
	// Interrupt that is Soft does. A script of its own ends.
	Soft bool

	// Artifacts is a directory on the host, which is made if need be. The script finds another one as
	// $HERMES_ARTIFACTS, and the files that it leaves there come into this one, in place of those with the
	// same names; "": there is none.
	Artifacts string

	// Trace puts the list of tool calls into the result.
	Trace bool

	// Spills are files on the host, the full texts of earlier results, that the script's read_file
	// and search_files may read.
	Spills []string
}

// Interrupt is the cause with which a caller cancels the context of a run.
type Interrupt = kernel.Interrupt //nolint:errname // it says what the caller does
