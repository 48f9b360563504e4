package hermes

import (
	"strings"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/output"
	"github.com/hermes-exec/hermes-exec/kernel"
	"github.com/hermes-exec/hermes-exec/tool"
)

func TestWarnings(t *testing.T) {
	r := &run{
		env:      &Env{terms: &terms{options: Options{Settings: config.Defaults()}}},
		warnings: []string{"from the environment"},
		outcome:  &kernel.Outcome{Survivors: []string{"12 sleep", "13 sudo"}},
		calls:    tool.Report{OverBudget: 7},
	}
	r.warn(output.Text{Truncated: true, Captured: 5, Total: 9, SpillPath: "/h/x.txt", SpillTruncated: true}, output.Text{})
	got := strings.Join(r.warnings, "\n")
	for _, part := range []string{
		"from the environment\n", "5 of 9 bytes", "the beginning of the full text is in /h/x.txt", "read_file",
		"7 tool call(s)", "limit is 50", "12 sleep, 13 sudo",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("warnings lack %q:\n%s", part, got)
		}
	}
}

func TestTimeoutText(t *testing.T) {
	for limit, want := range map[time.Duration]string{
		300 * time.Second: "Script timed out after 300s",
		90 * time.Minute:  "Script timed out after 5400s",
		time.Second / 2:   "Script timed out after 0.5s",
	} {
		if got := (&timeoutError{limit}).Error(); got != want {
			t.Errorf("%v: %s", limit, got)
		}
	}
}
