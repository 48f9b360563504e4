package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
)

// answer serves one connection.
func (s *Server) answer(c *conn) error {
	_ = c.SetReadDeadline(time.Now().Add(peerWait)) // its first words come at once
	k, payload, err := c.receive()
	if err != nil {
		return err
	}
	var q request
	if k != kindRequest {
		return fmt.Errorf("%w: %q", errFrame, k)
	}
	if err := c.decode(payload, &q); err != nil {
		return err
	}
	_ = c.SetDeadline(time.Time{})
	switch {
	case s.replaced(q):
		// The socket has to be gone before the caller knows, else it would come here again.
		s.retire()
		err := c.send(kindOther, otherVersion{Protocol: protocol, Version: s.config.Version, Leaving: true})
		s.stop(endReplaced)
		return err
	case q.Protocol != protocol:
		return c.send(kindOther, otherVersion{Protocol: protocol, Version: s.config.Version, Sessions: len(s.sessions.List())})
	case !s.begin():
		return nil // no answer: the caller asks the next server
	}
	if err := c.send(kindAccepted, nil); err != nil {
		s.done()
		return err
	}
	k, message, err := s.serve(c, q)
	s.done() // before the answer: whoever has that finds a server which is not busy with the request any more
	if k != 0 {
		err = errors.Join(err, c.send(k, message))
	}
	return err
}

// replaced tells whether a caller of another version can have a server of its own.
func (s *Server) replaced(q request) bool {
	if q.Protocol == protocol && q.Version == s.config.Version {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired || s.active > 0 || !s.sessions.Idle() {
		return false
	}
	s.retired = true
	return true
}

// serve does what was asked for, and returns the answer; its kind is 0 if there is none.
func (s *Server) serve(c *conn, q request) (kind, any, error) {
	switch q.Op {
	case opRun:
		return s.run(c, q)
	case opList:
		return kindList, s.sessions.List(), nil
	case opReset:
		found := s.sessions.Reset(q.Name)
		s.note(s.alive.look())
		return kindDone, found, nil
	case opEnd:
		found := s.sessions.End(q.Name)
		s.note(s.alive.look())
		return kindDone, found, nil
	case opStop:
		s.note(s.alive.clear()) // while the place is this server's
		s.stop(endAsked)
		return kindDone, true, s.sessions.Close() // whoever asked wants nothing left
	default:
		return 0, nil, fmt.Errorf("%w: unknown request %q", errFrame, q.Op)
	}
}

// run runs a cell for its caller.
func (s *Server) run(c *conn, q request) (kind, any, error) {
	if q.Cell == nil {
		return 0, nil, fmt.Errorf("%w: no cell", errFrame)
	}
	_ = c.SetWriteDeadline(time.Now().Add(q.Cell.Settings.Timeout + peerWait)) // who never reads must not hold the session
	ctx, cancel := context.WithCancelCause(s.life)
	defer cancel(nil)
	s.serving.Go(func() { s.heed(c, q.Name, cancel) })
	defer c.SetReadDeadline(time.Now()) //nolint:errcheck // ends heed; a closed connection has ended it
	o := s.options(c, q)
	if err := s.alive.begin(q.Name); err != nil {
		s.note(err)
		o.Warnings = append(o.Warnings, fmt.Sprintf("if the session server is killed, nobody will be told that the state of this session is gone: %v", err))
	}
	r := s.sessions.Run(ctx, q.Name, o, script(c, q.Cell), q.Cell.Reset)
	s.note(s.alive.done(q.Name))
	_ = c.SetWriteDeadline(time.Now().Add(peerWait))
	return kindResult, r, nil
}

// heed waits for the caller's interrupts. A caller that goes away is one too.
func (s *Server) heed(c *conn, name string, cancel context.CancelCauseFunc) {
	for {
		k, payload, err := c.receive()
		if err != nil {
			cancel(&hermes.Interrupt{Reason: "the caller has gone"})
			return
		}
		var i interrupt
		if k != kindInterrupt || c.decode(payload, &i) != nil {
			continue // of a later client
		}
		cancel(&hermes.Interrupt{Reason: i.Reason, Kill: i.Kill})
		if i.Kill {
			s.sessions.End(name)
		}
	}
}

// limits is the hint for who has come up against the server's.
const limits = "the limit is that of the session server, which has those of the call that started it: " +
	"hermes-exec session end --all ends it with all sessions, and the next call starts one with its own"

// options are the caller's, with nothing of the server's own.
func (s *Server) options(c *conn, q request) hermes.Options {
	cell := q.Cell
	log := s.config.Log(slog.Level(cell.LogLevel))
	o := hermes.Options{
		Settings: cell.Settings, Environ: cell.Environ, Dir: cell.Dir, Log: log,
		Openers: s.config.Openers(Caller{cell.Environ, cell.Dir, log, progress(c, cell)}), Warnings: cell.Warnings, Limits: limits,
	}
	if s.config.Inside {
		o.Warnings = append(o.Warnings, "the session server was started inside of a run and ends with that, and with it the session: "+
			"hermes-exec session end --all, and then a call from outside, starts one that stays")
	}
	if q.Version != s.config.Version {
		o.Warnings = append(o.Warnings, fmt.Sprintf("the session server is still that of version %s, for it holds sessions; "+
			"this is version %s: it takes over when all have ended (hermes-exec session list)", s.config.Version, q.Version))
	}
	return o
}

// progress tells the caller of what takes time; nil if that does not want to know.
func progress(c *conn, cell *cell) func(text string) {
	if !cell.Progress {
		return nil
	}
	return func(text string) { _ = c.sendRaw(kindProgress, []byte(text)) } // who is gone wants to know nothing
}

// script is the cell with what shows it to the caller.
func script(c *conn, cell *cell) hermes.Script {
	s := hermes.Script{
		Code: cell.Code, Name: cell.Script, Args: cell.Args, Display: cell.Display, Soft: cell.Soft, Trace: cell.Trace, Artifacts: cell.Artifacts,
		Stream: cell.Stream, Spills: cell.Spills,
	}
	if cell.Stdout {
		s.Stdout = writer{c, kindStdout}
	}
	if cell.Stderr {
		s.Stderr = writer{c, kindStderr}
	}
	if cell.Events {
		s.Events = func(e hermes.Event) { _ = c.send(kindEvent, e) } // a caller that is gone ends the cell
	}
	return s
}
