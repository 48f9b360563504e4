package transport

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// headSize is how far into a request the token may stand, in bytes. A request without it there is
// refused unread, so that a stranger costs no memory.
const headSize = 4 << 10

// maxID bounds the id of a request, which every reply repeats, in bytes.
const maxID = 256

// ErrUnauthorized is the reason of Handler.Refuse for a request without the endpoint's token.
var ErrUnauthorized = errors.New("Unauthorized RPC request") //nolint:staticcheck // the text of the wire contract

// InvalidError is the reason of Handler.Refuse for a request that came with the token and is
// malformed. Its text never quotes the request.
type InvalidError struct{ Reason string }

// Error returns the text that the script gets.
func (e *InvalidError) Error() string { return "Invalid RPC request: " + e.Reason }

func invalid(format string, args ...any) error {
	return &InvalidError{Reason: fmt.Sprintf(format, args...)}
}

// Wire checks requests and words replies. There is one for each endpoint, with the endpoint's token;
// it is safe for concurrent use.
type Wire struct {
	token string
	quick []byte // how our own stub begins every request
	opts  Options

	replies *Memory
}

// NewWire returns a Wire with a fresh token of 32 random bytes, in hex.
func NewWire(o Options) *Wire {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails: the program would have ended
	token := hex.EncodeToString(raw)
	return &Wire{token: token, quick: []byte(`{"token":"` + token + `",`), opts: o.withDefaults(), replies: NewMemory(o)}
}

// Token returns the secret that every request must carry.
func (w *Wire) Token() string { return w.token }

// MaxLine returns the limit of one request or reply, in bytes.
func (w *Wire) MaxLine() int { return w.opts.MaxLine }

// Request is one request, checked. It is either a Call or refused.
type Request struct {
	call    Call
	id      jsontext.Value // nil: not sent, or not known
	refused error
}

// Check checks one complete request in the order of the contract: token, size, JSON, shape. The
// result refers to line, which must not change any more.
func (w *Wire) Check(line []byte) *Request {
	switch {
	case !w.Authorized(line):
		return w.Refused(line, ErrUnauthorized)
	case len(line) > w.opts.MaxLine:
		return w.TooLong(line)
	}
	r := &Request{}
	r.refused = r.parse(line)
	return r
}

// Authorized tells whether the token stands where it must. The head of a request is enough.
func (w *Wire) Authorized(head []byte) bool {
	if len(head) >= len(w.quick) && subtle.ConstantTimeCompare(head[:len(w.quick)], w.quick) == 1 {
		return true
	}
	token, _ := peek(head)
	return subtle.ConstantTimeCompare(token, []byte(w.token)) == 1
}

// TooLong refuses an authorized request that is longer than the limit; head is its beginning.
func (w *Wire) TooLong(head []byte) *Request {
	return w.Refused(head, invalid("the request is longer than %d bytes", w.opts.MaxLine))
}

// Refused refuses a request for a reason; head, its beginning, is searched for the id.
func (w *Wire) Refused(head []byte, reason error) *Request {
	_, id := peek(head)
	return &Request{id: id, refused: reason}
}

// peek looks for token and id in the first bytes of a request, which need not be valid JSON as a
// whole.
func peek(head []byte) (token []byte, id jsontext.Value) {
	head = bytes.Clone(head[:min(len(head), headSize)])
	d := jsontext.NewDecoder(bytes.NewBuffer(head))
	if d.PeekKind() != '{' {
		return nil, nil
	}
	_, _ = d.ReadToken()
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			break
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			break
		}
		switch {
		case key == "token" && value.Kind() == '"':
			token, _ = jsontext.AppendUnquote(nil, value)
		case key == "id" && validID(value):
			id = value.Clone()
		}
	}
	return token, id
}

// validID tells whether a reply can repeat value as the id of its request.
func validID(value jsontext.Value) bool {
	return (value.Kind() == '"' || value.Kind() == '0') && len(value) <= maxID
}

// parse reads the members of a request and returns why it cannot be a call.
func (r *Request) parse(line []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(line))
	if d.PeekKind() != '{' {
		return invalid("it must be a JSON object")
	}
	if _, err := d.ReadToken(); err != nil {
		return notJSON(err)
	}
	var shape error
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return notJSON(err)
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return notJSON(err)
		}
		// ReadValue may reuse what it returned; the line itself stays.
		end := int(d.InputOffset())
		if err := r.member(key, line[end-len(value):end]); err != nil && shape == nil {
			shape = err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return notJSON(err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return invalid("more than one JSON value")
	}
	if shape != nil {
		return shape
	}
	return r.complete()
}

// member takes one member of the request. Unknown ones are for newer hosts.
func (r *Request) member(key string, value jsontext.Value) error {
	var err error
	switch key {
	case "id":
		if value.Kind() == 'n' {
			return nil
		}
		if !validID(value) {
			return invalid("id must be a number or a string of at most %d bytes", maxID)
		}
		r.id = value
	case "tool":
		r.call.Tool, err = text(key, value)
	case "cwd":
		r.call.Dir, err = text(key, value)
	case "args":
		if value.Kind() != '{' {
			return invalid("args must be an object")
		}
		r.call.Args = []byte(value)
	}
	return err
}

// complete checks that nothing is missing.
func (r *Request) complete() error {
	switch {
	case r.call.Tool == "":
		return invalid("tool is missing")
	case r.call.Args == nil:
		return invalid("args is missing")
	default:
		return nil
	}
}

func text(key string, value jsontext.Value) (string, error) {
	if value.Kind() != '"' {
		return "", invalid("%s must be a string", key)
	}
	raw, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return "", notJSON(err)
	}
	return string(raw), nil
}

// notJSON words an error of the parser without the bytes that it quotes.
func notJSON(err error) error {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return invalid("a name stands twice in one object")
	}
	if syntax := (*jsontext.SyntacticError)(nil); errors.As(err, &syntax) {
		return invalid("not valid JSON at byte %d", syntax.ByteOffset)
	}
	return invalid("not valid JSON")
}
