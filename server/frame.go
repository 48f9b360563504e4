package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/hermes-exec/hermes-exec/config"
)

// protocol is the version of the messages. Kinds, and the fields of request and of otherVersion,
// never change their meaning, so that a client and a server of any two versions can tell each other
// who they are.
const protocol = 1

// maxFrame bounds one message, in bytes: a script of 64 MiB with its environment, or its result.
const maxFrame = 256 << 20

// kind says what a frame is. Each is this byte, four bytes of length, big endian, and as many bytes.
type kind byte

// The frames. A connection is one request and ends with its answer.
const (
	kindRequest   kind = 'Q' // client: request, always the first
	kindInterrupt kind = 'I' // client: interrupt
	kindAccepted  kind = 'A' // server: empty; from here on the request has its effect
	kindOther     kind = 'V' // server: otherVersion; the request had no effect
	kindStdout    kind = 'o' // server: bytes as they were written
	kindStderr    kind = 'e'
	kindEvent     kind = 'v' // server: a hermes.Event
	kindProgress  kind = 'p' // server: what takes time, as text; empty when that is over
	kindResult    kind = 'R' // server: a hermes.Result, the last frame
	kindList      kind = 'L' // server: a list of hermes.SessionInfo, the last frame
	kindDone      kind = 'D' // server: a bool, the last frame
)

// request is what a client wants.
type request struct {
	Protocol int
	Version  string
	Op       op
	Name     string // of the session
	Cell     *cell  // of opRun
}

type op string

const (
	opRun   op = "run"
	opList  op = "list"
	opReset op = "reset"
	opEnd   op = "end"
	opStop  op = "stop" // the server ends, with all its sessions
)

// cell is all that the server needs to know to run one.
type cell struct {
	Settings config.Settings
	Warnings []string
	Environ  map[string]string
	Dir      string
	LogLevel int

	Code   []byte
	Script string // the name of a FILE
	Args   []string
	Reset  bool

	Display, Soft bool

	// What of the run the caller wants to see live.
	Stdout, Stderr, Events, Stream, Progress bool

	Trace     bool
	Artifacts string // absolute
	Spills    []string
}

// interrupt ends a cell, as hermes.Interrupt does.
type interrupt struct {
	Reason string
	Kill   bool
}

// otherVersion answers a client that this server cannot serve.
type otherVersion struct {
	Protocol int
	Version  string
	Leaving  bool // it ends, for it has nothing to do: start another
	Sessions int
	Failed   string // why it can serve nobody, and ends
}

// codec translates messages. Text is carried as it is: paths and variables need not be UTF-8.
type codec struct {
	enc cbor.EncMode
	dec cbor.DecMode
}

func newCodec() (codec, error) {
	enc, err := cbor.EncOptions{Time: cbor.TimeRFC3339Nano}.EncMode()
	if err != nil {
		return codec{}, err
	}
	dec, err := cbor.DecOptions{
		UTF8: cbor.UTF8DecodeInvalid, DefaultMapType: reflect.TypeFor[map[string]any](), IntDec: cbor.IntDecConvertSignedOrBigInt,
		MaxArrayElements: maxFrame, MaxMapPairs: maxFrame,
	}.DecMode()
	return codec{enc, dec}, err
}

// conn is one side of a connection. Frames may be sent concurrently.
type conn struct {
	net.Conn
	codec  codec
	mu     sync.Mutex
	broken error // a frame was sent in part: what would follow it is no frame
}

// close ends the connection. There is nobody to tell if that goes wrong.
func (c *conn) close() { _ = c.Close() }

var errFrame = errors.New("no message of the session server")

// send sends a message.
func (c *conn) send(k kind, message any) error {
	payload, err := c.codec.enc.Marshal(message)
	if err != nil {
		return fmt.Errorf("send a message: %w", err)
	}
	return c.sendRaw(k, payload)
}

func (c *conn) sendRaw(k kind, payload []byte) error {
	if len(payload) > maxFrame {
		return fmt.Errorf("send a message of %d bytes: the limit is %d", len(payload), maxFrame)
	}
	head := binary.BigEndian.AppendUint32([]byte{byte(k)}, uint32(len(payload)))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		buffers := net.Buffers{head, payload}
		_, c.broken = buffers.WriteTo(c.Conn)
	}
	return c.broken
}

// receive returns the next frame.
func (c *conn) receive() (kind, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(c.Conn, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > maxFrame {
		return 0, nil, fmt.Errorf("%w: %d bytes", errFrame, size)
	}
	payload := make([]byte, size)
	_, err := io.ReadFull(c.Conn, payload)
	return kind(head[0]), payload, err
}

// decode reads a message.
func (c *conn) decode(payload []byte, into any) error {
	if err := c.codec.dec.Unmarshal(payload, into); err != nil {
		return fmt.Errorf("%w: %w", errFrame, err)
	}
	return nil
}

// writer sends what is written to it in frames of a kind. One that fails is not written to again:
// that is package hermes's rule for live writers.
type writer struct {
	conn *conn
	kind kind
}

func (w writer) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), maxFrame)
		if err := w.conn.sendRaw(w.kind, rest[:n]); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(p), nil
}

// peerWait bounds how long the server waits for a client's first words and for one that does not read
// the last ones, and a client for a server that has been told to kill.
const peerWait = 30 * time.Second
