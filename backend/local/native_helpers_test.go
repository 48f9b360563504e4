package local

import (
	"bytes"
	"sync"
)

// waited is a buffer that can be looked at while it is written.
type waited struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *waited) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *waited) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
