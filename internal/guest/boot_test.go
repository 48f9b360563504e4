package guest

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/fields"
)

func TestGreetingAfterNoise(t *testing.T) {
	g, err := play(t, Options{Name: "x"}, func(w io.WriteCloser, _ <-chan struct{}) {
		_, _ = io.WriteString(w, "Welcome!\r\n\x00\xff\x02H almost\n"+string(hello()))
	})
	if err != nil {
		t.Fatal(err)
	}
	if info := g.Info(); info.Dir != "/work" || info.Env["A"] != "b=c" || info.Name != "x" {
		t.Errorf("info %+v", info)
	}
}

// An agent that does not take the library it was offered gets one; nobody else may ask, nor twice.
func TestOfferedLibrary(t *testing.T) {
	want := string(append([]byte(greeting), frame(kindWant, 0, 0, nil)...))
	for name, c := range map[string]struct {
		offer        bool
		says, failed string
	}{
		"taken":         {true, string(hello()), ""},
		"asked for":     {true, want + string(hello()), ""},
		"asked twice":   {true, want + want, "began with frame 5"},
		"not offered":   {false, want + string(hello()), "began with frame 5"},
		"gone after it": {true, want, "it ended before it greeted"},
	} {
		g, err := play(t, Options{Offer: c.offer}, func(w io.WriteCloser, _ <-chan struct{}) {
			_, _ = io.WriteString(w, c.says)
			_ = w.Close()
		})
		switch {
		case c.failed != "" && (err == nil || !strings.Contains(err.Error(), c.failed)):
			t.Errorf("%s: %v", name, err)
		case c.failed == "" && (err != nil || g.Info().Dir != "/work"):
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoAgent(t *testing.T) {
	for name, c := range map[string]struct {
		says string
		want string
	}{
		"nothing":     {"", "it ended before it greeted"},
		"shell error": {"sh: python3: not found\n", "sh: python3: not found"},
		"last line":   {"Welcome\nImportError: no zipimport\n", "ImportError: no zipimport"},
		"no Python":   {"ls: cannot access '" + Argv("ls")[4] + "'\n", "ls: cannot access '…'"},
		"endless":     {strings.Repeat("noise ", maxNoise/6+10), "printed too much"},
		"newer":       {greeting + string(frame(kindHello, 0, 0, fields.AppendInt(nil, "version", 9))), "version 9"},
		"cut":         {string(hello()[:30]), "it ended before it greeted"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := play(t, Options{}, func(w io.WriteCloser, _ <-chan struct{}) {
				_, _ = io.WriteString(w, c.says)
				_ = w.Close()
			})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// A shim that cannot start the interpreter says so in words.
func TestShortage(t *testing.T) {
	for says, limit := range map[string]string{
		"/usr/bin/python3: fork: retry: Resource temporarily unavailable\n": "ulimit -u",
		"sh: 1: Cannot fork: Cannot allocate memory\n":                      "no memory",
		"pyenv: cannot make pipe: Too many open files\n":                    "ulimit -n",
		"welcome: resources are temporarily few\n":                          "",
	} {
		_, err := play(t, Options{}, func(w io.WriteCloser, _ <-chan struct{}) {
			_, _ = io.WriteString(w, says)
			_ = w.Close()
		})
		if errors.Is(err, backend.ErrExhausted) != (limit != "") || !errors.Is(err, ErrNoGreeting) || !strings.Contains(err.Error(), limit) {
			t.Errorf("%q: error %v", says, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for reason, want := range map[string]error{
		"Python 3.7.1 is older than 3.8":                       backend.ErrNoPython,
		"no writable temporary directory: /tmp: No space left": backend.ErrUnavailable,
	} {
		_, err := play(t, Options{}, func(w io.WriteCloser, _ <-chan struct{}) {
			_, _ = io.WriteString(w, greeting+string(frame(kindRefused, 0, 0, []byte(reason))))
		})
		if !errors.Is(err, want) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: error %v", reason, err)
		}
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	host, guest := net.Pipe()
	t.Cleanup(func() { _ = guest.Close() })
	cause := errors.New("enough")
	go func() {
		_, _ = guest.Read(make([]byte, 1)) // it has begun
		cancel(cause)
	}()
	if _, err := Open(ctx, pipeLink{host}, Options{}); !errors.Is(err, cause) {
		t.Fatalf("error %v, want the cause", err)
	}
}

// stuckLink is one that froze: what is written to it blocks, and so does the end of that, as over TLS.
type stuckLink struct {
	io.Reader
	once   sync.Once
	closed chan struct{}
}

func (l *stuckLink) Write([]byte) (int, error) {
	<-l.closed
	return 0, net.ErrClosed
}

func (l *stuckLink) CloseWrite() error {
	<-l.closed
	return net.ErrClosed
}

func (l *stuckLink) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func TestOpenOnAFrozenLinkEndsWithItsContext(t *testing.T) {
	r, w := io.Pipe()
	link := &stuckLink{Reader: r, closed: make(chan struct{})}
	go func() {
		<-link.closed
		_ = w.Close()
	}()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := Open(ctx, link, Options{}); !errors.Is(err, cause) {
		t.Fatalf("error %v, want the cause", err)
	}
}
