package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Answer lets h answer r and returns the reply, one line with its newline, in pieces that are to be
// written one after another, and what it holds of the memory until then. The first piece uses buf,
// which may be nil, if that is large enough. A panic of h is an error that the script gets, and is
// logged.
func (w *Wire) Answer(ctx context.Context, h Handler, r *Request, buf []byte) (net.Buffers, Grant) {
	if r.refused != nil {
		h.Refuse(r.refused)
		return r.reply(failure(r.refused), buf), Grant{}
	}
	var grant Grant
	r.call.Admit = func(ctx context.Context, size int64) error { return w.replies.Grow(ctx, &grant, size) }
	result, err := w.handle(ctx, h, &r.call)
	if err == nil {
		result, err = w.presentable(result)
	}
	if err == nil && len(result) > joinLimit { // whatever the handler asked for
		err = r.call.Admit(ctx, int64(len(result)))
	}
	if err != nil {
		result = failure(err)
	}
	return r.reply(result, buf), grant
}

// handle calls the handler and turns a panic into an error.
func (w *Wire) handle(ctx context.Context, h Handler, c *Call) (result json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			w.Log().ErrorContext(ctx, "a tool call panicked", "tool", c.Tool, "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("internal error in tool %s", c.Tool)
		}
	}()
	return h.Handle(ctx, c)
}

// presentable returns the result as it can stand in a reply. A result on several lines would be
// taken for several replies.
func (w *Wire) presentable(result json.RawMessage) (json.RawMessage, error) {
	if bytes.IndexByte(result, '\n') >= 0 {
		compact := jsontext.Value(bytes.Clone(result))
		if err := compact.Compact(); err != nil {
			return nil, fmt.Errorf("internal error: the result is not valid JSON")
		}
		result = json.RawMessage(compact)
	}
	switch {
	case len(result) == 0:
		return nil, fmt.Errorf("internal error: the result is empty")
	case len(result) > w.opts.MaxLine:
		return nil, fmt.Errorf("the result of %d bytes is longer than the limit of %d bytes", len(result), w.opts.MaxLine)
	}
	return result, nil
}

// failure is the result that stands for an error.
func failure(err error) json.RawMessage {
	quoted, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(err.Error(), "\uFFFD"))
	return json.RawMessage(`{"error":` + string(quoted) + `}`)
}

// joinLimit is up to which size a reply is copied together, in bytes: one small write is cheaper
// than a vector of three.
const joinLimit = 64 << 10

// reply frames a result.
func (r *Request) reply(result json.RawMessage, buf []byte) net.Buffers {
	if size := len(r.id) + 24 + min(len(result), joinLimit); size > cap(buf) {
		buf = make([]byte, 0, size)
	}
	head := append(buf[:0], '{')
	if r.id != nil {
		head = append(append(append(head, `"id":`...), r.id...), ',')
	}
	head = append(head, `"result":`...)
	if len(result) <= joinLimit {
		return net.Buffers{append(append(head, result...), "}\n"...)}
	}
	return net.Buffers{head, result, []byte("}\n")}
}

// Log is where to say what no caller is told. It is never nil.
func (w *Wire) Log() *slog.Logger { return w.opts.Log }

// withDefaults returns o with its zero values replaced.
func (o Options) withDefaults() Options {
	if o.MaxLine <= 0 {
		o.MaxLine = DefaultMaxLine
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = DefaultMaxInFlight
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
