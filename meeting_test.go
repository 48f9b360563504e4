package hermes

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
)

// Calls that end with their environment tell what ended it, and nothing else.
func TestCutOff(t *testing.T) {
	gone := &backend.GoneError{Reason: errors.New("the host fell over")}
	if err := cutOff(fmt.Errorf("accept: %w: %w", backend.ErrUnavailable, gone)); !errors.Is(err, gone) || err.Error() != "environment unavailable: the host fell over" {
		t.Errorf("error %v", err)
	}
	if err := cutOff(errors.New("no sockets")); !errors.Is(err, errTransport) || err.Error() != "no way for tool calls: no sockets" {
		t.Errorf("error %v", err)
	}
}
