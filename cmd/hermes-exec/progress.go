package main

import (
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// usualWidth is that of a terminal which does not know it.
const usualWidth = 80

// progress returns who is told of what takes time before a script runs; nil if nobody is to know: that
// is for a person at a terminal. A build's log is none, even if it looks like one.
func (a *app) progress(quiet bool) func(text string) {
	f, ok := a.err.(*os.File)
	if quiet || !ok || !term.IsTerminal(int(f.Fd())) || a.environ["CI"] != "" && a.environ["CI"] != "false" {
		return nil
	}
	p := &progress{w: f, dumb: a.dumb(), width: func() int {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
		return usualWidth
	}}
	return p.show
}

// progress shows one line, which the next replaces and the end removes. A terminal that cannot do that
// is told of the beginning alone. There are no colours, so NO_COLOR has nothing to switch off.
type progress struct {
	w     io.Writer
	dumb  bool
	width func() int // of the terminal, in characters

	mu    sync.Mutex
	shown string
}

// show shows what is being done; "" is nothing any more.
func (p *progress) show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := ""
	if text != "" {
		line = short("hermes-exec: "+text, p.width()-1) // the last column makes some terminals go on in the next line
	}
	before := p.shown
	p.shown = line
	switch {
	case line == before:
	case !p.dumb:
		write(p.w, []byte("\r"+line+"\x1b[K"))
	case before == "":
		write(p.w, []byte("hermes-exec: "+text+"\n"))
	}
}

// short cuts a text to so many characters.
func short(text string, width int) string {
	if r := []rune(text); len(r) > width {
		return string(r[:max(width, 0)])
	}
	return text
}
