package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pkg/sftp"

	"github.com/hermes-exec/hermes-exec/internal/guest"
	"github.com/hermes-exec/hermes-exec/internal/sshclient"
)

// sftpWait bounds how long a host may take to begin with SFTP: one whose login files print may never do.
const sftpWait = 10 * time.Second

// errNoSFTP says that sshd has no such subsystem.
var errNoSFTP = errors.New("sshd has no subsystem sftp")

// errFullConnection says that sshd allows no more channels.
var errFullConnection = errors.New("sshd allows no more channels on the connection")

// dialSFTP starts SFTP on a channel of its own, on the connection of another one. Closing the client
// closes the channel.
func dialSFTP(ctx context.Context, beside *sshclient.Channel) (*sftp.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, sftpWait)
	defer cancel()
	channel, err := beside.Beside(ctx)
	if err != nil {
		if ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", errFullConnection, err)
		}
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = channel.Close() })()
	ok, err := channel.Subsystem(ctx, "sftp")
	if err == nil && !ok {
		err = errNoSFTP
	}
	var client *sftp.Client
	if err == nil {
		p := newPipes(channel)
		defer context.AfterFunc(ctx, func() { _ = p.Close() })() // a host that is out of reach ends nothing
		if client, err = sftp.NewClientPipe(p.out, p, sftp.UseConcurrentWrites(true)); err != nil {
			_ = p.Close()
		}
	}
	if err != nil {
		_ = channel.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("start SFTP: %w", err)
	}
	return client, nil
}

// pipes are a channel that can be let go of at once. A channel's own Close ends neither a Read nor a Write
// before the host answers, and one that is out of reach never does. So nobody waits for the two goroutines
// behind them: they end with the channel, or with its connection.
type pipes struct {
	in  *io.PipeWriter
	out *io.PipeReader
}

func newPipes(channel *sshclient.Channel) *pipes {
	toHost, in := io.Pipe()
	out, fromHost := io.Pipe()
	go func() {
		_, err := io.Copy(fromHost, channel)
		_ = fromHost.CloseWithError(err) // nil is EOF
	}()
	go func() {
		_, err := io.Copy(channel, toHost)
		_ = toHost.CloseWithError(err)
		_ = channel.Close()
	}()
	return &pipes{in: in, out: out}
}

func (p *pipes) Write(data []byte) (int, error) { return p.in.Write(data) }

// Close lets go of the channel.
func (p *pipes) Close() error {
	_ = p.out.Close() // neither can fail
	_ = p.in.Close()
	return nil
}

// sideway is SFTP as another way for the content of large files, so that calls need not wait behind that.
// It is begun when the first such file comes.
type sideway struct {
	beside *sshclient.Channel
	work   sync.WaitGroup

	mu     sync.Mutex
	client *sftp.Client  // nil: none yet
	tried  chan struct{} // closed when it is known whether there is one; nil: not begun
	cancel func()        // the beginning
	err    error         // why there is none; valid then
	closed bool
}

var _ guest.Aside = (*sideway)(nil)

// way is guest.Options.Aside.
func (s *sideway) way() guest.Aside {
	s.begin()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil || s.closed {
		return nil
	}
	return s
}

// begin finds out whether there is SFTP, once, beside all else. What it returns is closed when that is
// known; nil: never, for all is closed.
func (s *sideway) begin() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tried != nil || s.closed {
		return s.tried
	}
	ctx, cancel := context.WithCancel(context.Background()) // no caller's: others use it too
	s.tried, s.cancel = make(chan struct{}), cancel
	s.work.Go(func() {
		defer cancel()
		client, err := dialSFTP(ctx, s.beside)
		s.mu.Lock()
		s.client, s.err = client, err
		late := s.closed && client != nil
		close(s.tried)
		s.mu.Unlock()
		if late {
			_ = client.Close()
		}
	})
	return s.tried
}

// errClosed says that an environment is closed.
var errClosed = errors.New("the environment is closed")

