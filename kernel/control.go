package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/hermes-exec/hermes-exec/internal/fields"
)

// maxMessage bounds what a kernel may send, in bytes: its messages are a few numbers, and names that known.py
// bounds. A cell that has found the descriptor may send anything.
const maxMessage = 1 << 16

var errMessage = errors.New("the kernel sent no message")

// send writes one message: fields behind a length of four bytes.
func send(w io.Writer, payload []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...))
	return err
}

// receive reads one message.
func receive(r io.Reader) (fields.Fields, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxMessage {
		return nil, fmt.Errorf("%w: %d bytes", errMessage, size)
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(r, payload); err != nil {
		return nil, err
	}
	f, err := fields.Parse(payload)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMessage, err)
	}
	return f, nil
}
