package guest

import (
	"bytes"
	"context"
	"io"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/fields"
)

// startFiles are the files that a process starts with, on their way: nobody waits for their places one by
// one. The process starts only if the agent has all of them in place.
type startFiles []startFile

type startFile struct {
	*transfer
	op string
}

// sendFiles sends files. What it returns is given up by over.
func (g *Guest) sendFiles(ctx context.Context, files []backend.File) (startFiles, error) {
	var sent startFiles
	for _, f := range files {
		t, op := newTransfer(g), "put "+f.Name
		payload := fields.AppendInt(nil, "mode", wireMode(f.Mode))
		payload = fields.AppendInt(payload, "first", 1)
		err := g.open(ctx, kindPut, fields.Append(payload, "path", g.abs(f.Name)), t.register)
		if err == nil {
			sent = append(sent, startFile{t, op})
			err = t.sendAll(ctx, f.Data)
		}
		if err != nil {
			sent.over()
			return nil, g.wrap(op, err)
		}
	}
	return sent, nil
}

// sendAll sends a whole file and its end.
func (t *transfer) sendAll(ctx context.Context, data []byte) error {
	stop := context.AfterFunc(ctx, func() { t.reset(context.Cause(ctx)) })
	defer stop()
	if _, err := io.Copy(t.out, bytes.NewReader(data)); err != nil {
		if failed := t.failed(); failed != nil {
			return failed
		}
		return err
	}
	return t.g.send(kindEOF, 0, t.id, nil)
}

// after names them to the agent, in the order to start.
func (s startFiles) after() []byte {
	var b []byte
	for _, f := range s {
		b = fields.AppendInt(b, "after", int64(f.id))
	}
	return b
}

// failed is why one of them is not in place, once the agent has answered the order to start.
func (s startFiles) failed() error {
	for _, f := range s {
		if err := f.failed(); err != nil {
			return f.g.wrap(f.op, err)
		}
	}
	return nil
}

// over forgets them. One that the agent has not put in place is given up.
func (s startFiles) over() {
	for _, f := range s {
		select {
		case <-f.opened: //nolint:errcheck // told already, or none
			f.g.forget(f.id)
		default:
			if f.g.lookup(f.id) != nil {
				f.reset(io.ErrClosedPipe)
			}
		}
	}
}
