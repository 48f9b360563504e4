package backendtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/hermes-exec/hermes-exec/backend"
)

func outputCases() []testCase {
	return []testCase{
		{"output of equal writers in order", outputShared},
		{"output complete when Wait returns", outputComplete},
		{"output complete after SIGKILL", outputAfterKill},
		{"output streamed while it runs", outputLive},
		{"output discarded but counted", outputDiscarded},
		{"output to a slow writer slows nothing else", outputSlow},
		{"output to a writer that is stuck delays Wait alone", outputStuck},
		{"output to a writer that fails", outputFails},
		{"output of a process that closed its streams", outputClosed},
	}
}

// outputShared: one pipe for both streams keeps their order (B012).
func outputShared(ctx context.Context, e *env) {
	code := "import os\nfor i in range(2000): os.write(1+i%2,b'%d\\n'%i)"
	cmd := e.py(code)
	both := &buffer{}
	cmd.Stdout, cmd.Stderr = both, both
	e.start(ctx, cmd).wait(ctx)
	var want strings.Builder
	for i := range 2000 {
		fmt.Fprintln(&want, i)
	}
	if got := both.String(); got != want.String() {
		e.Errorf("the order is not kept: %.200q…, %d bytes", got, len(got))
	}
}

// outputStuck: whoever ends a run has to know that its process is gone, whatever its reader does.
func outputStuck(ctx context.Context, e *env) {
	stuck := newGate()
	free := sync.OnceFunc(func() { close(stuck.open) })
	defer free()
	cmd := e.py("import os\nwhile True: os.write(1, b'x' * 65536)")
	cmd.Stdout = stuck
	p, err := e.Start(ctx, cmd)
	if err != nil {
		e.Fatal(err)
	}
	select {
	case <-stuck.reached:
	case <-ctx.Done():
		e.Fatal("nothing was written")
	}
	if err := p.Signal(ctx, backend.Kill); err != nil {
		e.Fatal(err)
	}
	select {
	case <-p.Ended():
	case <-ctx.Done():
		e.Fatal("the process did not end")
	}
	if exit := (*backend.ExitError)(nil); !errors.As(p.Exit(), &exit) || exit.Signal != backend.Kill {
		e.Errorf("exit: %v", p.Exit())
	}
	over, cancel := context.WithCancelCause(ctx)
	cancel(errors.New("no longer"))
	if err := p.Wait(over); err == nil || err.Error() != "no longer" {
		e.Errorf("wait for a stuck writer: %v", err)
	}
	free()
	if err := p.Wait(ctx); !errors.As(err, new(*backend.ExitError)) {
		e.Errorf("wait: %v", err)
	}
}

// outputComplete (B010): the last byte is there when Wait returns, also from children that end
// after their parent would have.
func outputComplete(ctx context.Context, e *env) {
	code := "import os,sys\nd=b'0123456789'*300000\nos.write(2,b'e');sys.stdout.buffer.write(d)\nos.write(2,b'f')"
	for range 5 {
		p := e.start(ctx, e.py(code))
		p.wait(ctx)
		if got := len(p.out.String()); got != 3_000_000 || p.err.String() != "ef" {
			e.Fatalf("stdout has %d bytes, stderr %q", got, p.err)
		}
		e.wantCounts(p, backend.Counts{Total: 3_000_000}, backend.Counts{Total: 2})
	}
}

// outputAfterKill: what was written is not lost with the process that wrote it (B007).
func outputAfterKill(ctx context.Context, e *env) {
	const self = "import os,sys\nsys.stdout.buffer.write(b'x'*5000000);sys.stdout.flush()\nos.kill(os.getpid(),9)"
	p := e.start(ctx, e.py(self))
	p.wantSignal(ctx, backend.Kill)
	if got := len(p.out.String()); got != 5_000_000 {
		e.Errorf("%d bytes after it killed itself", got)
	}
	e.wantCounts(p, backend.Counts{Total: 5_000_000}, backend.Counts{})

	// 60,000 bytes fit into a pipe: the process need not be read from to be done with them.
	const blocked = "import os,time\nos.write(2,b'x'*60000);os.write(1,b'ready\\n');time.sleep(600)"
	p = e.ready(ctx, e.py(blocked))
	p.kill(ctx)
	if got := len(p.err.String()); got != 60_000 {
		e.Errorf("%d bytes after it was killed", got)
	}
}

func outputLive(ctx context.Context, e *env) {
	near, far := duplex()
	defer far.Close()
	cmd := e.py("import sys\nfor line in iter(sys.stdin.readline,''): print('got',line,end='',flush=True)")
	cmd.Stdin = near
	p := e.start(ctx, cmd)
	for i := range 50 {
		if _, err := fmt.Fprintln(far, i); err != nil {
			e.Fatal(err)
		}
		p.await(ctx, fmt.Sprintf("got %d\n", i))
	}
	far.Close()
	p.wait(ctx)
}

func outputDiscarded(ctx context.Context, e *env) {
	cmd := e.py("import os\nfor _ in range(1000): os.write(1,b'x'*10000);os.write(2,b'y'*100)")
	p, err := e.Start(ctx, cmd)
	if err != nil {
		e.Fatal(err)
	}
	if err := p.Wait(ctx); err != nil {
		e.Fatal(err)
	}
	e.wantCounts(p, backend.Counts{Total: 10_000_000}, backend.Counts{Total: 100_000})
}

// gate is a writer that blocks until it is opened.
type gate struct {
	buffer

	reached, open chan struct{}
	once          sync.Once
}

func newGate() *gate { return &gate{reached: make(chan struct{}), open: make(chan struct{})} }

