package output

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// capture feeds text to a new Capture in pieces of the given size and finishes it.
func capture(l Limits, s *Secrets, cache *Cache, text string, piece int) Text {
	c := NewCapture("OUTPUT", l, s, cache)
	for p := []byte(text); len(p) > 0; {
		n := min(piece, len(p))
		_, _ = c.Write(p[:n])
		p = p[n:]
	}
	return c.Finish(0)
}

func TestCaptureShort(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"B002 nothing", "", ""},
		{"P34 short output has no notice", "a\nb\n", "a\nb\n"},
		{"B052 any script", "Ελλάδα 中文 🎉\n", "Ελλάδα 中文 🎉\n"},
		{"B053 a lone surrogate", "a\xed\xa0\x80b", "a\ufffd\ufffd\ufffdb"},
		{"half a character at the end", "a\xe2\x82", "a\ufffd"},
		{"half a character in the middle", "a\xe2\x82b", "a\ufffdb"},
		{"a stray byte", "\x80\xffx", "\ufffd\ufffdx"},
		{"NUL", "a\x00b", "a\x00b"},
		{"colours", "\x1b[1;31mred\x1b[0m plain", "red plain"},
		{"a title", "\x1b]0;title\x07text", "text"},
		{"a link", "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"a title without end", "\x1b]0;title\nnext", "]0;title\nnext"},
		{"short sequences", "\x1b7\x1bMa\x1b(Bb\x1b=", "ab"},
		{"a lone ESC", "a\x1b\nb", "a\nb"},
		{"an 8-bit CSI", "\u009b31mred", "red"},
		{"line ends are kept", "a\r\nb\r", "a\r\nb\r"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, piece := range []int{1, 3, 1 << 20} {
				got := capture(Limits{Inline: 1000}, nil, nil, tt.text, piece)
				if got.Text != tt.want || got.Truncated {
					t.Errorf("pieces of %d: %q, truncated %v; want %q", piece, got.Text, got.Truncated, tt.want)
				}
				if n := int64(len(tt.text)); got.Total != n || got.Captured != n || got.Omitted != 0 {
					t.Errorf("counts %d = %d + %d; want %d = %[4]d + 0", got.Total, got.Captured, got.Omitted, n)
				}
			}
		})
	}
}

func TestCaptureTruncates(t *testing.T) {
	t.Run("B001 P70 head and tail", func(t *testing.T) {
		text := "HEAD\n" + strings.Repeat("filler\n", 30000) + "TAIL\n"
		got := capture(Limits{Inline: 50000}, nil, nil, text, 4096)
		if !strings.HasPrefix(got.Text, "HEAD\n") || !strings.HasSuffix(got.Text, "TAIL\n") {
			t.Errorf("head or tail is missing: %.20q … %q", got.Text, got.Text[len(got.Text)-20:])
		}
	})
	t.Run("P71 P209 the notice, exactly the budget", func(t *testing.T) {
		text := strings.Repeat("a", 30000) + strings.Repeat("b", 40000)
		got := capture(Limits{Inline: 50000}, nil, nil, text, 999)
		want := strings.Repeat("a", 20000) +
			"\n\n... [OUTPUT TRUNCATED - 20000 bytes omitted out of 70000 total] ...\n\n" +
			strings.Repeat("b", 30000)
		if got.Text != want {
			t.Errorf("text is %d bytes, want %d", len(got.Text), len(want))
		}
		if got.Captured != 50000 || got.Omitted != 20000 || got.Total != 70000 {
			t.Errorf("counts: %+v", got.Total)
		}
	})
	t.Run("exactly at the limit nothing is cut", func(t *testing.T) {
		text := strings.Repeat("x", 50000)
		if got := capture(Limits{Inline: 50000}, nil, nil, text, 7); got.Text != text || got.Truncated {
			t.Error("cut")
		}
		if got := capture(Limits{Inline: 50000}, nil, nil, text+"x", 7); !got.Truncated || got.Omitted != 1 {
			t.Errorf("one more byte: %+v", got.Omitted)
		}
	})
	t.Run("an escape sequence at either cut leaves nothing", func(t *testing.T) {
		for shift := range 12 {
			text := strings.Repeat("x", shift) + strings.Repeat("ab\x1b[38;5;12mcd", 40)
			if got := capture(Limits{Inline: 100}, nil, nil, text, 5); strings.ContainsAny(got.Text, "\x1b;") || strings.Contains(got.Text, "mc") {
				t.Errorf("shift %d: %q", shift, got.Text)
			}
		}
	})
}

