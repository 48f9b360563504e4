package guest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hermes-exec/hermes-exec/internal/fields"
)

// heardWait bounds the wait for what the agent has said to arrive.
const heardWait = 10 * time.Second

// Prove has the agent dial a listener of the host's by its Addr, which is a place of the environment's,
// and say something there that the listener must hear: the same name may lead to another one. Release
// removes the socket's name from the environment.
func (g *Guest) Prove(ctx context.Context, l net.Listener) (release func(), err error) {
	nonce := rand.Text()
	said := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			err = heard(c, nonce)
		}
		said <- err
	}()
	release, err = g.dial(ctx, l.Addr(), nonce)
	if err != nil {
		_ = l.Close() // so that Accept returns
	}
	if heardErr := <-said; err == nil && heardErr != nil {
		release()
		err = g.wrap("hear of "+l.Addr().String(), heardErr)
	}
	return release, err
}

func heard(c net.Conn, nonce string) error {
	late := time.AfterFunc(heardWait, func() { _ = c.Close() })
	defer late.Stop()
	defer c.Close() //nolint:errcheck // it was only read
	got, err := io.ReadAll(io.LimitReader(c, int64(len(nonce))+1))
	if err == nil && string(got) != nonce {
		err = errors.New("somebody else called")
	}
	return err
}

// Dial has the agent connect to a socket of the host's in a directory of its own, where nobody else's can
// stand, and hang up. Release removes the socket's name.
func (g *Guest) Dial(ctx context.Context, to net.Addr) (release func(), err error) {
	return g.dial(ctx, to, "")
}

// dial has the agent connect to an address, write data there and hang up.
func (g *Guest) dial(ctx context.Context, to net.Addr, data string) (release func(), err error) {
	op := fmt.Sprintf("dial %s %s", to.Network(), to)
	t := newTransfer(g)
	payload := fields.Append(fields.Append(nil, "network", to.Network()), "address", to.String())
	if err := t.request(ctx, kindDial, fields.Append(payload, "data", data), t.register); err != nil {
		return nil, g.wrap(op, err)
	}
	return sync.OnceFunc(func() {
		g.forget(t.id)
		g.reset(t.id)
	}), nil
}
