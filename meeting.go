package hermes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/transport"
	"github.com/hermes-exec/hermes-exec/transport/filerpc"
	"github.com/hermes-exec/hermes-exec/transport/tcp"
	"github.com/hermes-exec/hermes-exec/transport/uds"
)

// errTransport says that tool calls cannot travel, or do no longer.
var errTransport = errors.New("no way for tool calls")

// cutOff is why tool calls cannot travel any more. An environment that is gone takes the script along,
// which tells of it in the same words.
func cutOff(err error) error {
	if gone := (*backend.GoneError)(nil); errors.As(err, &gone) {
		return gone
	}
	return fmt.Errorf("%w: %w", errTransport, err)
}

// transports are those to try, in order of cost.
func transports(s config.Settings, info backend.Info, log *slog.Logger) []transport.Transport {
	o := transport.Options{MaxLine: int(s.MaxLine), Log: log}
	byName := map[string]transport.Transport{
		"uds": uds.Transport{Options: o}, "tcp": tcp.Transport{Options: o}, "file": filerpc.Transport{Options: o},
	}
	order := []string{s.Transport}
	switch {
	case s.Transport != "auto" && s.Transport != "":
	case info.OS == "windows":
		order = []string{"tcp", "uds", "file"}
	case info.SameHost:
		order = []string{"uds", "tcp", "file"}
	default:
		order = []string{"uds", "file"} // the loopback there is not ours: only on request
	}
	var list []transport.Transport
	for _, name := range order {
		if t, ok := byName[name]; ok {
			list = append(list, t)
		}
	}
	return list
}

// meeting is an open endpoint and how it was come to.
type meeting struct {
	transport.Endpoint
	name     string
	fallback []Fallback
}

// meet opens an endpoint: the one that Open has proved, else by the first transport that works.
// Those that did not are not tried again by later runs.
func (e *Env) meet(ctx context.Context) (*meeting, error) {
	e.mu.Lock()
	ready, list, fallback := e.ready, e.transports, e.fallback
	e.ready = nil
	e.mu.Unlock()
	if ready != nil {
		return ready, nil
	}
	fallback = append([]Fallback(nil), fallback...)
	for i, t := range list {
		endpoint, err := t.Open(ctx, e.backend)
		if err == nil {
			e.mu.Lock()
			e.transports, e.fallback = list[i:], fallback
			e.mu.Unlock()
			return &meeting{endpoint, t.Name(), fallback}, nil
		}
		if i == len(list)-1 || ctx.Err() != nil {
			return nil, fmt.Errorf("%w by %s: %w", errTransport, t.Name(), err)
		}
		e.log.WarnContext(ctx, "transport does not work here", "transport", t.Name(), "error", err)
		fallback = append(fallback, Fallback{From: t.Name(), To: list[i+1].Name(), Reason: err.Error()})
	}
	return nil, fmt.Errorf("%w: there is no transport %q", errTransport, e.options.Settings.Transport)
}

// Attempt is one transport and whether it works in an environment.
type Attempt struct {
	Transport string
	Err       error // nil: it works
}

// Transports tries every transport that scripts would be given, in their order.
func (e *Env) Transports(ctx context.Context) []Attempt {
	var attempts []Attempt
	for _, t := range transports(e.options.Settings, e.Info(), e.log) {
		endpoint, err := t.Open(ctx, e.backend)
		if err == nil {
			err = endpoint.Close()
		}
		attempts = append(attempts, Attempt{t.Name(), err})
	}
	return attempts
}
