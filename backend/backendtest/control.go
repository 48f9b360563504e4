package backendtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/hermes-exec/hermes-exec/backend"
)

func controlCases() []testCase {
	return []testCase{
		{"control 1 MiB both ways", controlEcho},
		{"control ordered after output", controlOrder},
		{"control ends with the process", controlEnds},
		{"control that the host closes is EOF", controlHostCloses},
		{"control that the process closes", controlGuestCloses},
		{"control that nobody reads does not outlive a kill", controlUnread},
	}
}

// control starts cmd with a control stream and returns the host's end.
func (e *env) control(ctx context.Context, cmd backend.Cmd) (*proc, io.ReadWriteCloser) {
	e.Helper()
	near, far := duplex()
	e.Cleanup(func() { far.Close() })
	cmd.Control = near
	return e.start(ctx, cmd), far
}

func controlEcho(ctx context.Context, e *env) {
	p, far := e.control(ctx, e.py("import os\nwhile True:\n d=os.read(3,65536)\n if not d: break\n while d: d=d[os.write(3,d):]"))
	data := pattern(1 << 20)
	go func() { _, _ = io.WriteString(far, data) }()
	got := make([]byte, len(data))
	if _, err := io.ReadFull(far, got); err != nil || string(got) != data {
		e.Fatalf("1 MiB came back changed: %v", err)
	}
	far.Close()
	p.wait(ctx)
}

// controlOrder: when a control message arrives, all that was written before it has arrived.
func controlOrder(ctx context.Context, e *env) {
	code := `
import os
for i in range(300):
    size = 1 if i % 10 else 200_000
    os.write(2, b"e%d;" % i)
    data = b"." * size + b"o%d;" % i
    while data:
        data = data[os.write(1, data):]
    os.write(3, b"%d\n" % i)
`
	out, errs := &buffer{}, &buffer{}
	check := &checker{check: func(line string) {
		if !strings.HasSuffix(out.String(), "o"+line+";") || !strings.HasSuffix(errs.String(), "e"+line+";") {
			e.Errorf("message %s came before the output, or after more of it", line)
		}
	}}
	// After each message the process goes on at once, so more output may follow it. The check
	// compares with the end of the output only because the process waits for an answer.
	cmd := e.py(strings.Replace(code, `os.write(3, b"%d\n" % i)`, `os.write(3, b"%d\n" % i); os.read(3, 1)`, 1))
	cmd.Stdout, cmd.Stderr, cmd.Control = out, errs, check
	check.init()
	e.start(ctx, cmd).wait(ctx)
	if check.seen != 300 {
		e.Errorf("%d messages of 300", check.seen)
	}
}

// checker is the host's side of a control stream: it looks at each line in the moment in which it
// is written, and answers it with one byte.
type checker struct {
	check   func(line string)
	seen    int
	partial string
	answers chan struct{}
	closed  sync.Once
}

func (c *checker) init() { c.answers = make(chan struct{}, 1000) }

func (c *checker) Write(p []byte) (int, error) {
	c.partial += string(p)
	for {
		line, rest, ok := strings.Cut(c.partial, "\n")
		if !ok {
			return len(p), nil
		}
		c.check(line)
		c.seen++
		c.partial = rest
		c.answers <- struct{}{}
	}
}

func (c *checker) Read(p []byte) (int, error) {
	if _, ok := <-c.answers; !ok {
		return 0, io.EOF
	}
	p[0] = '.'
	return 1, nil
}

func (c *checker) Close() error {
	c.closed.Do(func() { close(c.answers) })
	return nil
}

func controlEnds(ctx context.Context, e *env) {
	p, far := e.control(ctx, e.py("import os\nos.write(3,b'last words\\n')"))
	text, err := io.ReadAll(far)
	if string(text) != "last words\n" || err != nil && !errors.Is(err, io.ErrClosedPipe) {
		e.Errorf("got %q, %v", text, err)
	}
	p.wait(ctx)
}

func controlHostCloses(ctx context.Context, e *env) {
	p, far := e.control(ctx, e.py("import os\nwhile True:\n d=os.read(3,100)\n print(d,flush=True)\n if not d: break"))
	fmt.Fprint(far, "x")
	p.await(ctx, "b'x'\n")
	far.Close()
	p.wait(ctx)
	if got := p.out.String(); got != "b'x'\nb''\n" {
		e.Errorf("got %q", got)
	}
}

func controlGuestCloses(ctx context.Context, e *env) {
	code := "import os,sys\nos.write(3,b'bye\\n');os.close(3);sys.stdin.read();print('after')"
	near, far := duplex()
	cmd := e.py(code)
	cmd.Stdin = near
	p, control := e.control(ctx, cmd)
	if line, err := bufio.NewReader(control).ReadString('\n'); line != "bye\n" {
		e.Errorf("got %q, %v", line, err)
	}
	far.Close()
	p.wait(ctx)
	if got := p.out.String(); got != "after\n" {
		e.Errorf("got %q", got)
	}
}

func controlUnread(ctx context.Context, e *env) {
	code := "import os\nos.write(1,b'ready\\n')\nwhile True: os.write(3,b'x'*65536)"
	p, _ := e.control(ctx, e.py(code))
	p.await(ctx, "ready\n")
	p.kill(ctx)
}
