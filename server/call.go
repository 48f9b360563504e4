package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/owner"
)

// Run runs a cell and always returns a result, as hermes.Sessions.Run does. Ctx interrupts the cell. A
// server that ends or falls silent before it has a result leaves one of what was seen.
func (c *Client) Run(ctx context.Context, cl Cell) *hermes.Result {
	q := request{Op: opRun, Name: cl.Session, Cell: message(cl)}
	state := hermes.KernelState{Session: cl.Session}
	seen, script := hermes.Witnessed(cl.Options, cl.Script)
	conn, err := c.request(ctx, q, true)
	if err != nil {
		return seen.Failed(ctx, err, state)
	}
	defer conn.close()
	cl.Script = script
	by, _ := owner.Read(c.Place.Dir) // without a mark nobody can be told from another
	r, err := c.follow(ctx, conn, cl)
	switch {
	case err == nil:
		return r
	case errors.Is(err, ErrLost) && c.lives(by, conn.codec):
		err = errGivenUp
	case errors.Is(err, ErrLost):
		state.StateLost, state.Ended, state.Reason = true, true, hermes.LostServer
	}
	return seen.Lost(c.explained(err), state)
}

// errGivenUp is what a caller finds who was stopped, with Ctrl-Z for example, for longer than a server
// waits for anybody.
var errGivenUp = fmt.Errorf("the session server gave the call up, for nobody took its output for %v when its time was over: "+
	"the next call tells what became of the session", peerWait)

// lives tells whether the server that has this mark is there. One that has ended refuses at once.
func (c *Client) lives(by owner.Mark, codec codec) bool {
	ctx, cancel := context.WithTimeout(context.Background(), c.wait())
	defer cancel()
	now, err := owner.Read(c.Place.Dir)
	return err == nil && now == by && c.ping(ctx, codec) == nil
}

// message is the cell as it is sent.
func message(c Cell) *cell {
	s := c.Script
	return &cell{
		Settings: c.Options.Settings, Warnings: c.Options.Warnings, Environ: c.Options.Environ, Dir: c.Options.Dir,
		LogLevel: int(c.LogLevel), Code: s.Code, Script: s.Name, Args: s.Args, Display: s.Display, Soft: s.Soft, Reset: c.Reset, Trace: s.Trace, Spills: s.Spills, Artifacts: s.Artifacts,
		Stdout: s.Stdout != nil, Stderr: s.Stderr != nil, Events: s.Events != nil, Stream: s.Stream, Progress: c.Progress != nil,
	}
}

// follow hands on what comes of a cell until its result does.
func (c *Client) follow(ctx context.Context, conn *conn, cl Cell) (r *hermes.Result, err error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	due, expire := context.WithTimeout(ctx, cl.Options.Settings.Timeout)
	defer expire()
	var work sync.WaitGroup
	var silent error
	work.Go(func() { stop(ctx, conn, cl.Kill, life.Done()) })
	work.Go(func() { silent = c.watch(life, conn, due.Done()) })
	s := newShow(due, cl, conn.codec)
	r, err = receiveResult(conn, s)
	end()
	s.finish()
	work.Wait()
	if err != nil && silent != nil {
		return nil, silent
	}
	return r, err
}

// receiveResult hands frames on until the result comes.
func receiveResult(conn *conn, s *show) (*hermes.Result, error) {
	for {
		k, payload, err := conn.receive()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, errNotKilled
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrLost, err)
		case k == kindResult:
			r := &hermes.Result{}
			return r, conn.decode(payload, r)
		}
		s.pass(frame{k, payload})
	}
}

var errNotKilled = fmt.Errorf("the session server was told to kill the cell, and has no result of it after %v: see hermes-exec logs", peerWait)

// stop tells the server when the cell is to end.
func stop(ctx context.Context, conn *conn, kill, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-ctx.Done():
	}
	i := interrupt{}
	if cause := (*hermes.Interrupt)(nil); errors.As(context.Cause(ctx), &cause) {
		i = interrupt{cause.Reason, cause.Kill}
	}
	_ = conn.send(kindInterrupt, i) // a server that is gone has no result either, which is told
	select {
	case <-over:
		return
	case <-kill:
	}
	i.Kill = true
	_ = conn.send(kindInterrupt, i)
	_ = conn.SetReadDeadline(time.Now().Add(peerWait))
	<-over
}

// endRounds is how many rounds a server may take to end that nobody can call any more.
const endRounds = 4

// watch looks after the server of a connection from the time on at which its answer is due: one that
// lives answers others at any time, so one that does not is given up. The error says so. It ends with
// ctx, which is the life of the connection.
func (c *Client) watch(ctx context.Context, conn *conn, due <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return nil
	case <-due:
	}
	for left := endRounds; left > 0 && ctx.Err() == nil; {
		round, cancel := context.WithTimeout(ctx, c.wait())
		err := c.ping(round, conn.codec)
		<-round.Done()
		cancel()
		switch {
		case absent(err):
			left--
		case err != nil:
			left = 0
		}
	}
	if ctx.Err() == nil {
		_ = conn.SetReadDeadline(time.Now())
		return c.silent()
	}
	return nil
}

// ping asks a server for nothing but an answer, before ctx ends.
func (c *Client) ping(ctx context.Context, codec codec) error {
	raw, err := c.dial(ctx)
	if err != nil {
		return err
	}
	conn := &conn{Conn: raw, codec: codec}
	defer conn.close()
	again, err := accepted(ctx, conn, request{Protocol: protocol, Version: c.Version, Op: opList})
	switch {
	case again:
		return errEnded
	case err != nil && ctx.Err() != nil:
		return err
	}
	return nil // of another version, perhaps
}

func (c *Client) wait() time.Duration {
	return cmp.Or(c.Wait, DefaultWait)
}

// silent is the error about a server that is there and does not answer.
func (c *Client) silent() error {
	m, err := owner.Read(c.Place.Dir)
	if err != nil || m.Dead() { // of the server before this one
		return fmt.Errorf("%w within %v: see hermes-exec logs", ErrSilent, c.wait())
	}
	return fmt.Errorf("%w within %v: process %d is stopped or stuck. `kill -CONT %[3]d` lets one go on that was stopped; "+
		"`kill -KILL %[3]d` ends it with its sessions, and the next call starts another", ErrSilent, c.wait(), m.PID)
}
