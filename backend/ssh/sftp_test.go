package ssh

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pkg/sftp"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// counted are files of a host, which knows how many are open. Opened is told of each.
type counted struct {
	open   atomic.Int64
	opened func()
}

func (c *counted) Fileread(*sftp.Request) (io.ReaderAt, error) {
	c.open.Add(1)
	c.opened()
	return &countedFile{strings.NewReader("text"), c}, nil
}

type countedFile struct {
	io.ReaderAt
	c *counted
}

func (f *countedFile) Close() error {
	f.c.open.Add(-1)
	return nil
}

// A file that is open there just as nobody waits for it any more is closed.
func TestOpenIsGivenUp(t *testing.T) {
	here, there := net.Pipe()
	files := &counted{}
	server := sftp.NewRequestServer(there, sftp.Handlers{FileGet: files})
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	client, err := sftp.NewClientPipe(here, here)
	if err != nil {
		t.Fatal(err)
	}
	s := &sideway{client: client}
	for i := range 400 {
		ctx, cancel := context.WithCancel(t.Context())
		files.opened = func() {
			go func() { // the answer takes as long as a few of these
				for range i / 4 {
					runtime.Gosched()
				}
				cancel()
			}()
		}
		f, err := s.Open(ctx, "/file", false)
		if err == nil {
			_ = f.Close()
		} else if ctx.Err() == nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		s.client = client // that it was slow is no matter here
		s.mu.Unlock()
	}
	testenv.Eventually(t, "no file is open there", func() bool { return files.open.Load() == 0 })
	s.Close()
	_ = there.Close()
	if err := <-served; !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// What is closed says so, begun or not.
func TestClosedSidewayIsNotKnown(t *testing.T) {
	s := &sideway{}
	s.Close()
	if err := s.known(t.Context()); err != errClosed { //nolint:errorlint // its words are shown
		t.Errorf("error %v", err)
	}
}
