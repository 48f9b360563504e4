package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"sync/atomic"

	"github.com/hermes-exec/hermes-exec/internal/guest"
	"github.com/hermes-exec/hermes-exec/internal/owner"
	"github.com/hermes-exec/hermes-exec/internal/scrap"
	"github.com/hermes-exec/hermes-exec/internal/volume"
)

// meetingDir is where the container sees the directory that it shares with the host.
const meetingDir = volume.Meeting

// maxTemp leaves room in the path of a Unix socket, in bytes: the limit is 104 on macOS.
const maxTemp = 60

// meeting is a directory that both sides see by a bind mount, where a socket of the host's needs no
// relay. Whether it works is proved from inside, for the engine may run elsewhere, map users, or have a
// kernel of its own.
//
// The container may do what it likes there: the host makes everything beside it, where the container
// sees nothing, moves it there, and follows no name of it afterwards. A nil meeting is of no use, and
// harmless.
type meeting struct {
	parent string // ours alone
	host   string // below it; the container's
	why    string // why it does not work; "" once it does
	count  atomic.Int64
	proof  atomic.Pointer[listener] // what proved it, for the first who wants one
}

var errUnproved = errors.New("not proved")

// newMeeting makes the directory on the host, in the first temporary directory that takes it. Where none
// does there is no meeting, which says why.
func newMeeting(temp string) *meeting {
	var errs []error
	for _, dir := range []string{temp, "/tmp"} {
		if dir == "" || len(dir) > maxTemp {
			continue
		}
		m, err := meetIn(dir)
		if err == nil {
			return m
		}
		errs = append(errs, err)
	}
	m := &meeting{}
	m.refused(errors.Join(errs...))
	return m
}

func meetIn(temp string) (*meeting, error) {
	parent, err := os.MkdirTemp(temp, "hermes_sandbox_")
	if err != nil {
		return nil, err
	}
	m := &meeting{parent: parent, host: filepath.Join(parent, "meet"), why: errUnproved.Error()}
	if err := errors.Join(owner.Self().Write(parent), os.Mkdir(m.host, 0o700)); err != nil {
		return nil, errors.Join(err, m.remove())
	}
	return m, nil
}

// remove removes it, whatever the container has made of it. The mark of its owner goes last, so that prune
// finds what stays.
func (m *meeting) remove() error {
	if m == nil || m.parent == "" {
		return nil
	}
	if l := m.proof.Swap(nil); l != nil {
		_ = l.Close()
	}
	if err := scrap.Remove(m.host); err != nil {
		return err
	}
	return os.RemoveAll(m.parent)
}

// refused says why there is none after all.
func (m *meeting) refused(err error) { m.why = err.Error() }

// mountable tells whether there is a directory to try.
func (m *meeting) mountable() bool { return m != nil && m.host != "" }

// usable tells whether calls can travel there.
func (m *meeting) usable() bool { return m != nil && m.why == "" }

// note says how calls travel.
func (m *meeting) note() string {
	switch {
	case m == nil:
		return "tool calls are relayed by the guest agent, for the container and this machine share no directory"
	case m.usable():
		return "tool calls travel through a directory that is mounted at " + meetingDir
	default:
		return "tool calls are relayed by the guest agent, for a mounted directory does not work: " + m.why
	}
}

// prove finds out whether the container can reach a socket of the host's in the directory.
func (m *meeting) prove(ctx context.Context, g *guest.Guest) {
	if m == nil || m.why != errUnproved.Error() {
		return
	}
	err := m.give(g, m.host)
	var l *listener
	if err == nil {
		l, err = m.listen(ctx, g)
	}
	if err != nil {
		m.refused(err)
		return
	}
	m.proof.Store(l)
	m.why = ""
}

// give makes the container's user the owner of a file that is still ours.
func (m *meeting) give(g *guest.Guest, name string) error {
	uid, gid := g.User()
	if uid == os.Geteuid() {
		return nil
	}
	return os.Lchown(name, uid, gid)
}

// listen opens a socket of the host's that the container has dialled.
func (m *meeting) listen(ctx context.Context, g *guest.Guest) (*listener, error) {
	if l := m.proof.Swap(nil); l != nil {
		return l, nil
	}
	name := fmt.Sprintf("s%d.sock", m.count.Add(1))
	ours := filepath.Join(m.parent, name)
	raw, err := (&net.ListenConfig{}).Listen(ctx, "unix", ours)
	if err != nil {
		return nil, err
	}
	l := &listener{Listener: raw, host: filepath.Join(m.host, name), guest: path.Join(meetingDir, name)}
	err = errors.Join(os.Chmod(ours, 0o600), m.give(g, ours), os.Rename(ours, l.host))
	if err == nil {
		l.release, err = g.Prove(ctx, l)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// listener is a socket of the host's by the name that the container knows.
type listener struct {
	net.Listener
	host, guest string
	release     func() // nil until it is proved
}

// Addr is what the container dials.
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Net: "unix", Name: l.guest} }

// Close ends it and removes the socket.
func (l *listener) Close() error {
	if l.release != nil {
		l.release()
	}
	err := l.Listener.Close()
	if gone := os.Remove(l.host); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
