package guest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/fields"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pipeLink is the host's end of a link whose other end a test plays.
type pipeLink struct{ net.Conn }

func (l pipeLink) CloseWrite() error { return l.Close() }

// play opens a Guest on a link where agent speaks. The host's bytes are read and dropped; begin is
// closed when the first START was among them.
func play(t *testing.T, opt Options, agent func(w io.WriteCloser, begin <-chan struct{})) (*Guest, error) {
	t.Helper()
	host, guest := net.Pipe()
	t.Cleanup(func() { _ = guest.Close() })
	begin := make(chan struct{})
	go func() {
		once := sync.OnceFunc(func() { close(begin) })
		for b := make([]byte, 1<<20); ; {
			n, err := guest.Read(b) // one write of the host's at a time
			if err != nil {
				return
			}
			if n > 0 && b[0] == byte(kindStart) {
				once()
			}
		}
	}()
	go agent(guest, begin)
	g, err := Open(t.Context(), pipeLink{host}, opt)
	if err == nil {
		t.Cleanup(func() { _ = g.Close() })
	}
	return g, err
}

func frame(k kind, channel byte, stream uint32, payload []byte) []byte {
	return append(header{k, channel, stream, uint32(len(payload))}.append(nil), payload...)
}

func hello() []byte {
	b := fields.AppendInt(nil, "version", version)
	b = fields.Append(fields.Append(b, "dir", "/work"), "env", "A=b=c")
	return append([]byte(greeting), frame(kindHello, 0, 0, b)...)
}

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

