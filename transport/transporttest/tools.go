package transporttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
	"github.com/hermes-exec/hermes-exec/transport"
)

// tools is the handler of the suite.
type tools struct {
	mu      sync.Mutex
	made    map[string]int
	refused int
	now     map[string]int           // running calls of wait, by what they wait for
	gates   map[string]chan struct{} // closed by go
	bytes   int                      // of arguments, in all running calls
	most    int
}

var _ transport.Handler = (*tools)(nil)

func newTools() *tools {
	return &tools{made: map[string]int{}, now: map[string]int{}, gates: map[string]chan struct{}{}}
}

// Refuse implements transport.Handler.
func (h *tools) Refuse(error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused++
}

// Handle implements transport.Handler.
func (h *tools) Handle(ctx context.Context, c *transport.Call) (json.RawMessage, error) {
	defer h.enter(c)()
	var args struct {
		Text, Message, Name, Until string
		Length                     int
	}
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return nil, err
	}
	switch c.Tool {
	case "echo":
		return c.Args, nil
	case "cwd":
		return json.Marshal(map[string]string{"cwd": c.Dir})
	case "size":
		return json.Marshal(map[string]int{"size": len(args.Text)})
	case "text":
		return fmt.Appendf(nil, `{"text":"%s"}`, bytes.Repeat([]byte{'t'}, args.Length)), nil
	case "fail":
		return nil, errors.New(args.Message)
	case "boom":
		panic("boom")
	case "wait":
		return c.Args, h.wait(ctx, args.Until)
	case "waiting":
		return json.Marshal(map[string]int{"n": h.waiting()})
	case "go":
		h.open(args.Name)
		return c.Args, nil
	}
	return nil, fmt.Errorf("no tool %s", c.Tool)
}

// enter counts a call until the returned function is called.
func (h *tools) enter(c *transport.Call) func() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made[c.Tool]++
	h.bytes += len(c.Args)
	h.most = max(h.most, h.bytes)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.bytes -= len(c.Args)
	}
}

// wait waits until the gate of a name opens.
func (h *tools) wait(ctx context.Context, name string) error {
	h.mu.Lock()
	h.now[name]++
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.now[name]--
	}()
	select {
	case <-h.gate(name):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *tools) gate(name string) chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gates[name] == nil {
		h.gates[name] = make(chan struct{})
	}
	return h.gates[name]
}

// open lets go those who wait for a gate, and those who will.
func (h *tools) open(name string) {
	gate := h.gate(name)
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-gate:
	default:
		close(gate)
	}
}

// counts returns the calls made, by tool, and how many requests were refused.
func (h *tools) counts() (made map[string]int, refused int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.made), h.refused
}

func (h *tools) mostBytes() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.most
}

// waiting returns how many calls of wait are running.
func (h *tools) waiting() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, running := range h.now {
		n += running
	}
	return n
}

func (h *tools) awaitWaiting(t *testing.T, n int) {
	t.Helper()
	testenv.Eventually(t, fmt.Sprintf("%d calls wait", n), func() bool { return h.waiting() == n })
}
