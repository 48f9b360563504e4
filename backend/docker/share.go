package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/closing"
	"github.com/hermes-exec/hermes-exec/internal/guest"
)

// Listen opens a socket in the directory that both sides see, where that works, else one of the
// container's that the agent relays.
func (b *Backend) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	if network != "unix" || address != "" || !b.meeting.usable() || b.Err() != nil {
		return b.Guest.Listen(ctx, network, address)
	}
	l, err := b.meeting.listen(ctx, b.Guest)
	if err != nil {
		b.log.WarnContext(ctx, "docker: listen in the mounted directory", "error", err)
		return b.Guest.Listen(ctx, network, address)
	}
	ours, err := b.opened.Listener(l)
	if err != nil {
		return nil, wrap("listen on unix", err)
	}
	return ours, nil
}

// Share makes a directory in the one that both sides see, where that works, else one that the agent
// mirrors.
func (b *Backend) Share(ctx context.Context, dir string) (backend.Share, error) {
	if dir != "" || !b.meeting.usable() || b.Err() != nil {
		return b.Guest.Share(ctx, dir)
	}
	s, err := b.meeting.share(ctx, b.Guest)
	if err != nil {
		b.log.WarnContext(ctx, "docker: share the mounted directory", "error", err)
		return b.Guest.Share(ctx, dir)
	}
	s.opened = &b.opened
	if err := b.opened.Add(s); err != nil {
		return nil, wrap("share", err)
	}
	return s, nil
}

var _ backend.Share = (*share)(nil)

// share is a spool that both sides see.
type share struct {
	host, guest string
	root        *os.Root
	opened      *closing.Set
}

// share makes a spool and proves that files pass in both directions.
func (m *meeting) share(ctx context.Context, g *guest.Guest) (*share, error) {
	name := "spool" + strings.ToLower(rand.Text()[:10])
	ours := filepath.Join(m.parent, name)
	s := &share{host: filepath.Join(m.host, name), guest: path.Join(meetingDir, name), opened: &closing.Set{}}
	if err := os.Mkdir(ours, 0o700); err != nil {
		return nil, err
	}
	err := m.furnish(g, s, ours)
	if err == nil {
		err = s.prove(ctx, g)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close(), os.RemoveAll(ours))
	}
	return s, nil
}

// furnish fills the spool while it is ours, and moves it to where the container sees it.
func (m *meeting) furnish(g *guest.Guest, s *share, ours string) (err error) {
	if s.root, err = os.OpenRoot(ours); err != nil {
		return err
	}
	for _, dir := range []string{"in", "out"} {
		err = errors.Join(err, s.root.Mkdir(dir, 0o700), m.give(g, filepath.Join(ours, dir)))
	}
	return errors.Join(err, m.give(g, ours), os.Rename(ours, s.host))
}

// HostDir implements backend.Share.
func (s *share) HostDir() string { return s.host }

// Root implements backend.Share.
func (s *share) Root() *os.Root { return s.root }

// GuestDir implements backend.Share.
func (s *share) GuestDir() string { return s.guest }

// Close implements backend.Share.
func (s *share) Close() error {
	s.opened.Remove(s)
	if s.root != nil {
		_ = s.root.Close()
	}
	return os.RemoveAll(s.host)
}

// proof is a file that a transport does not see.
const proof = ".proof"

// prove passes a nonce in and out again by the agent, and looks whether it is here too.
func (s *share) prove(ctx context.Context, g *guest.Guest) error {
	nonce := rand.Text()
	if err := g.Put(ctx, path.Join(s.guest, "in", proof), strings.NewReader(nonce), 0o600); err != nil {
		return err
	}
	// Looked at, not read: the container may have put anything in its place.
	info, err := s.root.Lstat("in/" + proof)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() != int64(len(nonce)) {
		return errors.New("a file that the container wrote is another one here")
	}
	r, err := g.Get(ctx, path.Join(s.guest, "in", proof))
	if err != nil {
		return err
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err == nil && string(got) != nonce {
		err = errors.New("a file that the container wrote is another one there")
	}
	return err
}
