package backendtest

import (
	"io"
	"strconv"
)

func itoa(n int) string { return strconv.Itoa(n) }

// shut closes what has nothing to say about it.
func shut(c io.Closer) { _ = c.Close() }

// end is one end of a duplex stream.
type end struct {
	*io.PipeReader
	*io.PipeWriter
}

// Close closes both directions.
func (e end) Close() error {
	e.PipeReader.Close()
	return e.PipeWriter.Close()
}

// duplex returns two connected ends of an unbuffered stream.
func duplex() (near, far io.ReadWriteCloser) {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	return end{r1, w2}, end{r2, w1}
}
