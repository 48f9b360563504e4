//go:build unix

package hermes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// waits writes the token of its session to a file and runs until the file of that name with .go is
// there.
const waits = `
import os, time
name = 'NAME'
with open(name + '.new', 'w') as f:
    f.write(os.environ['HERMES_RPC_TOKEN'])
os.rename(name + '.new', name)
print('on', flush=True)
while not os.path.exists(name + '.go'): time.sleep(.01)
`

// A cell that is called from the cell for which it would wait, directly or by way of another session,
// is refused at once. What a session has left running calls when that cell has ended.
func TestSessionsCalledFromTheirOwnCell(t *testing.T) {
	c := newCells(t, "local")
	inside := func(session string) hermes.Options {
		t.Helper()
		token, err := os.ReadFile(filepath.Join(c.options.Dir, session))
		if err != nil {
			t.Fatal(err)
		}
		return with(c.options, map[string]string{"HERMES_RPC_TOKEN": string(token)})
	}
	outer := c.begin(t.Context(), "outer", strings.ReplaceAll(waits, "NAME", "outer"))
	c.refused(c.in(inside("outer"), "outer", "1"))

	fromOuter := *c
	fromOuter.options = inside("outer")
	inner := fromOuter.begin(t.Context(), "inner", strings.ReplaceAll(waits, "NAME", "inner"))
	c.refused(c.in(inside("inner"), "outer", "1"))
	c.refused(c.in(inside("inner"), "inner", "1"))
	if r := c.in(inside("inner"), "third", "print(3)"); r.Output != "3\n" {
		t.Errorf("%q %s", r.Output, r.Error)
	}

	// When inner's cell has ended, outer's is no longer held up by it.
	c.prints("third", "open('inner.go', 'w')", "")
	if r := <-inner; r.Status != hermes.Success {
		t.Errorf("%s: %s", r.Status, r.Error)
	}
	queued := make(chan *hermes.Result)
	go func() { queued <- c.in(inside("inner"), "outer", "print('left behind')") }()
	testenv.Eventually(t, "the cell waits", func() bool { return c.set.Waiting("outer") == 2 })
	c.prints("third", "open('outer.go', 'w')", "")
	for _, r := range []*hermes.Result{<-outer, <-queued} {
		if r.Status != hermes.Success {
			t.Errorf("%s: %s", r.Status, r.Error)
		}
	}
	if r := c.in(inside("outer"), "outer", "print(4)"); r.Output != "4\n" {
		t.Errorf("%q %s", r.Output, r.Error)
	}
}

func (c *cells) refused(r *hermes.Result) {
	c.Helper()
	if r.ErrorKind != hermes.KindUsage || !strings.Contains(r.Error, "would wait for that cell") || r.Kernel == nil || r.Kernel.StateLost {
		c.Errorf("%s %s: %s, kernel %+v", r.Status, r.ErrorKind, r.Error, r.Kernel)
	}
}
