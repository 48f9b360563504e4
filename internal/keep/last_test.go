package keep

import (
	"bytes"
	"testing"
)

func TestLast(t *testing.T) {
	for name, pieces := range map[string][]int{
		"nothing": {}, "little": {5, 0, 7}, "just enough": {lastSize - 1, 1}, "a byte too much": {lastSize, 1},
		"one large piece": {3, 3 * lastSize}, "many": {1000, 1000, 1000, 1000, 1000, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			var l Last
			var whole []byte
			for i, size := range pieces {
				p := bytes.Repeat([]byte{'a' + byte(i)}, size)
				whole = append(whole, p...)
				if n, err := l.Write(p); n != size || err != nil {
					t.Fatal(n, err)
				}
			}
			if want := whole[max(0, len(whole)-lastSize):]; l.String() != string(want) {
				t.Errorf("%d bytes, want %d", len(l.String()), len(want))
			}
		})
	}
}

func TestLastLine(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " \n\n": "", "one": "one", "one\ntwo": "two", "one\r\n  two \r\n\n": "two", "one\nt\xffo": "t\uFFFDo",
	} {
		var l Last
		_, _ = l.Write([]byte(text))
		if got := l.Line(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
