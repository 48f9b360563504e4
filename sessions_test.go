//go:build unix

package hermes_test

import (
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
)

// newSessions returns a set that is closed at the end of the test.
func newSessions(t *testing.T) *hermes.Sessions {
	t.Helper()
	s := hermes.NewSessions(nil)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestSessionsFirst(t *testing.T) {
	s, o := newSessions(t), options(t, "local")
	for _, code := range []string{"x = 41", "print(x + 1)", "import os; os._exit(0)", "print(x)", "y = 1"} {
		r := s.Run(t.Context(), "a", o, hermes.Script{Code: []byte(code)}, false)
		line, _ := hermes.JSON(r)
		t.Logf("%s", line)
	}
	t.Logf("%+v", s.List())
}

func BenchmarkCell(b *testing.B) {
	s := hermes.NewSessions(nil)
	defer s.Close()
	o := options(b, "local")
	for b.Loop() {
		if r := s.Run(b.Context(), "a", o, hermes.Script{Code: []byte("1")}, false); r.Status != hermes.Success {
			b.Fatal(r)
		}
	}
}
