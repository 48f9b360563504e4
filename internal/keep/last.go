package keep

import (
	"strings"
	"sync"
)

// lastSize is how much Last keeps, in bytes: a traceback, of which a message shows the end.
const lastSize = 4 << 10

// Last keeps the end of what is written to it: the last words of a helper, for the message that says
// why it failed. The zero value is ready for use, also by several goroutines.
type Last struct {
	mu   sync.Mutex
	data []byte
}

// Write never fails.
func (l *Last) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.data = append(l.data, last(p, lastSize)...)
	if over := len(l.data) - lastSize; over > 0 {
		l.data = append(l.data[:0], l.data[over:]...)
	}
	return len(p), nil
}

// String returns what was kept.
func (l *Last) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.data)
}

// Line returns the last line, where interpreters and shells say why they end; "" if nothing was said.
func (l *Last) Line() string { return LastLine(l.String()) }

// LastLine returns the last line of text that is not empty, as valid UTF-8.
func LastLine(text string) string {
	text = strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD")
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
