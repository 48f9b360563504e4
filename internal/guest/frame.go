package guest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The frames are described in docs/protocol.md and, for the other side, in python/hermes/frames.py.
type kind byte

const (
	kindHello   kind = 1
	kindRefused kind = 2
	kindPing    kind = 3
	kindPong    kind = 4
	kindStart   kind = 8
	kindStarted kind = 9
	kindFailed  kind = 10
	kindSignal  kind = 11
	kindExit    kind = 12
	kindData    kind = 16
	kindCredit  kind = 17
	kindEOF     kind = 18
	kindReset   kind = 19
	kindPut     kind = 24
	kindGet     kind = 25
	kindDone    kind = 26
	kindListen  kind = 32
	kindAccept  kind = 33
	kindShare   kind = 40
	kindFile    kind = 41
)

// The channels of a process; everything else uses channel 0.
const (
	chanStdin byte = iota
	chanStdout
	chanStderr
	chanControl
	channels
)

const (
	greeting   = "\x00\xff\x02HX\x01\r\n" // no banner, no shell and no text encoding prints this
	version    = 1
	headerSize = 12
	maxPayload = 1 << 20 // bytes; a longer frame is a broken peer
	window     = 1 << 20 // bytes that a channel may send before it gets credit
	piece      = 1 << 16 // bytes of the DATA frames that the host sends
)

var errProtocol = errors.New("the guest agent broke the protocol")

type header struct {
	kind    kind
	channel byte
	stream  uint32
	length  uint32
}

func (h header) append(buf []byte) []byte {
	buf = append(buf, byte(h.kind), h.channel, 0, 0)
	buf = binary.BigEndian.AppendUint32(buf, h.stream)
	return binary.BigEndian.AppendUint32(buf, h.length)
}

// readHeader reads a header and checks its length before anybody allocates for it.
func readHeader(r io.Reader) (header, error) {
	var b [headerSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return header{}, err
	}
	h := header{
		kind: kind(b[0]), channel: b[1],
		stream: binary.BigEndian.Uint32(b[4:]), length: binary.BigEndian.Uint32(b[8:]),
	}
	if h.length > maxPayload {
		return header{}, fmt.Errorf("%w: a frame of %d bytes", errProtocol, h.length)
	}
	return h, nil
}

// fields are the payload of most frames: keys with any number of values, which are bytes because
// argv and paths are.
type fields map[string][]string

func appendField(buf []byte, key, value string) []byte {
	buf = binary.BigEndian.AppendUint16(buf, uint16(len(key)))
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(value)))
	buf = append(buf, key...)
	return append(buf, value...)
}

func appendNumber(buf []byte, key string, n int64) []byte {
	return appendField(buf, key, strconv.FormatInt(n, 10))
}

func parseFields(p []byte) (fields, error) {
	f := fields{}
	for len(p) > 0 {
		if len(p) < 6 {
			return nil, fmt.Errorf("%w: fields cut short", errProtocol)
		}
		k, v := int(binary.BigEndian.Uint16(p)), int(binary.BigEndian.Uint32(p[2:]))
		p = p[6:]
		if v > len(p) || k > len(p)-v {
			return nil, fmt.Errorf("%w: a field cut short", errProtocol)
		}
		key := string(p[:k])
		f[key] = append(f[key], string(p[k:k+v]))
		p = p[k+v:]
	}
	return f, nil
}

func (f fields) text(key string) string {
	if v := f[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// number returns 0 for what is absent or no number: the guest is not trusted to send one.
func (f fields) number(key string) int64 {
	n, _ := strconv.ParseInt(f.text(key), 10, 64)
	return n
}

func (f fields) pairs(key string) map[string]string {
	m := make(map[string]string, len(f[key]))
	for _, item := range f[key] {
		if k, v, ok := strings.Cut(item, "="); ok {
			m[k] = v
		}
	}
	return m
}
