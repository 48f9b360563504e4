package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestReplyMemory: a reply holds its memory until it is written, and gives it back then.
func TestReplyMemory(t *testing.T) {
	const limit = 1 << 20
	var admitted []error
	var mu sync.Mutex
	done := make(chan struct{}, 3)
	s := serve(t, Options{MaxLine: limit, MaxInFlight: 3 * limit}, &handler{handle: func(ctx context.Context, c *Call) (json.RawMessage, error) {
		if c.Tool == "now" { // or not at all
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			cancel()
		}
		err := c.Admit(ctx, limit)
		mu.Lock()
		admitted = append(admitted, err)
		mu.Unlock()
		done <- struct{}{}
		return json.RawMessage(`"` + strings.Repeat("r", limit-2) + `"`), nil
	}})
	slow, now, later := s.dial(), s.dial(), s.dial()
	slow.send(`{"token":"TOKEN","id":1,"tool":"t","args":{}}`) // and it does not read
	<-done
	now.send(`{"token":"TOKEN","id":1,"tool":"now","args":{}}`)
	<-done
	later.send(`{"token":"TOKEN","id":1,"tool":"t","args":{}}`)
	want := `{"id":1,"result":"` + strings.Repeat("r", limit-2) + `"}`
	slow.want(want)
	var wg sync.WaitGroup
	wg.Go(func() { now.want(want) }) // its reply waits as well, and either may be first
	later.want(want)
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	if len(admitted) != 3 || admitted[0] != nil || !errors.Is(admitted[1], context.Canceled) || admitted[2] != nil {
		t.Errorf("admitted: %v", admitted)
	}
}

// TestMemoryOfBothDirections: requests that wait for a slot do not keep replies from being made,
// which would free a slot.
func TestMemoryOfBothDirections(t *testing.T) {
	const limit, clients = 1 << 18, 12
	slots := make(chan struct{}, 3)
	s := serve(t, Options{MaxLine: limit, MaxInFlight: 3 * limit}, &handler{handle: func(ctx context.Context, c *Call) (json.RawMessage, error) {
		slots <- struct{}{}
		defer func() { <-slots }()
		err := c.Admit(ctx, int64(len(c.Args)))
		return c.Args, err
	}})
	body := strings.Repeat("z", limit*9/10)
	var wg sync.WaitGroup
	for range clients {
		c := s.dial()
		wg.Go(func() {
			for i := range 3 {
				c.send(`{"token":"TOKEN","id":%d,"tool":"t","args":{"a":"%s"}}`, i, body)
				c.want(fmt.Sprintf(`{"id":%d,"result":{"a":"%s"}}`, i, body))
			}
		})
	}
	wg.Wait()
}
