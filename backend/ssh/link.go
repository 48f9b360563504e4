package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-exec/hermes-exec/internal/guest"
	"github.com/hermes-exec/hermes-exec/internal/keep"
	"github.com/hermes-exec/hermes-exec/internal/sshclient"
)

// statusWait bounds how long the end of the agent's stream waits for its exit status.
const statusWait = time.Second

var _ guest.Link = (*link)(nil)

// link is the stdio of an agent on a session channel. Closing the channel ends the agent's stdin, and
// that ends the agent: sshd itself ends nothing.
type link struct {
	*sshclient.Channel
	stderr keep.Last
	read   chan struct{} // closed when stderr is read to its end

	again func(ctx context.Context) (*sshclient.Channel, error) // opens another channel
	begun time.Time                                             // when the command went out
	pid   atomic.Int64                                          // of the agent; 0 until it has greeted
	once  sync.Once
}

// start runs an interpreter as the agent. Sockets is a directory that is made before, for the agent to
// take over; "" is none.
func start(ctx context.Context, pool *sshclient.Pool, o sshclient.Options, python, sockets string) (*link, error) {
	if strings.ContainsAny(python, "'\"\\!$`\n") {
		return nil, fmt.Errorf("the interpreter %q: login shells do not agree on such a name", python)
	}
	channel, err := pool.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := channel.Exec(command(python, sockets)); err != nil {
		return nil, errors.Join(fmt.Errorf("start the guest agent: %w", err), channel.Close())
	}
	l := &link{Channel: channel, begun: time.Now(), read: make(chan struct{})}
	l.again = func(ctx context.Context) (*sshclient.Channel, error) { return pool.Open(ctx, o) }
	go func() {
		defer close(l.read)
		_, _ = io.Copy(&l.stderr, channel.Stderr())
	}()
	return l, nil
}

// startMark is what the shell says on stderr before it starts the interpreter.
const startMark = "hermes-exec: starting the agent"

// command is the line for the user's login shell, whichever that is: all of them pass a word in single
// quotes on as it is. The directory for sockets is made only where there is somebody to remove it.
func command(python, sockets string) string {
	argv := guest.Argv(python)
	last := len(argv) - 1
	prepare := ""
	if sockets != "" {
		prepare = `command -v "` + argv[0] + `" >/dev/null && mkdir -m 700 ` + sockets + ` 2>/dev/null; `
	}
	return `exec /bin/sh -c 'echo "` + startMark + `" >&2; ` + prepare + `exec "` + argv[0] + `" ` + strings.Join(argv[1:last], " ") +
		` "` + argv[last] + `" ` + sockets + `'`
}

// Close lets go of the channel. An agent that does not end with it is killed: its supervisors notice, and
// end what they watch. Where the host cannot be reached its lease does that.
func (l *link) Close() error {
	l.once.Do(func() {
		_ = l.CloseWrite()
		ended := wait(l.Exited()) // once the channel is closed sshd tells no status any more
		_ = l.Channel.Close()
		if pid := l.pid.Load(); pid != 0 && !ended {
			l.kill(pid)
		}
	})
	return nil
}

// leave lets go of the channel without a look at the agent, which ends with it.
func (l *link) leave() {
	l.once.Do(func() {
		_ = l.CloseWrite()
		_ = l.Channel.Close()
	})
}

// tidy removes the directory for sockets where what was started is no Python, which would have done it. A
// socket may be in it: one that was asked for goes with its connection, whenever sshd notices the end of that.
func (l *link) tidy(ctx context.Context, why error, sockets string) {
	refused := (*guest.RefusedError)(nil)
	if ctx.Err() != nil || !errors.As(why, &refused) && !errors.Is(why, guest.ErrNoGreeting) ||
		!l.began() || slices.Contains([]int{-1, noProgram}, l.exitStatus()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, killWait)
	defer cancel()
	l.run(ctx, "rm -rf "+sockets)
}

// noProgram is a shell's exit status where there is none.
const noProgram = 127

// killWait bounds what it takes to kill an agent.
const killWait = 5 * time.Second

func (l *link) kill(pid int64) {
	ctx, cancel := context.WithTimeout(context.Background(), killWait)
	defer cancel()
	l.run(ctx, fmt.Sprintf("kill -9 %d", pid))
}

// run runs a command of a shell on another channel, as well as that goes.
func (l *link) run(ctx context.Context, command string) {
	channel, err := l.again(ctx)
	if err != nil {
		return
	}
	defer channel.Close() //nolint:errcheck // it has done what it could
	if err := channel.Exec("exec /bin/sh -c '" + command + "'"); err != nil {
		return
	}
	select {
	case <-channel.Exited():
	case <-ctx.Done():
	}
}

// said is the end of what was printed on stderr.
func (l *link) said() string {
	wait(l.read)
	return strings.Replace(l.stderr.String(), startMark+"\n", "", 1)
}

// began tells whether it came as far as the interpreter.
func (l *link) began() bool {
	wait(l.read)
	return strings.Contains(l.stderr.String(), startMark)
}

// exitStatus is the status that the agent ended with, or −1.
func (l *link) exitStatus() int {
	if !wait(l.Exited()) {
		return -1
	}
	return l.Status()
}

// wait waits for what comes with the end of the agent.
func wait(done <-chan struct{}) bool {
	timer := time.NewTimer(statusWait)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