// known waits until it is known whether there is SFTP, and returns why there is none.
func (s *sideway) known(ctx context.Context) error {
	tried := s.begin()
	if tried == nil {
		return errClosed
	}
	select {
	case <-tried:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drop gives up what does not work: the next large file makes another attempt.
func (s *sideway) drop(client *sftp.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == client && client != nil && !s.closed { // Close waits for the work, and closes it too
		s.client, s.tried = nil, nil
		s.work.Go(func() { _ = client.Close() })
	}
}

// Close ends all that is under way. What waits for a host that is out of reach ends with the connection.
func (s *sideway) Close() {
	s.mu.Lock()
	s.closed = true
	client := s.client
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if client != nil {
			_ = client.Close()
		}
		s.work.Wait()
	}()
	wait(ended)
}

// Open opens a file.
func (s *sideway) Open(ctx context.Context, name string, write bool) (guest.AsideFile, error) {
	s.mu.Lock()
	client := s.client
	s.mu.Unlock()
	if client == nil {
		return nil, errNoSFTP
	}
	flags := os.O_RDONLY
	if write {
		flags = os.O_WRONLY
	}
	opening, cancel := context.WithTimeout(ctx, sftpWait)
	defer cancel()
	f := &sideFile{s: s, ctx: ctx, client: client}
	var met atomic.Bool // whether the file is open, or nobody waits for it: who comes second closes it
	_, err := f.do(opening, func() (int, error) {
		file, err := client.OpenFile(name, flags)
		if err != nil {
			return 0, err
		}
		if f.file = file; met.Swap(true) {
			return 0, file.Close()
		}
		return 0, nil
	})
	if err != nil {
		if met.Swap(true) {
			_ = f.Close()
		}
		return nil, fmt.Errorf("open %s over SFTP: %w", name, err)
	}
	return f, nil
}

// sideFile is a file that is opened there.
type sideFile struct {
	s      *sideway
	ctx    context.Context //nolint:containedctx // the caller's, who uses the file as long as that lives
	client *sftp.Client
	file   *sftp.File
}

// do does something that the library does not let ctx end. Who does not wait for its end does not use the
// file any more.
func (f *sideFile) do(ctx context.Context, what func() (int, error)) (int, error) {
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	f.s.mu.Lock()
	if f.s.closed {
		f.s.mu.Unlock()
		return 0, errClosed
	}
	f.s.work.Go(func() {
		n, err := what()
		done <- result{n, err}
	})
	f.s.mu.Unlock()
	select {
	case r := <-done:
		if errors.Is(r.err, sftp.ErrSSHFxConnectionLost) {
			f.s.drop(f.client)
		}
		return r.n, r.err
	case <-ctx.Done():
		if f.ctx.Err() == nil { // the host is slow, not the caller in a hurry
			f.s.drop(f.client)
		}
		return 0, context.Cause(ctx)
	}
}

// ReadAt reads pieces concurrently.
func (f *sideFile) ReadAt(p []byte, at int64) (int, error) {
	return f.do(f.ctx, func() (int, error) { return f.file.ReadAt(p, at) })
}

// WriteAt writes pieces concurrently.
func (f *sideFile) WriteAt(p []byte, at int64) (int, error) {
	return f.do(f.ctx, func() (int, error) { return f.file.WriteAt(p, at) })
}

// Stat tells the size and the time of the last change.
func (f *sideFile) Stat() (size, mtime int64, err error) {
	var info os.FileInfo
	_, err = f.do(f.ctx, func() (int, error) {
		got, err := f.file.Stat()
		info = got
		return 0, err
	})
	if err != nil {
		return 0, 0, err
	}
	return info.Size(), info.ModTime().Unix(), nil
}

// Close has it closed, beside all else: nobody waits for what is under way.
func (f *sideFile) Close() error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if !f.s.closed {
		f.s.work.Go(func() { _ = f.file.Close() })
	}
	return nil
}
