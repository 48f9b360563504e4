// Package transporttest is the contract of package transport in executable form. Every transport
// passes it on every environment: real scripts run there and call tools of the suite.
package transporttest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
	"github.com/hermes-exec/hermes-exec/transport"
)

// Config says what is tested.
type Config struct {
	// Open opens a fresh environment, which the suite closes.
	Open func(t *testing.T) backend.Backend

	// New returns the transport with the given options.
	New func(o transport.Options) transport.Transport
}

// TestTransport runs every case, each in an environment of its own and beside the others.
func TestTransport(t *testing.T, cfg Config) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Config)
	}{
		{"values", script("values.py")},
		{"limits", testLimits},
		{"malformed requests (B086, B124, PARITY 36, 167)", testRaw},
		{"threads (B081, B082, PARITY 11, 77)", script("threads.py")},
		{"processes", script("processes.py")},
		{"coroutines", script("coroutines.py")},
		{"shadowed modules", script("shadowed.py")},
		{"surroundings", script("surroundings.py")},
		{"another directory", testDir},
		{"a planted spool", testPlanted},
		{"large requests at once", testMemory},
		{"the caller dies", testCallerDies},
		{"close during a call (PARITY 166)", testCloseDuringCall},
		{"the context of Serve", testServeContext},
		{"the environment goes", testEnvironmentGoes},
		{"no channel (B064)", testNowhere},
		{"names and tokens", testEnv},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, cfg)
		})
	}
}

// script is a case that is one script.
func script(name string) func(*testing.T, Config) {
	return func(t *testing.T, cfg Config) {
		r := newRig(t, cfg, transport.Options{})
		r.run(name)
	}
}

func testLimits(t *testing.T, cfg Config) {
	const limit = 300_000
	newRig(t, cfg, transport.Options{MaxLine: limit}).run("limits.py", strconv.Itoa(limit))
}

func testRaw(t *testing.T, cfg Config) {
	const limit = 100_000
	r := newRig(t, cfg, transport.Options{MaxLine: limit})
	r.run("raw.py", strconv.Itoa(limit))
	made, refused := r.tools.counts()
	if refused < 30 || made["echo"] < 30 {
		t.Errorf("%v calls, %d refused", made, refused)
	}
	if n := made["go"]; n > 1 {
		t.Errorf("%d requests that were cut have run", n)
	}
}

func testDir(t *testing.T, cfg Config) {
	r := newRig(t, cfg, transport.Options{})
	r.dir = r.backend.Info().Temp
	r.run("values.py")
}

func testPlanted(t *testing.T, cfg Config) {
	r := newRig(t, cfg, transport.Options{})
	if r.endpoint.Env()[transport.EnvDir] == "" {
		return // there is no spool to plant
	}
	r.run("plant.py")
}

// testMemory sends four times what may be in flight, and looks at what the handlers hold at once.
func testMemory(t *testing.T, cfg Config) {
	const threads, size, budget = 16, 1 << 20, 4 << 20
	r := newRig(t, cfg, transport.Options{MaxLine: size + 1000, MaxInFlight: budget})
	r.run("big.py", strconv.Itoa(threads), strconv.Itoa(size))
	if most := r.tools.mostBytes(); most > budget {
		t.Errorf("%d bytes at once", most)
	}
}

func testCallerDies(t *testing.T, cfg Config) {
	r := newRig(t, cfg, transport.Options{})
	p := r.start("lost.py")
	r.tools.awaitWaiting(t, 1)
	r.must(p.Signal(t.Context(), backend.Kill))
	testenv.Eventually(t, "the handler's context ends", func() bool { return r.tools.waiting() == 0 })
	_ = p.Wait(t.Context())
	r.run("threads.py")
}

func testCloseDuringCall(t *testing.T, cfg Config) {
	r := newRig(t, cfg, transport.Options{})
	p := r.start("lost.py")
	r.tools.awaitWaiting(t, 1)
	r.must(r.endpoint.Close())
	if err := r.serveEnd(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve: %v", err)
	}
	r.must(r.endpoint.Close())
	r.wait(p)
	if got := p.out.String(); got != "begin\nlost\n" {
		t.Errorf("the script printed %q", got)
	}
	if made, _ := r.tools.counts(); made["wait"] != 1 {
		t.Errorf("a lost call was made %d times", made["wait"])
	}
	if err := r.endpoint.Serve(t.Context(), r.tools); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve after Close: %v", err)
	}
}

func testServeContext(t *testing.T, cfg Config) {
	r := newRig(t, cfg, transport.Options{})
	p := r.start("lost.py")
	r.tools.awaitWaiting(t, 1)
	why := errors.New("why")
	r.cancel(why)
	if err := r.serveEnd(); !errors.Is(err, why) {
		t.Errorf("Serve: %v", err)
	}
	if n := r.tools.waiting(); n != 0 {
		t.Errorf("Serve returned before %d handlers", n)
	}
	r.must(r.endpoint.Close())
	r.wait(p)
}

func testEnvironmentGoes(t *testing.T, cfg Config) {
	r := newRig(t, cfg, transport.Options{})
	r.must(r.backend.Close())
	ended := make(chan struct{})
	go func() { _ = r.serveEnd(); close(ended) }()
	testenv.Eventually(t, "Serve returns", func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	err := r.serveEnd()
	if !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve: %v", err)
	}
	_ = r.endpoint.Close() // what it would remove is gone
}

func testNowhere(t *testing.T, cfg Config) {
	r := newRig(t, cfg, transport.Options{})
	for _, name := range []string{transport.EnvToken, transport.EnvSocket, transport.EnvDir} {
		delete(r.env, name)
	}
	r.run("nowhere.py")
}

func testEnv(t *testing.T, cfg Config) {
	a, b := newRig(t, cfg, transport.Options{}), newRig(t, cfg, transport.Options{})
	env := a.endpoint.Env()
	if (env[transport.EnvSocket] == "") == (env[transport.EnvDir] == "") || len(env) != 2 {
		t.Error("Env must hold the token and one address")
	}
	if len(env[transport.EnvToken]) != 64 || env[transport.EnvToken] == b.endpoint.Env()[transport.EnvToken] {
		t.Error("the token must be 32 random bytes in hex")
	}
	clear(env)
	if len(a.endpoint.Env()) != 2 {
		t.Error("Env must return a copy")
	}
	for _, fact := range []string{a.transport.Name(), a.backend.Info().Name} {
		if fact == "" || strings.Contains(fact, " ") {
			t.Errorf("name %q", fact)
		}
	}
}

// join names a file inside the environment, which may not be of the host's kind.
func join(dir string, names ...string) string {
	return strings.Join(append([]string{dir}, names...), "/")
}

// describe is what a failed script said.
func describe(name string, err error, p *process) string {
	return fmt.Sprintf("%s: %v\n%s%s", name, err, p.out.String(), p.errs.String())
}

// background is the context of what must outlive a failed test's own.
func background(t *testing.T) context.Context { return context.WithoutCancel(t.Context()) }
