package keep

import (
	"io"

	"github.com/hermes-exec/hermes-exec/internal/tempfile"
)

// ring is the end of a stream, in a file: many commands that print a lot would fill the memory.
type ring struct {
	f     *tempfile.File
	size  int64 // bytes that it holds at most
	total int64 // bytes that were written
}

// newRing returns a ring that holds p, which is not longer than size.
func newRing(size int64, p []byte) (*ring, error) {
	f, err := tempfile.New()
	if err != nil {
		return nil, err
	}
	r := &ring{f: f, size: size}
	if err := r.write(p); err != nil {
		_ = f.Close()
		return nil, err
	}
	return r, nil
}

// write appends p. After an error the ring still has what it had, but for the oldest len(p) bytes.
func (r *ring) write(p []byte) error {
	total := r.total + int64(len(p))
	p = last(p, r.size)
	at := (total - int64(len(p))) % r.size
	first := p[:min(int64(len(p)), r.size-at)]
	if _, err := r.f.WriteAt(first, at); err != nil {
		return err
	}
	if _, err := r.f.WriteAt(p[len(first):], 0); err != nil {
		return err
	}
	r.total = total
	return nil
}

// held is how many bytes the ring has.
func (r *ring) held() int64 { return min(r.total, r.size) }

// reader reads what the ring has, the oldest byte first, but for so many of the oldest.
func (r *ring) reader(skip int64) io.Reader {
	held := r.held()
	n := held - min(skip, held)
	at := (r.total - n) % r.size
	first := min(n, r.size-at)
	return io.MultiReader(io.NewSectionReader(r.f, at, first), io.NewSectionReader(r.f, 0, n-first))
}
