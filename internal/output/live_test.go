package output

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestSecrets(t *testing.T) {
	s := NewSecrets("hunter2-winter", "short", "", "password-1", "password-1-long", "abcabcabc")
	for _, tt := range []struct{ name, text, want string }{
		{"none", "nothing here", "nothing here"},
		{"one", "a hunter2-winter b", "a *** b"},
		{"twice", "hunter2-winterhunter2-winter", "******"},
		{"too short to be one", "short", "short"},
		{"the longer of two", "<password-1-long>", "<***>"},
		{"overlapping itself", "<abcabcabcabc>", "<***>"},
		{"B018 names are no secrets", "MAX_TOKENS=100 {\"api_key\": \"abc123\"}", "MAX_TOKENS=100 {\"api_key\": \"abc123\"}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := s.Mask(tt.text); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if got := (*Secrets)(nil).Mask("x"); got != "x" {
		t.Errorf("nil: %q", got)
	}
}

func TestSecretsAreMaskedAtCuts(t *testing.T) {
	const secret = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	s := NewSecrets(secret, strings.Repeat("long", 200))
	for shift := range 3 * len(secret) {
		text := strings.Repeat("x", shift) + strings.Repeat(secret+strings.Repeat(".", 26), 30)
		got := capture(Limits{Inline: 200}, s, nil, text, 1+shift%7)
		visible := strings.ReplaceAll(got.Text, "OUTPUT TRUNCATED", "")
		if strings.ContainsAny(visible, secret) {
			t.Errorf("shift %d: %q", shift, got.Text)
		}
		if !strings.Contains(got.Text, "***") {
			t.Errorf("shift %d: nothing masked: %q", shift, got.Text)
		}
	}
}

func TestSecretsBehindEscapesAreMasked(t *testing.T) {
	got := capture(Limits{Inline: 1000}, NewSecrets("hunter2-winter"), nil, "<hunter2\x1b[0m-winter>", 1)
	if got.Text != "<***>" {
		t.Errorf("got %q", got.Text)
	}
}

func TestLive(t *testing.T) {
	s := NewSecrets("hunter2-winter")
	for _, tt := range []struct {
		name     string
		in, want []string // the last of want is the rest
	}{
		{"text passes at once", []string{"a", "b\n"}, []string{"a", "b\n", ""}},
		{"a character in two pieces", []string{"a\xe2\x82", "\xacb"}, []string{"a", "€b", ""}},
		{"a character without an end", []string{"a\xe2\x82"}, []string{"a", "\ufffd"}},
		{"colours stay", []string{"\x1b[1mx"}, []string{"\x1b[1mx", ""}},
		{"a secret in one piece", []string{"<hunter2-winter>"}, []string{"<***>", ""}},
		{"a secret in two pieces", []string{"<hunter2", "-winter>"}, []string{"<", "***>", ""}},
		{"a short beginning is not delayed", []string{"oh", "no"}, []string{"oh", "no", ""}},
		{"the rest of it is masked all the same", []string{"<hun", "ter2-winter>"}, []string{"<hun", "***>", ""}},
		{"byte by byte", strings.Split("hunter2-winter!", ""), append(strings.Split("h,u,n,,,,,,,,,,,***,!", ","), "")},
		{"no secret after all", []string{"hunter", "s"}, []string{"", "hunters", ""}},
		{"no secret at the end", []string{"hunter2"}, []string{"", "hunter2"}},
		{"two beginnings", []string{"hunter2-winterhunter2", "-winter"}, []string{"***", "***", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := NewLive(s)
			var got []string
			for _, p := range tt.in {
				got = append(got, l.Next([]byte(p)))
			}
			got = append(got, l.Flush())
			if strings.Join(got, "|") != strings.Join(tt.want, "|") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestLiveProperties: however a stream is cut into pieces, the text is that of the whole.
func TestLiveProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := pieces(t)
		var raw []byte
		text := ""
		l := NewLive(NewSecrets("s3cr3t-value", "value-of-another"))
		for _, p := range parts {
			raw = append(raw, p...)
			more := l.Next(p)
			if !utf8.ValidString(more) {
				t.Fatalf("not UTF-8: %q", more)
			}
			text += more
		}
		if text += l.Flush(); text != Valid(raw) {
			t.Fatalf("text %q, want %q", text, Valid(raw))
		}
	})
}

// TestLiveMaskProperties: no secret of eight bytes or more gets through, however it is cut.
func TestLiveMaskProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const secret = "s3cr3t-value"
		raw := bytes.Join(pieces(t), []byte(secret))
		l := NewLive(NewSecrets(secret))
		text := ""
		for rest := raw; len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), 20)).Draw(t, "n")
			text += l.Next(rest[:n])
			rest = rest[n:]
		}
		text += l.Flush()
		if strings.Contains(text, secret) {
			t.Fatalf("%q", text)
		}
		if got, want := strings.Count(text, mask), bytes.Count(raw, []byte(secret)); got < want {
			t.Fatalf("%d masks for %d secrets: %q", got, want, text)
		}
	})
}

func BenchmarkLive(b *testing.B) {
	l := NewLive(NewSecrets(strings.Repeat("0123456789abcdef", 4)))
	chunk := bytes.Repeat([]byte("line 12345 of the output\n"), 64<<10/25)
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		l.Next(chunk)
	}
}