func TestCaptureGap(t *testing.T) {
	c := NewCapture("OUTPUT", Limits{Inline: 100}, nil, nil)
	keep := c.Keep()
	head, tail := bytes.Repeat([]byte("h"), int(keep.Head)), bytes.Repeat([]byte("t"), int(keep.Tail))
	_, _ = c.Write(head)
	_, _ = c.Write(tail)
	got := c.Finish(1e12)
	if got.Total != int64(len(head)+len(tail))+1e12 || got.Captured != 100 || got.Captured+got.Omitted != got.Total {
		t.Errorf("counts %d = %d + %d", got.Total, got.Captured, got.Omitted)
	}
	if !strings.HasPrefix(got.Text, strings.Repeat("h", 40)+"\n") || !strings.HasSuffix(got.Text, "\n"+strings.Repeat("t", 60)) {
		t.Errorf("text: %q", got.Text)
	}
}

func TestCaptureGapWithShortTail(t *testing.T) {
	// An environment that died may not have delivered the whole tail.
	c := NewCapture("OUTPUT", Limits{Inline: 100}, nil, nil)
	_, _ = c.Write(bytes.Repeat([]byte("h"), int(c.Keep().Head)))
	_, _ = c.Write([]byte("TAIL"))
	got := c.Finish(1000)
	if !strings.HasSuffix(got.Text, "...\n\nTAIL") || got.Captured != 44 || got.Captured+got.Omitted != got.Total {
		t.Errorf("captured %d: %q", got.Captured, got.Text)
	}
}

func TestCaptureLateWriter(t *testing.T) {
	c := NewCapture("OUTPUT", Limits{Inline: 100}, nil, nil)
	_, _ = c.Write([]byte("a"))
	c.Finish(0)
	if n, err := c.Write([]byte("late")); n != 4 || err != nil {
		t.Errorf("late write: %d, %v", n, err)
	}
}

// TestCaptureMemory is B004: a gigabyte of output costs no memory and is counted exactly.
func TestCaptureMemory(t *testing.T) {
	c := NewCapture("OUTPUT", Limits{Inline: 50000, Spill: 5e6}, NewSecrets(strings.Repeat("s3cr3t", 8)),
		NewCache(t.TempDir()))
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	const pieces = 1 << 30 / (64 << 10)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range pieces {
		_, _ = c.Write(chunk)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Errorf("heap grew by %d bytes", grown)
	}
	got := c.Finish(0)
	if got.Total != 1<<30 || got.Captured != 50000 || got.Omitted != 1<<30-50000 {
		t.Errorf("counts %d = %d + %d", got.Total, got.Captured, got.Omitted)
	}
	if is, err := os.Stat(got.SpillPath); err != nil || is.Size() != 5e6 || !got.SpillTruncated {
		t.Errorf("spill: %v, %v", is, err)
	}
}

// pieces draws a stream as a list of writes: text, control sequences and any bytes.
func pieces(t *rapid.T) [][]byte {
	piece := rapid.OneOf(
		rapid.Map(rapid.StringN(0, 40, 120), func(s string) []byte { return []byte(s) }),
		rapid.SliceOfN(rapid.Byte(), 0, 60),
		rapid.Map(rapid.SampledFrom([]string{"é", "中", "🎉", "plain text\n"}), func(s string) []byte { return []byte(s) }),
	)
	return rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces")
}

