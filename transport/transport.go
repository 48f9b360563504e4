// Package transport carries tool calls from a script back to the host.
//
// The guest always calls, the host always answers. A Transport decides how a call looks at the
// rendezvous that a backend provides: lines on a socket (uds, tcp, over Backend.Listen) or files in
// a spool (filerpc, over Backend.Share). It knows no implementation of a backend, and nothing of
// tools: those stand behind a Handler.
package transport

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/hermes-exec/hermes-exec/backend"
)

// The environment variables that tell a script where its calls go. Child processes inherit them.
const (
	EnvSocket = "HERMES_RPC_SOCKET" // a Unix socket path, or tcp://127.0.0.1:PORT
	EnvDir    = "HERMES_RPC_DIR"    // the spool directory
	EnvToken  = "HERMES_RPC_TOKEN"
)

// Defaults of Options, in bytes.
const (
	DefaultMaxLine     = 64 << 20
	DefaultMaxInFlight = 256 << 20
)

// Call is one request whose token, size, JSON and shape have been checked.
type Call struct {
	Tool string
	Args json.RawMessage // a JSON object, valid UTF-8 without lone surrogates
	Dir  string          // the caller's current directory in the environment; "" if not sent

	// Admit waits until the reply may occupy size bytes of memory in all, or ctx ends; what it
	// allowed is given back when the reply is written. Handlers ask before they make a large result,
	// and not concurrently. Nil allows everything.
	Admit func(ctx context.Context, size int64) error
}

// Handler answers calls. It is called concurrently.
type Handler interface {
	// Handle returns the result as JSON on one line, which is spliced into the reply as it is. An error
	// becomes {"error": its text}. Ctx ends when the caller is gone or the endpoint closes.
	Handle(ctx context.Context, c *Call) (json.RawMessage, error)

	// Refuse is told of a request that was answered with reason before it became a Call.
	Refuse(reason error)
}

// Transport opens endpoints.
type Transport interface {
	// Name is "uds", "tcp" or "file".
	Name() string

	// Open makes the rendezvous in b. It returns only when the place was seen to work from inside.
	// The endpoint outlives ctx.
	Open(ctx context.Context, b backend.Backend) (Endpoint, error)
}

// Endpoint is one open rendezvous with a token of its own, for one run or one session.
type Endpoint interface {
	// Env returns EnvToken and one of EnvSocket and EnvDir.
	Env() map[string]string

	// Serve answers calls until ctx ends, Close is called or the endpoint breaks, and says which:
	// context.Cause(ctx), net.ErrClosed, or an error that wraps backend.ErrUnavailable. It returns
	// when every handler has returned, and is called once.
	Serve(ctx context.Context, h Handler) error

	// Close ends Serve and removes the rendezvous. It is idempotent.
	Close() error
}

// Options are common to all transports. The zero value has the defaults.
type Options struct {
	MaxLine     int          // bytes of one request or reply; 0 is DefaultMaxLine
	MaxInFlight int64        // bytes of requests and replies in memory, all together, half for each; 0 is DefaultMaxInFlight
	Log         *slog.Logger // nil: silent
}
