package tool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/keep"
)

const (
	maxAnswer   = 64 << 20         // bytes of one answer of a helper
	helperGrace = 2 * time.Second  // between the end of a helper's stdin and its being killed
	helperKill  = 10 * time.Second // for a killed helper to be gone
)

// errBroken is a helper that ended or answered nonsense; another one may do better.
var errBroken = errors.New("the file helper broke")

// helper is one process that answers requests, one at a time.
type helper struct {
	process backend.Process
	in      *io.PipeWriter
	outPipe *io.PipeReader
	out     *bufio.Reader
	stderr  keep.Last
	giveUp  context.CancelFunc // stops waiting for the process
	gone    chan struct{}      // closed when nobody waits any more
}

// startHelper starts a helper. Ctx bounds the start alone.
func startHelper(ctx context.Context, b backend.Backend, environ map[string]string) (*helper, error) {
	info := b.Info()
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	h := &helper{in: in, outPipe: out, out: bufio.NewReaderSize(out, 1<<16), gone: make(chan struct{})}
	const code = "import sys;sys.path.insert(0,sys.argv[1]);from _hermes_exec import files;sys.exit(files.main())"
	var err error
	h.process, err = b.Start(ctx, backend.Cmd{
		// UTF-8 mode: names of files must not depend on the locale.
		Args:   []string{info.Python.Path, "-I", "-S", "-X", "utf8", "-c", code, info.Library},
		Env:    environ,
		Stdin:  stdin,
		Stdout: stdout,
		Stderr: &h.stderr,
	})
	if err != nil {
		h.disconnect()
		return nil, fmt.Errorf("start the file helper: %w", err)
	}
	waiting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h.giveUp = cancel
	go h.wait(waiting, stdin, stdout)
	return h, nil
}

// wait makes the end of the process an error of whoever writes to it or reads from it.
func (h *helper) wait(ctx context.Context, stdin *io.PipeReader, stdout *io.PipeWriter) {
	defer close(h.gone)
	err := h.process.Wait(ctx)
	if err == nil {
		err = errors.New("it ended")
	}
	err = fmt.Errorf("%w: %w", errBroken, err)
	if said := h.stderr.Line(); said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	_ = stdin.CloseWithError(err)
	_ = stdout.CloseWithError(err)
}

// ask sends a request and returns the answer. After an error the helper is of no more use.
func (h *helper) ask(ctx context.Context, line []byte, admit admission) ([]byte, error) {
	stop := context.AfterFunc(ctx, h.disconnect)
	answer, err := h.exchange(ctx, line, admit)
	if !stop() {
		return nil, context.Cause(ctx)
	}
	if errors.Is(err, io.ErrClosedPipe) {
		err = fmt.Errorf("%w: it was closed", errBroken)
	}
	return answer, err
}

func (h *helper) exchange(ctx context.Context, line []byte, admit admission) ([]byte, error) {
	if _, err := h.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	return readLine(ctx, h.out, maxAnswer, admit)
}

// admission waits until a reply may occupy size bytes of memory; nil allows everything.
type admission func(ctx context.Context, size int64) error

// readLine reads a line of at most limit bytes and returns it without its end. It is never empty.
func readLine(ctx context.Context, r *bufio.Reader, limit int, admit admission) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if need := len(line) + len(part); need > limit {
			return nil, fmt.Errorf("the answer is larger than %d bytes", limit)
		} else if need > cap(line) {
			size := min(max(need, 2*cap(line)), limit)
			if admit != nil {
				if err := admit(ctx, int64(size)); err != nil {
					return nil, err
				}
			}
			line = slices.Grow(line, size-len(line))
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, err
		case len(line) < 2:
			return nil, fmt.Errorf("%w: it gave an empty answer", errBroken)
		default:
			return line[:len(line)-1], nil
		}
	}
}

// ended tells whether the process is known to be gone.
func (h *helper) ended() bool {
	select {
	case <-h.gone:
		return true
	default:
		return false
	}
}

// disconnect frees whoever waits for the helper.
func (h *helper) disconnect() {
	_ = h.in.Close()
	_ = h.outPipe.Close()
}

// close ends an idle helper.
func (h *helper) close() {
	_ = h.in.Close()
	grace := time.NewTimer(helperGrace)
	defer grace.Stop()
	select {
	case <-h.gone:
	case <-grace.C:
	}
	h.kill()
}

// kill ends a helper, busy or not. It may be called more than once.
func (h *helper) kill() {
	h.disconnect()
	ctx, cancel := context.WithTimeout(context.Background(), helperKill)
	defer cancel()
	_ = h.process.Signal(ctx, backend.Kill) // an error says that it is gone, or out of reach
	select {
	case <-h.gone:
	case <-ctx.Done():
	}
	h.giveUp()
	<-h.gone
}
