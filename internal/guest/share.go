package guest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/fields"
)

// rescan is how often the host's side of a share is looked at without an event: events are hints,
// the directory is the truth.
const rescan = 50 * time.Millisecond

// MaxShared bounds a file of a share, in bytes: a guest can make one of any length in no time.
const MaxShared = 256 << 20

var errTooLong = errors.New("the file is too long for a share")

// share is a directory of the guest that is mirrored to one of the host.
type share struct {
	*transfer
	hostDir, guestDir string
	root              *os.Root        // the host's directory: no name of the guest's leads out of it
	carrier           Carrier         // nil: the agent
	received          atomic.Uint32   // files that a carrier has fetched
	ctx               context.Context //nolint:containedctx // the life of the share, ended by Close
	cancel            context.CancelFunc
	once              sync.Once
	work              sync.WaitGroup
}

var _ backend.Share = (*share)(nil)

// Carrier moves the files of a share in place of the agent, which makes and removes the directory, wakes
// who waits there, and tells of who died. Both methods are called once or more, and end soon after ctx.
type Carrier interface {
	// Send puts a file into the guest's out/: whole or not at all.
	Send(ctx context.Context, name string, f *os.File) error

	// Fetch removes the files that appear in the guest's in/, and hands them over, until ctx ends. Take
	// may be called concurrently, refuses names that can be none, and reads no more than may be long.
	Fetch(ctx context.Context, take func(name string, r io.Reader) error)
}

// Share makes a directory in the guest and mirrors it.
func (g *Guest) Share(ctx context.Context, dir string) (backend.Share, error) {
	return g.share(ctx, dir, nil)
}

// ShareBy makes a directory in the guest that is mirrored by what carrier returns for it.
func (g *Guest) ShareBy(ctx context.Context, dir string, carrier func(guestDir string) (Carrier, error)) (backend.Share, error) {
	return g.share(ctx, dir, carrier)
}

func (g *Guest) share(ctx context.Context, dir string, carrier func(guestDir string) (Carrier, error)) (backend.Share, error) {
	if dir == "" {
		dir = g.info.Scratch
	}
	op := "share " + dir
	s := &share{transfer: newTransfer(g), guestDir: path.Join(g.abs(dir), "spool"+strings.ToLower(rand.Text()[:10]))}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := g.adoptShare(s); err != nil {
		return nil, g.wrap(op, err)
	}
	if err := s.open(ctx, carrier); err != nil {
		_ = s.Close()
		return nil, g.wrap(op, err)
	}
	s.work.Go(s.watch)
	if s.carrier != nil {
		s.work.Go(func() { s.carrier.Fetch(s.ctx, s.take) })
	}
	return s, nil
}

// open makes the directory on both sides.
func (s *share) open(ctx context.Context, carrier func(guestDir string) (Carrier, error)) error {
	if err := s.makeHostDir(); err != nil {
		return err
	}
	options := fields.Append(nil, "path", s.guestDir)
	if carrier != nil {
		options = fields.AppendInt(options, "carried", 1)
	}
	if err := s.request(ctx, kindShare, options, s.register); err != nil || carrier == nil {
		return err
	}
	var err error
	s.carrier, err = carrier(s.guestDir)
	return err
}

// adoptShare takes s in, to be closed with the guest.
func (g *Guest) adoptShare(s *share) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return g.err
	}
	g.shares[s] = struct{}{}
	return nil
}

func (g *Guest) dropShare(s *share) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.shares, s)
}

// closeShares removes the host's side of those that are open. The agent removes its own.
func (g *Guest) closeShares() {
	g.mu.Lock()
	open := slices.Collect(maps.Keys(g.shares))
	g.mu.Unlock()
	for _, s := range open {
		_ = s.Close()
	}
}

func (s *share) makeHostDir() error {
	dir, err := os.MkdirTemp("", "hermes_sandbox_spool_")
	if err != nil {
		return err
	}
	s.hostDir = dir
	s.root, err = os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(s.root.Mkdir("in", 0o700), s.root.Mkdir("out", 0o700))
}

