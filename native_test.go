//go:build unix

package hermes_test

import (
	"strings"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// TestSessionWithoutAgent: where nothing can carry a kernel, as on Windows, a session runs its cells as
// scripts of their own, and each says so.
func TestSessionWithoutAgent(t *testing.T) {
	sessions := hermes.NewSessions(nil)
	testenv.CloseAfter(t, sessions)
	o := options(t, "native")
	o.Settings.Transport = "auto"
	for _, code := range []string{"x = 1; print('one')", "print('x' in globals())"} {
		r := sessions.Run(t.Context(), "s", o, hermes.Script{Code: []byte(code)}, false)
		if r.Status != hermes.Success || r.Execution != "oneshot" || len(r.Fallback) != 2 {
			line, _ := hermes.JSON(r)
			t.Fatalf("%s", line)
		}
		for i, want := range []string{"unsupported", "without a guest agent nothing carries a control stream"} {
			if got := r.Fallback[i]; !strings.Contains(got.Reason, want) {
				t.Errorf("fallback %+v, want %q", got, want)
			}
		}
		if strings.Contains(code, "globals") && r.Output != "False\n" {
			t.Errorf("the second cell printed %q", r.Output)
		}
	}
}