func (g *gate) Write(p []byte) (int, error) {
	g.once.Do(func() { close(g.reached) })
	<-g.open
	return g.buffer.Write(p)
}

func outputSlow(ctx context.Context, e *env) {
	slow := newGate()
	cmd := e.py("import os,sys\nsys.stdout.buffer.write(b'x'*20000000);sys.stdout.flush();os.write(2,b'done')")
	cmd.Stdout = slow
	p := e.start(ctx, cmd)
	<-slow.reached
	data := pattern(4 << 20) // more than what any window in between holds
	other := e.py("import sys,shutil;shutil.copyfileobj(sys.stdin.buffer,sys.stdout.buffer)")
	other.Stdin = strings.NewReader(data)
	if got := e.output(ctx, other); got != data {
		e.Errorf("the other process printed %d bytes", len(got))
	}
	if p.err.String() != "" {
		e.Error("20 MB were taken from a process while its writer was blocked")
	}
	close(slow.open)
	p.wait(ctx)
	if got := len(slow.String()); got != 20_000_000 {
		e.Errorf("%d bytes arrived", got)
	}
}

// failing is a writer that fails after some bytes.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errSource
	}
	return len(p), nil
}

// outputFails: a writer that fails is a fault of the host; the process must not hang for it.
func outputFails(ctx context.Context, e *env) {
	cmd := e.py("import os\nfor _ in range(1000): os.write(1,b'x'*10000)")
	cmd.Stdout = &failing{left: 100_000}
	p := e.start(ctx, cmd)
	_ = p.Wait(ctx)
	if ctx.Err() != nil {
		e.Fatal("the process hangs")
	}
	e.output(ctx, e.sh("true"))
}

func outputClosed(ctx context.Context, e *env) {
	code := "import os,time\nos.write(1,b'ready\\n')\nfor fd in 0,1,2: os.close(fd)\ntime.sleep(0.2);os._exit(5)"
	if got := e.ready(ctx, e.py(code)).exit(ctx); got.Code != 5 {
		e.Errorf("exit %+v", got)
	}
}

func keepCases() []testCase {
	return []testCase{
		{"keep head and tail with exact counts", keepTable},
		{"keep head is live", keepLive},
		{"keep each stream on its own", keepBoth},
		{"keep 1 GB", keepGigabyte},
	}
}

func keepTable(ctx context.Context, e *env) {
	text := pattern(200_000)
	for _, keep := range []backend.Keep{
		{Head: 1000, Tail: 500},
		{Head: 0, Tail: 500},
		{Head: 1000, Tail: 0},
		{},
		{Head: 100_000, Tail: 100_000},
		{Head: 100_000, Tail: 99_999},
		{Head: 199_999, Tail: 0},
		{Head: 200_000, Tail: 0},
		{Head: 0, Tail: 200_000},
		{Head: 1 << 40, Tail: 1 << 20},
		{Head: 65_536, Tail: 65_536},
	} {
		cmd := e.py("import sys,shutil;shutil.copyfileobj(sys.stdin.buffer,sys.stdout.buffer,10007)")
		cmd.Stdin, cmd.Keep = strings.NewReader(text), &keep
		p := e.start(ctx, cmd)
		p.wait(ctx)
		head := min(keep.Head, int64(len(text)))
		tail := min(keep.Tail, int64(len(text))-head)
		if want := text[:head] + text[int64(len(text))-tail:]; p.out.String() != want {
			e.Errorf("%+v: %d bytes, want %d", keep, len(p.out.String()), len(want))
		}
		e.wantCounts(p, backend.Counts{Total: 200_000, Omitted: 200_000 - head - tail}, backend.Counts{})
	}
}

func keepLive(ctx context.Context, e *env) {
	near, far := duplex()
	cmd := e.py("import os\nos.write(1,b'head'+b'.'*100);os.read(0,1);os.write(1,b'tail')")
	cmd.Stdin, cmd.Keep = near, &backend.Keep{Head: 10, Tail: 4}
	p := e.start(ctx, cmd)
	p.await(ctx, "head......")
	far.Close()
	p.wait(ctx)
	if got := p.out.String(); got != "head......tail" {
		e.Errorf("got %q", got)
	}
	e.wantCounts(p, backend.Counts{Total: 108, Omitted: 94}, backend.Counts{})
}

func keepBoth(ctx context.Context, e *env) {
	cmd := e.py("import os\nfor i in range(100): os.write(1,b'%02d'%i);os.write(2,b'%03d'%i)")
	cmd.Keep = &backend.Keep{Head: 3, Tail: 3}
	p := e.start(ctx, cmd)
	p.wait(ctx)
	if p.out.String() != "000899" || p.err.String() != "000099" {
		e.Errorf("stdout %q, stderr %q", p.out, p.err)
	}
	e.wantCounts(p, backend.Counts{Total: 200, Omitted: 194}, backend.Counts{Total: 300, Omitted: 294})
}

// keepGigabyte (B004): a flood costs neither link nor memory of the host, and is counted to the byte.
func keepGigabyte(ctx context.Context, e *env) {
	const total = 1_000_000_007
	cmd := e.sh("printf head; head -c " + itoa(total-8) + " /dev/zero; printf tail")
	cmd.Keep = &backend.Keep{Head: 100_000, Tail: 50_000}
	p := e.start(ctx, cmd)
	p.wait(ctx)
	got := p.out.String()
	if len(got) != 150_000 || !strings.HasPrefix(got, "head\x00") || !strings.HasSuffix(got, "\x00tail") {
		e.Errorf("%d bytes: %.10q", len(got), got)
	}
	e.wantCounts(p, backend.Counts{Total: total, Omitted: total - 150_000}, backend.Counts{})
}
