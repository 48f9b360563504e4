package filerpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"

	"github.com/hermes-exec/hermes-exec/transport"
)

// batch is how many names are read at once.
const batch = 512

// list returns the names of a directory that begin with prefix; without one, those that do not begin
// with a dot.
func list(dir *os.Root, prefix string) ([]string, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var names []string
	for {
		more, err := d.Readdirnames(batch)
		for _, name := range more {
			if strings.HasPrefix(name, prefix) && (prefix != "" || !strings.HasPrefix(name, ".")) {
				names = append(names, name)
			}
		}
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return names, err
		}
	}
}

// errNoFile says that a request is no regular file.
var errNoFile = &transport.InvalidError{Reason: "it must be a regular file"}

// errFull says that a request has to wait for memory.
var errFull = errors.New("too much is in flight")

// read reads, checks and removes one request. It returns nil if there is none to answer now: it was
// taken, given up, has to wait, or cannot be removed and would be run for ever.
func (s *server) read(ctx context.Context, name string) (*transport.Request, transport.Grant) {
	var grant transport.Grant
	request, err := s.check(name, &grant)
	if err != nil {
		return nil, grant
	}
	if err := s.in.Remove(name); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.stuck[name] = true
			s.wire.Log().WarnContext(ctx, "a request in the spool cannot be removed and is not run", "error", err)
		}
		return nil, grant
	}
	return request, grant
}

// check reads one request as far as it is worth it. The error says that there is nothing to answer.
func (s *server) check(name string, grant *transport.Grant) (*transport.Request, error) {
	// Before opening: to open a device can have effects.
	info, err := s.in.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return s.wire.Refused(nil, errNoFile), nil
	}
	f, err := s.in.OpenFile(name, os.O_RDONLY|noFollow|noBlock, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return s.wire.Refused(nil, &transport.InvalidError{Reason: "it cannot be read"}), nil
	}
	defer f.Close()
	// After opening: it may be another file now.
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		return s.wire.Refused(nil, errNoFile), nil
	}
	return s.load(f, info.Size(), grant)
}

// headSize is what is read of a request that is too long, to tell whose it is, in bytes.
const headSize = 4 << 10

// load reads an opened request of a size. A file that grows meanwhile is read up to that size only.
func (s *server) load(f io.Reader, size int64, grant *transport.Grant) (*transport.Request, error) {
	limit := int64(s.wire.MaxLine()) + 1 // with its newline
	if size > limit {
		head := make([]byte, headSize)
		n, _ := io.ReadFull(f, head)
		if !s.wire.Authorized(head[:n]) {
			return s.wire.Refused(head[:n], transport.ErrUnauthorized), nil
		}
		return s.wire.TooLong(head[:n]), nil
	}
	// Not waited for here: whoever holds the memory may have to be cancelled by this goroutine.
	if !s.mem.TryGrow(grant, size) {
		s.full = true
		return nil, errFull
	}
	data := make([]byte, size)
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return s.wire.Refused(nil, &transport.InvalidError{Reason: "it cannot be read"}), nil
	}
	return s.wire.Check(bytes.TrimSpace(data[:n])), nil
}

// publish puts an answer into the spool and wakes the caller. An answer that cannot be written is
// replaced by an error, which is smaller.
func (s *server) publish(ctx context.Context, id string, reply net.Buffers) {
	err := s.place(id, reply)
	if err != nil {
		s.wire.Log().WarnContext(ctx, "an answer cannot be put into the spool", "error", err)
		err = s.place(id, net.Buffers{[]byte(`{"result":{"error":"the answer could not be written to the spool"}}`)})
	}
	if err == nil {
		_ = ring(s.out, bell(id), []byte{'\n'}) // who has no bell looks at intervals
	}
}

// place writes one file of out/: whole or not at all.
func (s *server) place(id string, reply net.Buffers) error {
	hidden := "." + answerPrefix + id
	err := s.write(hidden, reply)
	if errors.Is(err, fs.ErrExist) { // planted
		_ = s.out.Remove(hidden)
		err = s.write(hidden, reply)
	}
	if err == nil {
		err = s.out.Rename(hidden, answerPrefix+id)
	}
	if err != nil {
		_ = s.out.Remove(hidden)
	}
	return err
}

func (s *server) write(name string, reply net.Buffers) error {
	f, err := s.out.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|noFollow, 0o600)
	if err != nil {
		return err
	}
	for _, part := range reply {
		if _, err = f.Write(part); err != nil {
			break
		}
	}
	if err == nil {
		err = s.owner.give(f)
	}
	return errors.Join(err, f.Close())
}