func (s *share) register(id uint32) stream {
	s.transfer.register(id)
	return s
}

func (s *share) HostDir() string  { return s.hostDir }
func (s *share) Root() *os.Root   { return s.root }
func (s *share) GuestDir() string { return s.guestDir }

// Close removes the directory on both sides.
func (s *share) Close() error {
	var err error
	s.once.Do(func() {
		s.g.dropShare(s)
		s.cancel()
		if s.g.lookup(s.id) != nil {
			s.reset(fs.ErrClosed)
		}
		s.work.Wait()
		if s.root != nil {
			_ = s.root.Close()
		}
		if s.hostDir != "" {
			err = os.RemoveAll(s.hostDir)
		}
	})
	return err
}

// accept takes a file that the guest offers. Its content is written beside the link's reader.
func (s *share) accept(id uint32, f fields.Fields) stream {
	name := f.Text("name")
	if !visible(name) || s.ctx.Err() != nil {
		return nil
	}
	t := newTransfer(s.g)
	t.register(id)
	s.work.Go(func() {
		defer context.AfterFunc(s.ctx, func() { t.reset(fs.ErrClosed) })()
		if err := s.receive(fmt.Sprintf(".part%d", id), name, &reader{in: t.in}); err != nil {
			t.reset(err)
		}
	})
	return t
}

// visible tells whether a file of that name is to cross: it can be no path, and is complete.
func visible(name string) bool {
	return name != "" && !strings.HasPrefix(name, ".") && name == filepath.Base(name)
}

// errName says that a guest has made up a name.
var errName = errors.New("no name of a file that crosses")

// take takes a file that a carrier has fetched.
func (s *share) take(name string, r io.Reader) error {
	if !visible(name) {
		return errName
	}
	return s.receive(fmt.Sprintf(".got%d", s.received.Add(1)), name, r)
}

// receive writes a file, until it is complete under a name that no other one has: the same name may come
// again meanwhile, and one of 255 bytes leaves no room for more.
func (s *share) receive(temp, name string, r io.Reader) error {
	temp = path.Join("in", temp)
	f, err := s.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(r, MaxShared+1))
	if n > MaxShared {
		err = errTooLong
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = s.root.Rename(temp, path.Join("in", name))
	}
	if err != nil {
		_ = s.root.Remove(temp)
	}
	return err
}

// watch sends what appears in the host's out/.
func (s *share) watch() {
	var events chan fsnotify.Event
	if w, err := fsnotify.NewWatcher(); err == nil {
		defer func() { _ = w.Close() }()
		if w.Add(filepath.Join(s.hostDir, "out")) == nil {
			events = w.Events
		}
	}
	tick := time.NewTicker(rescan)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.g.over:
			return
		case <-events:
		case <-tick.C:
		}
		s.sendAll()
	}
}

func (s *share) sendAll() {
	dir, err := s.root.Open("out")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // a part of the list is a start; the next look gets the rest
	for _, name := range names {
		if strings.HasPrefix(name, ".") || s.ctx.Err() != nil {
			continue
		}
		if err := s.sendFile(name); err != nil && s.g.failed() != nil {
			return
		}
	}
}

// sendFile moves a file: it is removed here only when it is in place there.
func (s *share) sendFile(name string) error {
	f, err := s.root.Open(path.Join("out", name))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := s.deliver(name, f); err != nil {
		return err
	}
	return s.root.Remove(path.Join("out", name))
}

// deliver puts a file into the guest's out/.
func (s *share) deliver(name string, f *os.File) error {
	if s.carrier != nil {
		return s.carrier.Send(s.ctx, name, f)
	}
	options := fields.AppendInt(fields.AppendInt(nil, "share", int64(s.id)), "mode", 0o600)
	return s.g.put(s.ctx, path.Join(s.guestDir, "out", name), f, options)
}
