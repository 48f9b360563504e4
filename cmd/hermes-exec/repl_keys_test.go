package main

import (
	"io"
	"testing"
)

// A line goes on when it is wanted, and not before, however the bytes come.
func TestKeys(t *testing.T) {
	type line struct {
		text   string
		pasted bool
	}
	for name, test := range map[string]struct {
		typed string
		want  []line
	}{
		"typed":                {"a\rb\nc", []line{{"a\r", false}, {"b\n", false}, {"c", false}}},
		"pasted":               {pasteBegin + "a\r\rb\r" + pasteEnd + "c\r", []line{{pasteBegin + "a\r", true}, {"\r", true}, {"b\r", true}, {pasteEnd + "c\r", false}}},
		"pasted to the end":    {pasteBegin + "a\rb" + pasteEnd + "\r", []line{{pasteBegin + "a\r", true}, {"b" + pasteEnd + "\r", false}}},
		"two pastes":           {pasteBegin + "a" + pasteEnd + pasteBegin + "b\r", []line{{pasteBegin + "a" + pasteEnd + pasteBegin + "b\r", true}}},
		"a paste without end":  {pasteBegin + "a\x03b\r", []line{{pasteBegin + "a\x03b\r", false}}},
		"not quite a paste":    {"\x1b[200\r~a\r", []line{{"\x1b[200\r", false}, {"~a\r", false}}},
		"another escape first": {"\x1b[A" + pasteBegin + "a\r", []line{{"\x1b[A" + pasteBegin + "a\r", true}}},
	} {
		for size, at := range map[string]int{"at once": len(test.typed), "byte by byte": 1} {
			t.Run(name+"/"+size, func(t *testing.T) {
				from, typing := io.Pipe()
				editor, to := io.Pipe()
				k := newKeys(to)
				done := make(chan struct{})
				go func() {
					defer close(done)
					k.pass(from)
				}()
				go func() {
					for rest := test.typed; rest != ""; rest = rest[min(at, len(rest)):] {
						_, _ = io.WriteString(typing, rest[:min(at, len(rest))]) // the test reads all of it
					}
					_ = typing.Close()
				}()
				for _, want := range test.want {
					k.want()
					got := make([]byte, len(want.text))
					if _, err := io.ReadFull(editor, got); err != nil || string(got) != want.text || k.wasPasted() != want.pasted {
						t.Errorf("%q, pasted %v, %v; want %q, %v", got, k.wasPasted(), err, want.text, want.pasted)
					}
				}
				k.want()
				if rest, err := io.ReadAll(editor); len(rest) > 0 || err != nil {
					t.Errorf("%q, %v", rest, err)
				}
				<-done
			})
		}
	}
}
