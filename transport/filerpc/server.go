package filerpc

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/hermes-exec/hermes-exec/transport"
)

// The prefixes of file names.
const (
	requestPrefix = "req_"
	endPrefix     = "end_"
	answerPrefix  = "res_"
	wakePrefix    = ".wake_"
)

const (
	// slowest is the pause between two looks at the directory when nothing happens. With it and
	// the stub's own 50 ms, a call whose every event was lost takes at most one round of the latter.
	slowest = 40 * time.Millisecond

	// fastest is the pause after a request of which no event told.
	fastest = time.Millisecond

	// liveness is how often the callers of running calls are looked for.
	liveness = 250 * time.Millisecond

	// old is the age of a FIFO that is removed if nobody reads it, and how often that is looked
	// for. A younger one may have been made but not opened yet.
	old = time.Minute
)

// server is one Serve of an endpoint. Its fields belong to the goroutine of run.
type server struct {
	*endpoint
	handler transport.Handler
	calls   map[string]*call // what runs, by the request's name
	done    chan string      // the names of calls that have been answered
	stuck   map[string]bool  // files that cannot be removed, and are therefore never run
	looked  time.Time        // when callers were last looked for
	swept   time.Time        // when FIFOs were last looked for
	full    bool             // a request waits until a call gives memory back
}

// call is a request that is being answered.
type call struct {
	cancel context.CancelCauseFunc
	heard  bool // the caller has been seen to have a FIFO with a reader
}

func newServer(e *endpoint, h transport.Handler) *server {
	return &server{endpoint: e, handler: h, calls: map[string]*call{}, done: make(chan string), stuck: map[string]bool{}}
}

// run answers requests until ctx ends, the endpoint closes or the spool vanishes.
func (s *server) run(ctx context.Context) error {
	w := s.watch(ctx)
	if w == nil {
		return s.loop(ctx, nil, nil)
	}
	defer func() { _ = w.Close() }()
	return s.loop(ctx, w.Events, w.Errors)
}

// loop is run with what a watcher tells; a nil or closed channel tells nothing.
func (s *server) loop(ctx context.Context, events <-chan fsnotify.Event, problems <-chan error) error {
	pause := fastest
	timer := time.NewTimer(0) // what lay there before the watcher did
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.closed:
			return net.ErrClosed
		case name := <-s.done:
			delete(s.calls, name)
			if s.full {
				timer.Reset(0)
			}
		case event, ok := <-events:
			if !ok {
				events = nil
			} else if event.Has(fsnotify.Create) {
				s.take(ctx, filepath.Base(event.Name))
			}
		case err, ok := <-problems:
			if !ok {
				problems = nil
				continue
			}
			s.wire.Log().DebugContext(ctx, "events of the spool were lost", "error", err)
			timer.Reset(0)
		case <-timer.C:
			found, err := s.scan(ctx)
			if err != nil {
				return err
			}
			pause = nextPause(pause, found)
			timer.Reset(pause)
			s.lookForCallers()
			s.sweep(time.Now())
		}
	}
}

// nextPause is short after a request that had to be found, and then grows.
func nextPause(pause time.Duration, found bool) time.Duration {
	if found {
		return fastest
	}
	return min(pause*5/4, slowest)
}

// wait returns when every call has been answered.
func (s *server) wait() {
	for len(s.calls) > 0 {
		delete(s.calls, <-s.done)
	}
}

// watch returns a watcher of the requests, or nil, with a line in the log, where there is none.
func (s *server) watch(ctx context.Context) *fsnotify.Watcher {
	if s.poll {
		return nil
	}
	w, err := fsnotify.NewWatcher()
	if err == nil {
		if err = w.Add(s.dir); err == nil {
			return w
		}
		_ = w.Close()
	}
	s.wire.Log().WarnContext(ctx, "the spool cannot be watched and is polled", "error", err)
	return nil
}

// scan takes every request that is there, and tells whether there was one.
func (s *server) scan(ctx context.Context) (found bool, err error) {
	if s.gone() {
		return false, errVanished(s.share.HostDir())
	}
	s.full = false
	names, err := list(s.in, "")
	if err != nil {
		s.wire.Log().WarnContext(ctx, "the spool cannot be read", "error", err)
		return false, nil
	}
	here := make(map[string]bool, len(s.stuck))
	for _, name := range names {
		if s.stuck[name] {
			here[name] = true
			continue
		}
		found = s.take(ctx, name) || found
	}
	for name := range s.stuck {
		if !here[name] {
			delete(s.stuck, name)
		}
	}
	return found, nil
}

// take deals with one file of in/ and tells whether it was one for us.
func (s *server) take(ctx context.Context, name string) bool {
	if id, ok := strings.CutPrefix(name, endPrefix); ok {
		s.end(name, id)
		return true
	}
	id, ok := strings.CutPrefix(name, requestPrefix)
	if !ok || s.stuck[name] || s.calls[id] != nil {
		return false
	}
	request, grant := s.read(ctx, name)
	if request == nil {
		grant.Release()
		return false
	}
	s.start(ctx, id, request, grant)
	return true
}

// start answers a request on a goroutine of its own.
func (s *server) start(ctx context.Context, id string, r *transport.Request, grant transport.Grant) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.calls[id] = &call{cancel: cancel}
	go func() {
		defer cancel(nil)
		reply, room := s.wire.Answer(ctx, s.handler, r, nil)
		if ctx.Err() == nil {
			s.publish(ctx, id, reply)
		}
		room.Release()
		grant.Release()
		s.done <- id
	}()
}

// end cancels a call that its caller has given up, or all calls of a channel.
func (s *server) end(name, ended string) {
	if err := s.in.Remove(name); err != nil {
		s.stuck[name] = true
	}
	for id, c := range s.calls {
		if id == ended || channel(id) == ended {
			c.cancel(errGone)
		}
	}
}

// lookForCallers cancels the calls of callers whose FIFO has lost its reader. A caller without a
// FIFO, or behind a mirror, is believed to live.
func (s *server) lookForCallers() {
	if now := time.Now(); now.Sub(s.looked) > liveness {
		s.looked = now
		for id, c := range s.calls {
			if c.dead(s.out, bell(id)) {
				c.cancel(errGone)
			}
		}
	}
}

// sweep removes the FIFOs of processes that ended without doing it.
func (s *server) sweep(now time.Time) {
	if now.Sub(s.swept) < old {
		return
	}
	s.swept = now
	names, _ := list(s.out, wakePrefix) // a part of the list is a start
	for _, name := range names {
		info, err := s.out.Lstat(name)
		if err == nil && now.Sub(info.ModTime()) > old && noReader(ring(s.out, name, nil)) {
			_ = s.out.Remove(name)
		}
	}
}

// dead tells whether the caller has died: the FIFO has no reader, or is gone. One that never was
// there tells nothing.
func (c *call) dead(dir *os.Root, name string) bool {
	err := ring(dir, name, nil)
	switch {
	case err == nil:
		c.heard = true
	case noReader(err):
		_ = dir.Remove(name)
		return true
	}
	return c.heard && errors.Is(err, fs.ErrNotExist)
}

// channel is the part of a request's name that all requests of its caller have.
func channel(id string) string {
	if i := strings.LastIndexByte(id, '.'); i >= 0 {
		return id[:i]
	}
	return id
}

// bell is the FIFO of the channel of a request.
func bell(id string) string { return wakePrefix + channel(id) }
