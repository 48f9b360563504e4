package ssh

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pkg/sftp"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/guest"
)

// The pause between two looks at a spool on the host, which costs four round trips: short after a file,
// then longer and longer.
const (
	shortestPause = time.Millisecond
	longestPause  = 50 * time.Millisecond
)

// fetchPiece is how much of a file is asked for at once, in bytes.
const fetchPiece = 1 << 20

// mostFetched is how many files are fetched at once.
const mostFetched = 8

// Share makes a directory there that is mirrored by the agent, or over SFTP if that was asked for.
func (b *Backend) Share(ctx context.Context, dir string) (backend.Share, error) {
	if !b.spoolSFTP {
		return b.Guest.Share(ctx, dir)
	}
	client, err := dialSFTP(ctx, b.link.Channel)
	if err != nil {
		return nil, wrap("share", fmt.Errorf("%w; terminal.ssh_spool: agent needs no SFTP", err))
	}
	s, err := b.ShareBy(ctx, dir, func(guestDir string) (guest.Carrier, error) {
		c := &carrier{client: client, dir: guestDir, room: make(chan struct{}, mostFetched), busy: map[string]bool{}}
		if _, err := c.list(ctx); err != nil { // its name was made up: if it is there it is the same
			return nil, fmt.Errorf("what is seen over SFTP is another file system: %w", err)
		}
		return c, nil
	})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &sftpShare{Share: s, client: client}, nil
}

// sftpShare is a share with a channel of its own.
type sftpShare struct {
	backend.Share
	client *sftp.Client
	once   sync.Once
}

// Close lets go of the channel first, so that nothing waits for the host.
func (s *sftpShare) Close() error {
	s.once.Do(func() { _ = s.client.Close() })
	return s.Share.Close()
}

// carrier moves the files of a share over SFTP.
type carrier struct {
	client *sftp.Client
	dir    string        // on the host
	room   chan struct{} // holds a value for each file that is being fetched
	work   sync.WaitGroup
	count  atomic.Int64 // of names that were made up

	mu   sync.Mutex
	busy map[string]bool // what is being fetched
}

var _ guest.Carrier = (*carrier)(nil)

// Send writes a file under a name that is not seen, and renames it. Fetch ends it with the share.
func (c *carrier) Send(_ context.Context, name string, f *os.File) error {
	temp := path.Join(c.dir, "out", fmt.Sprintf(".sent%d", c.count.Add(1)))
	remote, err := c.client.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return fmt.Errorf("send %s over SFTP: %w", name, err)
	}
	_, err = remote.ReadFrom(f)
	if err = errors.Join(err, remote.Close()); err == nil {
		err = c.rename(temp, path.Join(c.dir, "out", name))
	}
	if err != nil {
		_ = c.client.Remove(temp)
		return fmt.Errorf("send %s over SFTP: %w", name, err)
	}
	return nil
}

// rename replaces a file that is there, if the host can.
func (c *carrier) rename(from, to string) error {
	if _, can := c.client.HasExtension("posix-rename@openssh.com"); can {
		return c.client.PosixRename(from, to)
	}
	return c.client.Rename(from, to)
}

// Fetch looks at in/ again and again. A look that fails is not the last: only the share's end is. That ends
// the client, too, for neither Send nor fetch hears of it otherwise where the host is out of reach.
func (c *carrier) Fetch(ctx context.Context, take func(name string, r io.Reader) error) {
	defer c.work.Wait()
	c.work.Go(func() {
		<-ctx.Done()
		_ = c.client.Close()
	})
	pause := shortestPause
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		files, err := c.list(ctx)
		if err != nil && errors.Is(err, sftp.ErrSSHFxConnectionLost) {
			return // and the run ends by its time, or with the connection
		}
		if pause = min(2*pause, longestPause); len(files) > 0 {
			pause = shortestPause
		}
		for _, f := range files {
			c.begin(ctx, f, take)
		}
		timer.Reset(pause)
	}
}

// list are the files in in/ that are complete and not being fetched.
func (c *carrier) list(ctx context.Context) ([]os.FileInfo, error) {
	all, err := c.client.ReadDirContext(ctx, path.Join(c.dir, "in"))
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var files []os.FileInfo
	for _, f := range all {
		// What is no file is never opened: that could block, or lead elsewhere.
		if !strings.HasPrefix(f.Name(), ".") && f.Mode().IsRegular() && f.Size() <= guest.MaxShared && !c.busy[f.Name()] {
			files = append(files, f)
		}
	}
	return files, nil
}

// begin fetches a file beside others.
func (c *carrier) begin(ctx context.Context, f os.FileInfo, take func(name string, r io.Reader) error) {
	select {
	case c.room <- struct{}{}:
	case <-ctx.Done():
		return
	}
	c.mu.Lock()
	c.busy[f.Name()] = true
	c.mu.Unlock()
	c.work.Go(func() {
		defer func() { <-c.room }()
		_ = c.fetch(f.Name(), take) // its writer may have taken it back
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.busy, f.Name())
	})
}

// fetch takes a file away and hands it over. It is claimed first: it must not cross twice.
func (c *carrier) fetch(name string, take func(name string, r io.Reader) error) error {
	claimed := path.Join(c.dir, "in", fmt.Sprintf(".fetched%d", c.count.Add(1)))
	if err := c.rename(path.Join(c.dir, "in", name), claimed); err != nil {
		return err
	}
	defer c.client.Remove(claimed) //nolint:errcheck // it goes with the share
	f, err := c.client.Open(claimed)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return take(name, bufio.NewReaderSize(f, fetchPiece))
}
