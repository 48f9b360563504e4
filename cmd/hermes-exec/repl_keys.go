package main

import (
	"io"
	"sync"
)

// keys is what somebody types, on its way to the editor. It goes there a line at a time, so that nobody
// reads the terminal while a cell runs, and is looked at on the way: the editor does not tell what was
// pasted.
type keys struct {
	to io.WriteCloser

	mu     sync.Mutex
	asked  *sync.Cond // for a line
	wanted bool       // a line is
	pasted bool       // the last line was

	// Of the goroutine that reads.
	last   []byte // as many bytes as a mark of a paste has
	inside bool   // of a paste
}

func newKeys(to io.WriteCloser) *keys {
	k := &keys{to: to}
	k.asked = sync.NewCond(&k.mu)
	return k
}

// want lets one line through.
func (k *keys) want() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wanted = true
	k.asked.Signal()
}

// wasPasted tells whether the last line ended inside of a paste.
func (k *keys) wasPasted() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pasted
}

// pass hands on what comes from a terminal, to its end or until nobody takes it.
func (k *keys) pass(from io.Reader) {
	defer k.to.Close()
	buf := make([]byte, 4096)
	for {
		k.await()
		n, err := from.Read(buf)
		for rest := buf[:n]; len(rest) > 0; {
			k.await()
			line := k.line(rest)
			if _, err := k.to.Write(line); err != nil {
				return
			}
			rest = rest[len(line):]
		}
		if err != nil {
			return
		}
	}
}

func (k *keys) await() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for !k.wanted {
		k.asked.Wait()
	}
}

// line returns the beginning of text, up to the end of a line if there is one.
func (k *keys) line(text []byte) []byte {
	for i, c := range text {
		k.see(c)
		if c == '\r' || c == '\n' {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.wanted, k.pasted = false, k.inside
			return text[:i+1]
		}
	}
	return text
}

// The marks that a terminal puts around what is pasted, if it is asked to. The editor passes over them.
const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// see follows the marks of pastes.
func (k *keys) see(c byte) {
	const ctrlC = 3
	k.last = append(k.last, c)
	if len(k.last) > len(pasteBegin) {
		k.last = k.last[1:]
	}
	switch {
	case string(k.last) == pasteBegin:
		k.inside = true
	case string(k.last) == pasteEnd, c == ctrlC: // whose end never comes must not last
		k.inside = false
	}
}
