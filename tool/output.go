package tool

import (
	"crypto/rand"
	"fmt"
	"strings"
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

// joinCut returns the two ends of an output with a note between them. No character is split.
func joinCut(head, tail []byte, omitted int64) string {
	whole := trimRune(head)
	omitted += int64(len(head) - len(whole))
	for i := 0; i < utf8.UTFMax-1 && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
		omitted++
	}
	return decodeOutput(whole) + fmt.Sprintf("\n[... %d bytes omitted ...]\n", omitted) + decodeOutput(tail)
}

// scratchName returns a name that nobody can guess.
func scratchName(prefix string) string { return prefix + "-" + rand.Text() }
