package tool

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// decodeOutput returns bytes as UTF-8; each that is none becomes U+FFFD.
func decodeOutput(data []byte) string {
	if utf8.Valid(data) {
		return string(data)
	}
	var text strings.Builder
	text.Grow(len(data))
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		text.WriteRune(r) // RuneError is U+FFFD
		data = data[n:]
	}
	return text.String()
}

// scratchName returns a name that nobody can guess.
func scratchName(prefix string) string { return prefix + "-" + rand.Text() }

// output collects what a command prints. A command that could not be killed may still print when
// its output is taken.
type output struct {
	mu   sync.Mutex
	data []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.data = append(o.data, p...)
	return len(p), nil
}

// take returns what was printed; omitted is how much did not come, between head and tail.
func (o *output) take(omitted int64) ends {
	o.mu.Lock()
	defer o.mu.Unlock()
	data := slices.Clip(o.data)
	if omitted == 0 || len(data) < keepHead {
		return ends{head: data, omitted: omitted}
	}
	return ends{head: data[:keepHead], tail: data[keepHead:], omitted: omitted}
}

// ends is what is there of an output: all of it, or its head and its tail.
type ends struct {
	head, tail []byte
	omitted    int64 // bytes between them
}

// cut keeps a part of what is there, from both ends.
func (e ends) cut(part float64) ends {
	all := len(e.head) + len(e.tail)
	keep := int(float64(all) * part)
	head := min(keep/5*2, len(e.head))
	last := e.tail
	if len(last) == 0 {
		last = e.head[head:]
	}
	tail := min(keep-head, len(last))
	return ends{head: e.head[:head], tail: last[len(last)-tail:], omitted: e.omitted + int64(all-head-tail)}
}

// text returns the output as UTF-8, with a note where something is missing. No character is split.
func (e ends) text() string {
	if e.omitted == 0 {
		return decodeOutput(e.head)
	}
	head, tail, omitted := trimRune(e.head), e.tail, e.omitted
	omitted += int64(len(e.head) - len(head))
	for i := 0; i < utf8.UTFMax-1 && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
		omitted++
	}
	return decodeOutput(head) + fmt.Sprintf("\n[... %d bytes omitted ...]\n", omitted) + decodeOutput(tail)
}
