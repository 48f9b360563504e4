// Package tool holds the functions that a script can call on its host, and the one dispatcher that
// every call passes.
//
// A Tool describes itself by a Spec; the stubs, the model's schema and the documentation are all
// rendered from it. File tools and terminal act in the environment where the script runs, web tools
// on the host.
package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/web"
)

// Tool is one function.
type Tool interface {
	// Spec describes the tool. It returns the same value every time.
	Spec() Spec

	// Call runs the tool. Args fits the Spec and has its normal form: known parameters only, the
	// required ones present, of the right types, no null, defaults not filled in. The result is a JSON
	// object on one line without the key "error"; a failure that the script should see is an error,
	// whose text it gets. Ctx carries the run's deadline.
	Call(ctx context.Context, env *Env, args json.RawMessage) (json.RawMessage, error)
}

// ArgsChecker is a Tool some of whose arguments depend on each other. CheckArgs says what is wrong
// with arguments that fit the Spec; such a call costs the script nothing, as one whose arguments do
// not.
type ArgsChecker interface {
	CheckArgs(args json.RawMessage) error
}

// Env is where a call acts.
type Env struct {
	Backend backend.Backend
	Dir     string            // the caller's current directory, absolute
	Environ map[string]string // what child processes get
	Grace   time.Duration     // between SIGTERM and SIGKILL
	Files   *Files            // the pool of file helpers of this environment

	// Admit waits until the reply may occupy size bytes of memory, see transport.Call; nil allows
	// everything.
	Admit func(ctx context.Context, size int64) error

	// Spills are the host files that read_file and search_files serve from the host, by exact path.
	Spills func(path string) bool

	// Keep stores a text too long for a result as a file on the host that Spills serves from then on;
	// cut says that the file ends early. Nil: there is no place for one.
	Keep func(text string) (path string, cut bool, err error)

	// Pages are those that the run has fetched; nil keeps none.
	Pages *web.Cache
}

// Spec is the single source for stubs, schema and docs.
type Spec struct {
	Name    string
	Summary string // one sentence, for the docstring and the schema
	Params  []Param
	Returns string // the shape of a successful result, for the docstring and the schema

	// Keys are all that a successful result can have at its top. A script that takes another is known
	// to fail before it runs. None means that nobody knows.
	Keys []string

	// Rows are the dicts in the list that a result has, as the matches of a search. Nil means that it has
	// none, or that nobody knows their keys.
	Rows *Rows

	// Holds says where a result has its content, as in `its text is in ["content"]`. Empty means that
	// there is nothing to say.
	Holds string

	// Unconfigured says why the tool cannot work yet, as in "no web.provider is set". The tool stays
	// callable, and schema, tools list and doctor mark it. Empty means that it can work.
	Unconfigured string

	// Asks names the service that the tool asks, as doctor shows it. Empty means that there is none.
	Asks string
}

// Rows are dicts in a list of a result.
type Rows struct {
	In   []string // the keys that lead to the list; all but the last are of dicts that have no other
	Keys []string // all that one of them can have
}

// Type is the type of a parameter.
type Type string

// The parameter types that tools use.
const (
	String     Type = "string"
	Integer    Type = "integer"
	Number     Type = "number"
	Boolean    Type = "boolean"
	StringList Type = "string list" // or one string, which is a list of one
)

// Param is one parameter. The order of Spec.Params is that of positional arguments.
type Param struct {
	Name     string
	Type     Type
	Required bool
	Default  any      // what the stub shows; nil is None
	Nullable bool     // null is accepted and means the default
	Enum     []string // the values that a String may have; nil: any
	Min      *int64   // the least value of an Integer; nil: any
	Above    *float64 // what a Number must be more than; nil: anything
	Below    *float64 // what a Number must be less than; nil: anything
	NonEmpty bool     // a String must have a character
	NoNUL    bool     // a String must not have a NUL, which no path and no argument can have
	Doc      string
}
