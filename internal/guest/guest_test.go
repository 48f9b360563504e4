package guest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
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

// An agent that is to kill a process is given up when it has said nothing at all for long, from the first
// signal on, and not while it says anything.
func TestKillUnheard(t *testing.T) {
	const never = time.Hour
	for name, tt := range map[string]struct {
		grace       time.Duration // between a first signal and Kill; 0: there is none
		pong, exit  time.Duration // when the agent says something, and when it tells of the end
		givenUp     bool
		sinceSignal time.Duration
	}{
		"silent":                       {0, never, never, true, silentWait},
		"slow":                         {0, silentWait / 2, silentWait * 3 / 2, false, silentWait * 3 / 2},
		"silent in a short grace":      {silentWait / 4, never, never, true, silentWait},
		"silent in a long grace":       {silentWait * 2, never, never, true, silentWait*2 + lastWait},
		"a word after a long grace":    {silentWait * 2, silentWait*2 + lastWait/2, silentWait * 4, false, silentWait * 4},
		"silent after a word in grace": {silentWait * 2, silentWait, never, true, silentWait * 3},
		"slow after a grace":           {silentWait / 4, silentWait / 2, silentWait * 5 / 4, false, silentWait * 5 / 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				over := make(chan struct{})
				defer close(over)
				pause := func(d time.Duration) bool {
					select {
					case <-time.After(d):
						return true
					case <-over:
						return false
					}
				}
				g, err := play(t, Options{}, func(w io.WriteCloser, begin <-chan struct{}) {
					_, _ = w.Write(hello())
					<-begin
					_, _ = w.Write(frame(kindStarted, 0, 1, nil))
					if pause(tt.pong) {
						_, _ = w.Write(frame(kindPong, 0, 0, nil))
					}
					if pause(tt.exit - tt.pong) {
						_, _ = w.Write(frame(kindExit, 0, 1, fields.AppendInt(nil, "signal", 9)))
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				p, err := g.Start(t.Context(), backend.Cmd{Args: []string{"x"}})
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				if tt.grace > 0 {
					_ = p.Signal(t.Context(), backend.Terminate)
					time.Sleep(tt.grace)
				}
				if err := p.Signal(t.Context(), backend.Kill); err != nil {
					t.Errorf("signal: %v", err)
				}
				err = p.Wait(t.Context())
				if lost := errors.Is(err, backend.ErrUnavailable); lost != tt.givenUp {
					t.Errorf("wait: %v", err)
				}
				if took := time.Since(begun); took != tt.sinceSignal {
					t.Errorf("over after %v", took)
				}
			})
		})
	}
}

// A link may be given up in the moment in which the last word of a process comes: one of the two counts, whole.
func TestExitBesideALostLink(t *testing.T) {
	t.Parallel()
	exit := fields.AppendInt(fields.AppendInt(nil, "code", 0), "stdout_total", 7)
	for range 2000 {
		p := &process{
			g: &Guest{streams: map[uint32]stream{}}, started: make(chan error, 1),
			ended: make(chan struct{}), over: make(chan struct{}), done: make(chan struct{}),
		}
		var both sync.WaitGroup
		both.Go(func() {
			if err := p.frame(kindExit, 0, exit); err != nil {
				t.Errorf("exit: %v", err)
			}
		})
		both.Go(func() { p.lost(net.ErrClosed) })
		both.Wait()
		stdout, _ := p.Output()
		if lost := errors.Is(p.err, net.ErrClosed); lost == (stdout.Total == 7) || lost == (p.err == nil) {
			t.Fatalf("%v, %d bytes of output", p.err, stdout.Total)
		}
	}
}

// A process of which the agent's word is on its way when nobody waits for it any more is the caller's; one of
// which none comes is not.
func TestStartOnItsWay(t *testing.T) {
	for _, comes := range []bool{true, false} {
		ctx, giveUp := context.WithCancel(t.Context())
		defer giveUp()
		g, err := play(t, Options{}, func(w io.WriteCloser, begin <-chan struct{}) {
			_, _ = w.Write(hello())
			<-begin
			giveUp()
			if comes {
				_, _ = w.Write(frame(kindStarted, 0, 1, nil))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		p, err := g.Start(ctx, backend.Cmd{Args: []string{"x"}})
		if (p != nil) != comes || !comes && !errors.Is(err, context.Canceled) {
			t.Errorf("its word comes %t: %v, %v", comes, p, err)
		}
		if comes && err != nil {
			t.Errorf("start: %v", err)
		}
	}
}