// TestCaptureProperties: whatever is written and however it is cut, the counts add up, the text is
// valid, its head is a prefix and its tail a suffix of the stream, and no character is split.
func TestCaptureProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inline := rapid.Int64Range(0, 300).Draw(t, "inline")
		c := NewCapture("OUTPUT", Limits{Inline: inline}, nil, nil)
		var raw []byte
		for _, p := range pieces(t) {
			p = bytes.ReplaceAll(p, []byte{0x1b}, nil)
			p = bytes.ReplaceAll(p, []byte{0x9b}, nil)
			raw = append(raw, p...)
			_, _ = c.Write(p)
		}
		raw = bytes.Clone(raw)
		got := c.Finish(0)
		if got.Total != int64(len(raw)) || got.Captured+got.Omitted != got.Total {
			t.Fatalf("counts %d = %d + %d of %d", got.Total, got.Captured, got.Omitted, len(raw))
		}
		if !utf8.ValidString(got.Text) {
			t.Fatalf("not UTF-8: %q", got.Text)
		}
		if got.Truncated != (got.Total > inline) {
			t.Fatalf("truncated is %v: %d of %d", got.Truncated, got.Total, inline)
		}
		if !got.Truncated {
			if got.Text != Valid(raw) {
				t.Fatalf("text %q, want %q", got.Text, Valid(raw))
			}
			return
		}
		if got.Captured > inline || got.Captured < inline-6 {
			t.Fatalf("captured %d of %d", got.Captured, inline)
		}
		notice := fmt.Sprintf("\n\n... [OUTPUT TRUNCATED - %d bytes omitted out of %d total] ...\n\n", got.Omitted, got.Total)
		head, tail, ok := strings.Cut(got.Text, notice)
		if !ok {
			t.Fatalf("no notice: %q", got.Text)
		}
		checkParts(t, raw, head, tail, int(got.Captured))
	})
}

// checkParts finds the split of captured bytes for which head and tail are the ends of raw.
func checkParts(t *rapid.T, raw []byte, head, tail string, captured int) {
	for n := range captured + 1 {
		if Valid(raw[:n]) == head && Valid(raw[len(raw)-captured+n:]) == tail && !splits(raw, n) && !splits(raw, len(raw)-captured+n) {
			return
		}
	}
	t.Fatalf("head %q and tail %q are not the ends of %q", head, tail, raw)
}

// splits tells whether a cut at i would split a valid character.
func splits(raw []byte, i int) bool {
	for from := max(0, i-3); from < i; from++ {
		if _, size := utf8.DecodeRune(raw[from:]); size > 1 && from+size > i && utf8.RuneStart(raw[from]) {
			return true
		}
	}
	return false
}

// TestCaptureKeepProperties: what Keep lets through is enough: the text is the same as that of the
// whole stream.
func TestCaptureKeepProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limits{Inline: rapid.Int64Range(0, 200).Draw(t, "inline")}
		secrets := NewSecrets("s3cr3t-value")
		raw := bytes.Join(pieces(t), []byte("s3cr3t-value"))
		raw = append(bytes.Repeat([]byte("s3cr3t-value\x1b[1mx"), rapid.IntRange(0, 60).Draw(t, "more")), raw...)
		whole, kept := NewCapture("OUTPUT", l, secrets, nil), NewCapture("OUTPUT", l, secrets, nil)
		_, _ = whole.Write(raw)
		keep, omitted := kept.Keep(), 0
		if len(raw) > int(keep.Head+keep.Tail) {
			omitted = len(raw) - int(keep.Head+keep.Tail)
			_, _ = kept.Write(raw[:keep.Head])
			_, _ = kept.Write(raw[len(raw)-int(keep.Tail):])
		} else {
			_, _ = kept.Write(raw)
		}
		if a, b := whole.Finish(0), kept.Finish(int64(omitted)); a != b {
			t.Fatalf("whole %+v\nkept %+v", a, b)
		}
	})
}

func BenchmarkCapture(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			c := NewCapture("OUTPUT", Limits{Inline: 50000}, NewSecrets(strings.Repeat("0123456789abcdef", 4)), nil)
			chunk := bytes.Repeat([]byte("line 12345 of the output\n"), size/25+1)[:size]
			b.SetBytes(int64(size))
			for b.Loop() {
				_, _ = c.Write(chunk)
			}
		})
	}
}
