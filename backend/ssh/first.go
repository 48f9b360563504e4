package ssh

import (
	"context"
	"crypto/rand"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/hermes-exec/hermes-exec/internal/guest"
)

// loginWait bounds how long the login shell may take: its files may wait for something.
const loginWait = 5 * time.Second

// farAway is from when on a round trip is worth it to ask for a socket before its directory is known to be
// there: nearer it is not, since programs start more slowly, and sshd complains in its log.
const farAway = 30 * time.Millisecond

// maxLogin is how much of what a login shell prints is looked at, in bytes, at the beginning and at the
// end.
const maxLogin = 1 << 16

// newSocketDir is the name of a directory for sockets, which the command that starts the agent makes: what
// sshd is to forward can then be asked for before the agent has said where its own are.
func newSocketDir() string { return "/tmp/hermes_sandbox_" + strings.ToLower(rand.Text()[:12]) }

// first is what is asked for together with the start of the agent, since each would cost a round trip after
// it.
type first struct {
	link    *link
	sockets string
	dir     string // to enter; "" is none that is known so early

	done    chan struct{} // closed when all of it is known
	forward *forwarding   // nil: there was none in time, or it has been taken
	entered error         // whether dir can be
	path    string        // the login shell's PATH; "" where it does not say
}

func newFirst(c Config, l *link, sockets string) *first {
	f := &first{link: l, sockets: sockets, done: make(chan struct{})}
	if !c.Strict && path.IsAbs(c.Dir) {
		f.dir = c.Dir
	}
	return f
}

// ask asks for all of it.
func (f *first) ask(ctx context.Context, g *guest.Guest) {
	defer close(f.done)
	var work sync.WaitGroup
	work.Go(func() { f.path = loginPath(ctx, g) })
	work.Go(func() {
		if time.Since(f.link.begun) < farAway {
			return
		}
		if l, err := f.link.forwarded(ctx, g, path.Join(f.sockets, "s.sock")); err == nil {
			f.forward = l
		}
	})
	if f.dir != "" {
		f.entered = g.CanEnter(ctx, f.dir)
	}
	work.Wait()
}

// take is the socket that is forwarded already, if the agent has taken the directory over.
func (f *first) take(g *guest.Guest) *forwarding {
	<-f.done
	l := f.forward
	f.forward = nil
	if l != nil && g.SocketDir() != f.sockets {
		_ = l.Close()
		return nil
	}
	return l
}

// drop gives up what there is, when an agent did not start: nobody asks any more.
func (f *first) drop() {
	if f.forward != nil {
		_ = f.forward.Close()
	}
}

// enter enters the working directory; "" is where one is already.
func (b *Backend) enter(ctx context.Context, dir string) error {
	switch dir {
	case "":
		return nil
	case b.first.dir:
		<-b.first.done
		if b.first.entered == nil {
			b.WorkIn(dir)
		}
		return b.first.entered
	default:
		return b.Enter(ctx, dir)
	}
}

// loginPath asks the login shell for its PATH, which often has more than that of a command. It is "" where
// the shell does not say.
func loginPath(ctx context.Context, g *guest.Guest) string {
	ctx, cancel := context.WithTimeout(ctx, loginWait)
	defer cancel()
	mark := rand.Text()
	out, err := g.AskLogin(ctx, "echo "+mark+"; printenv PATH", maxLogin)
	if err != nil {
		return ""
	}
	_, said, _ := strings.Cut(out, mark+"\n")
	found, _, _ := strings.Cut(said, "\n")
	return found
}