func TestNoAgent(t *testing.T) {
	for name, c := range map[string]struct {
		says string
		want string
	}{
		"nothing":     {"", "it ended before it greeted"},
		"shell error": {"sh: python3: not found\n", "sh: python3: not found"},
		"last line":   {"Welcome\nImportError: no zipimport\n", "ImportError: no zipimport"},
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

// TestBreach shows that a guest that breaks the protocol ends its own environment and nothing else.
func TestBreach(t *testing.T) {
	flood := frame(kindData, chanStdout, 1, make([]byte, maxPayload))
	for name, says := range map[string][]byte{
		"more than credit":     bytes.Repeat(flood, window/maxPayload+1),
		"oversized frame":      header{kindData, 0, 1, maxPayload + 1}.append(nil),
		"stream of the host":   frame(kindAccept, 0, 7, nil),
		"fields cut short":     frame(kindExit, 0, 1, []byte{0}),
		"words of others":      []byte("hello from a script\n"),
		"few of them":          append([]byte("x"), frame(kindPong, 0, 0, make([]byte, 4))...),
		"what it complains of": frame(kindRefused, 0, 0, []byte("that is no frame")),
	} {
		t.Run(name, func(t *testing.T) {
			g, err := play(t, Options{}, func(w io.WriteCloser, begin <-chan struct{}) {
				_, _ = w.Write(hello())
				<-begin
				_, _ = w.Write(append(frame(kindStarted, 0, 1, nil), says...))
			})
			if err != nil {
				t.Fatal(err)
			}
			blocked, release := io.Pipe()
			defer blocked.Close()
			p, err := g.Start(t.Context(), backend.Cmd{Args: []string{"x"}, Stdout: release})
			if err != nil {
				t.Fatal(err)
			}
			<-g.Done()
			_ = blocked.Close() // until then the writer holds what came first
			if err := p.Wait(t.Context()); !errors.Is(err, backend.ErrUnavailable) || !errors.Is(err, errBroken) {
				t.Errorf("wait: %v", err)
			}
			if _, err := g.Start(t.Context(), backend.Cmd{Args: []string{"x"}}); !errors.Is(err, backend.ErrUnavailable) {
				t.Errorf("start afterwards: %v", err)
			}
		})
	}
}

// TestUntrustedIndices sends frames for channels and streams that do not exist.
func TestUntrustedIndices(t *testing.T) {
	g, err := play(t, Options{}, func(w io.WriteCloser, begin <-chan struct{}) {
		_, _ = w.Write(hello())
		<-begin
		var b []byte
		for _, k := range []kind{kindData, kindCredit, kindEOF, kindDone, 99} {
			b = append(b, frame(k, 250, 1, []byte("x"))...)
			b = append(b, frame(k, 0, 12345, []byte("x"))...)
		}
		b = append(b, frame(kindFile, 0, 2, fields.AppendInt(nil, "share", 1))...)
		b = append(b, frame(kindAccept, 0, 4, fields.AppendInt(nil, "listener", 1))...)
		b = append(b, frame(kindStarted, 0, 1, nil)...)
		_, _ = w.Write(append(b, frame(kindExit, 0, 1, fields.AppendInt(nil, "code", 0))...))
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Start(t.Context(), backend.Cmd{Args: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(t.Context()); err != nil {
		t.Errorf("wait: %v", err)
	}
}

// exited is what Wait says of a process of which the guest says so.
func exited(t *testing.T, payload []byte) error {
	t.Helper()
	g, err := play(t, Options{}, func(w io.WriteCloser, begin <-chan struct{}) {
		_, _ = w.Write(hello())
		<-begin
		_, _ = w.Write(append(frame(kindStarted, 0, 1, nil), frame(kindExit, 0, 1, payload)...))
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Start(t.Context(), backend.Cmd{Args: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	return p.Wait(t.Context())
}

// TestNoStatusIsNoSuccess: an EXIT that tells neither a code nor a signal.
func TestNoStatusIsNoSuccess(t *testing.T) {
	if err := exited(t, nil); !errors.Is(err, backend.ErrNoExitStatus) {
		t.Errorf("wait: %v", err)
	}
}

// B072: a supervisor that was killed for want of memory takes the status of its process along, and not
// the reason.
func TestOutOfMemoryWithoutStatus(t *testing.T) {
	err := exited(t, fields.AppendInt(nil, "oom", 1))
	if exit := (*backend.ExitError)(nil); !errors.As(err, &exit) || !exit.OOMKilled || exit.Code != -9 || exit.Signal != backend.Kill {
		t.Errorf("wait: %v", err)
	}
}

// So does one that was killed before it had begun its process.
func TestOutOfMemoryAtStart(t *testing.T) {
	for starved := range 2 {
		g, err := play(t, Options{}, func(w io.WriteCloser, begin <-chan struct{}) {
			_, _ = w.Write(hello())
			<-begin
			failed := fields.Append(fields.Append(nil, "op", "supervise"), "errno", "EPIPE")
			_, _ = w.Write(frame(kindFailed, 0, 1, fields.AppendInt(failed, "oom", int64(starved))))
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.Start(t.Context(), backend.Cmd{Args: []string{"x"}})
		if exit := (*backend.ExitError)(nil); err == nil || (errors.As(err, &exit) && exit.OOMKilled) != (starved == 1) {
			t.Errorf("oom %d: start: %v", starved, err)
		}
	}
}

// An agent that is to kill a process is given up when it says nothing at all for long, and not while it
// says anything.
func TestKillUnheard(t *testing.T) {
	for name, answers := range map[string]bool{"silent": false, "slow": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				g, err := play(t, Options{}, func(w io.WriteCloser, begin <-chan struct{}) {
					_, _ = w.Write(hello())
					<-begin
					_, _ = w.Write(frame(kindStarted, 0, 1, nil))
					if !answers {
						return
					}
					time.Sleep(silentWait / 2)
					_, _ = w.Write(frame(kindPong, 0, 0, nil))
					time.Sleep(silentWait)
					_, _ = w.Write(frame(kindExit, 0, 1, fields.AppendInt(nil, "signal", 9)))
				})
				if err != nil {
					t.Fatal(err)
				}
				p, err := g.Start(t.Context(), backend.Cmd{Args: []string{"x"}})
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Signal(t.Context(), backend.Kill); err != nil {
					t.Errorf("signal: %v", err)
				}
				err = p.Wait(t.Context())
				if lost := errors.Is(err, backend.ErrUnavailable); lost == answers {
					t.Errorf("wait: %v", err)
				}
				if took := time.Since(begun); !answers && took != silentWait {
					t.Errorf("given up after %v", took)
				}
			})
		})
	}
}
