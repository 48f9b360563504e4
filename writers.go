package hermes

import "io"

// tee writes to all of several writers that never fail.
type tee []io.Writer

func (t tee) Write(p []byte) (int, error) {
	for _, w := range t {
		_, _ = w.Write(p)
	}
	return len(p), nil
}

// fragile writes to a writer until that fails.
type fragile struct {
	w   io.Writer
	err error
}

func (f *fragile) Write(p []byte) (int, error) {
	if f.err == nil {
		_, f.err = f.w.Write(p)
	}
	return len(p), nil
}
