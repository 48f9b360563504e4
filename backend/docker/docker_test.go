package docker

import (
	"context"
	"fmt"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/guest"
)

// endedLink is that of an agent that has ended, with that status.
type endedLink struct {
	link
	status int
}

func (l endedLink) exitStatus(context.Context) int { return l.status }

// An interpreter is to blame for what ended by itself, and not for what somebody has ended.
func TestUnfit(t *testing.T) {
	silent := fmt.Errorf("start the guest agent: %w", guest.ErrNoGreeting)
	said := fmt.Errorf("%w: %s", silent, "I am no Python")
	for name, test := range map[string]struct {
		err    error
		status int
		want   bool
	}{
		"it ended":                           {silent, 1, true},
		"it crashed":                         {silent, 139, true},
		"it is not there":                    {said, 127, true},
		"it did something else":              {said, 0, true},
		"its connection was lost":            {silent, 0, false},
		"nobody knows":                       {said, -1, false},
		"it was killed":                      {said, 137, false},
		"it was stopped":                     {silent, 143, false},
		"it waited in vain":                  {silent, 142, false},
		"there are too many processes":       {backend.Shortage(silent, "fork: Resource temporarily unavailable"), 1, false},
		"it refused for a reason of its own": {&guest.RefusedError{Reason: "Python 3.7.0 is older than 3.8"}, 96, true},
		"it refused for another":             {&guest.RefusedError{Reason: "no writable temporary directory"}, 96, false},
		"it broke the protocol":              {fmt.Errorf("it speaks version 9"), 1, false},
	} {
		if got := unfit(t.Context(), test.err, endedLink{status: test.status}); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
