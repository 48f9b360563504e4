package guest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The frames are described in docs/protocol.md and, for the other side, in python/hermes/frames.py.
type kind byte

const (
	kindHello   kind = 1
	kindRefused kind = 2
	kindPing    kind = 3
	kindPong    kind = 4
	kindWant    kind = 5
	kindStart   kind = 8
	kindStarted kind = 9
	kindFailed  kind = 10
	kindSignal  kind = 11
	kindExit    kind = 12
	kindEnded   kind = 13
	kindData    kind = 16
	kindCredit  kind = 17
	kindEOF     kind = 18
	kindReset   kind = 19
	kindPut     kind = 24
	kindGet     kind = 25
	kindDone    kind = 26
	kindAside   kind = 27
	kindBack    kind = 28
	kindListen  kind = 32
	kindAccept  kind = 33
	kindDial    kind = 34
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
	window     = 3 << 20 // bytes that a channel may send before it gets credit: more than SSH's own, so that it is not the narrower
	piece      = 1 << 16 // bytes of the DATA frames that the host sends

	// Bytes 2 and 3 of a header. No UTF-8 text has them, and no frame that is read from a wrong place on.
	mark0, mark1 = 0xf5, 0xfa
)

var errProtocol = errors.New("the guest agent broke the protocol")

// errBroken means that a stream which was an agent's is not its own any more. User code may have a way to
// it: that of a container's main process, /proc/1/fd.
var errBroken = errors.New("the guest agent's stream is broken, as by something there that wrote into it or read from it")

type header struct {
	kind    kind
	channel byte
	stream  uint32
	length  uint32
}

func (h header) append(buf []byte) []byte {
	buf = append(buf, byte(h.kind), h.channel, mark0, mark1)
	buf = binary.BigEndian.AppendUint32(buf, h.stream)
	return binary.BigEndian.AppendUint32(buf, h.length)
}

// readHeader reads a header and checks that it is one, and its length before anybody allocates for it.
func readHeader(r io.Reader) (header, error) {
	var b [headerSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return header{}, err
	}
	h := header{
		kind: kind(b[0]), channel: b[1],
		stream: binary.BigEndian.Uint32(b[4:]), length: binary.BigEndian.Uint32(b[8:]),
	}
	switch {
	case b[2] != mark0 || b[3] != mark1:
		return header{}, fmt.Errorf("%w: %q is no frame", errProtocol, b)
	case h.length > maxPayload:
		return header{}, fmt.Errorf("%w: a frame of %d bytes", errProtocol, h.length)
	}
	return h, nil
}
