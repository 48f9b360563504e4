package guest

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
)

// ping keeps the lease and notices a link that froze: nothing at all came back for its length.
func (g *Guest) ping() {
	pong := &pongs{heard: make(chan struct{}, 1)}
	g.mu.Lock()
	if g.err == nil {
		g.streams[0] = pong
	}
	g.mu.Unlock()
	every := time.NewTicker(g.opt.Lease / 4)
	defer every.Stop()
	for missed := 0; ; missed++ {
		if missed > 2 {
			_ = g.fail(&backend.GoneError{Reason: fmt.Errorf("no answer from the guest agent for %v", g.opt.Lease/2)})
			return
		}
		// The ping goes out beside the wait for its answer: a frozen link may block the write.
		g.work.Go(func() { _ = g.send(kindPing, 0, 0, binary.BigEndian.AppendUint32(nil, uint32(missed))) })
		select {
		case <-g.over:
			return
		case <-every.C:
		}
		select {
		case <-pong.heard:
			missed = -1
		default:
		}
	}
}

type pongs struct{ heard chan struct{} }

func (p *pongs) frame(k kind, _ byte, _ []byte) error {
	if k == kindPong {
		select {
		case p.heard <- struct{}{}:
		default:
		}
	}
	return nil
}

func (p *pongs) lost(error) {}
