package near_test

import (
	"os"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/near"
)

// The look at a script has the same rule in Python, and the same rows.
func TestIs(t *testing.T) {
	rows, err := os.ReadFile("../../python/testdata/near.txt")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for line := range strings.Lines(string(rows)) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		tried++
		if got := near.Is(words[0], words[1]); got != (words[2] == "near") {
			t.Errorf("%q and %q: %v", words[0], words[1], got)
		}
	}
	if tried == 0 || near.Is("", "aio") {
		t.Errorf("%d rows", tried)
	}
}

func TestOr(t *testing.T) {
	for name, want := range map[string]string{"fsh": "did you mean fish or zsh?", "bsh": "did you mean bash or zsh?", "Fish": "did you mean fish?", "csh": "did you mean zsh?", "elvish": "a shell"} {
		if got := near.Or(name, []string{"bash", "fish", "zsh"}, "a shell"); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestOne(t *testing.T) {
	for name, want := range map[string]string{"docter": "doctor", "Doctor": "doctor", "fly": "", "sesion": "session", "sessionz": "", "": ""} {
		if got := near.One(name, []string{"doctor", "session", "sessions"}); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
