package testenv

import (
	"os"
	"os/signal"
	"testing"
)

// Heard ends a test as with Missing if a signal is ignored here, as nohup has it for SIGHUP: then whatever
// the test starts ignores it too, and would wait for ever.
func Heard(t testing.TB, sig os.Signal) {
	t.Helper()
	if signal.Ignored(sig) {
		Missing(t, sig.String(), "the signal is ignored here, as under nohup")
	}
}
