package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend/all"
	sshbackend "github.com/hermes-exec/hermes-exec/backend/ssh"
	"github.com/hermes-exec/hermes-exec/transport/uds"
)

// sshCallRows measures tool calls: over channels that sshd forwards, and where it does not.
func (s setup) sshCallRows(ctx context.Context, h *sshHost) ([]row, error) {
	rows, err := s.sshCalls(ctx, h, "forwarded", (*sshHost).forwardedFloor)
	if err != nil {
		return rows, err
	}
	strict, err := s.startSSH("strict", "AllowStreamLocalForwarding no")
	if err != nil {
		return rows, err
	}
	if err = strict.use(); err == nil {
		var more []row
		more, err = s.sshCalls(ctx, strict, "relayed", (*sshHost).relayedFloor)
		rows = append(rows, more...)
	}
	return rows, errors.Join(err, strict.close(), h.use())
}

// sshCalls measures calls over one route at each of rtts.
func (s setup) sshCalls(ctx context.Context, h *sshHost, route string, floor func(*sshHost, context.Context, *ssh.Client, string) error) (rows []row, err error) {
	b, err := sshbackend.Open(ctx, sshbackend.Config{Host: "box", Dir: h.there}, sshbackend.Host{Env: h.environ()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	told := map[string]string{"forwarded": "over channels that sshd forwards", "relayed": "are relayed by the guest agent"}[route]
	if notes := strings.Join(b.Info().Notes, "\n"); told == "" || !strings.Contains(notes, told) {
		return nil, fmt.Errorf("calls are not %s: %s", route, notes)
	}
	bare, err := h.dial()
	if err != nil {
		return nil, err
	}
	defer bare.Close() //nolint:errcheck // the measurement is over
	for i, rtt := range rtts() {
		p := plan{
			Name: fmt.Sprintf("ssh tool call, %s uds, past an RTT of %d ms", route, rtt.Milliseconds()), transport: uds.Transport{},
			Kind: "socket", Floor: filepath.Join(h.dir, fmt.Sprintf("floor%d", i)), Unit: "ms", Goal: atMost(0.5), Blocks: []int{20, 5, 4}[i], Calls: []int{50, 10, 5}[i],
		}
		if err := floor(h, ctx, bare, p.Floor); err != nil {
			return rows, err
		}
		if err := h.at(rtt, func() error {
			trip, err := h.roundTrip()
			if err != nil {
				return err
			}
			more, err := callInside(ctx, b, nil, p)
			for _, r := range more {
				rows = append(rows, newRow(r.Name, r.Unit, r.Product-ms(trip), r.Floor-ms(trip), r.Goal))
			}
			return err
		}); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// forwardedFloor has sshd forward a socket there to a bare echo.
func (h *sshHost) forwardedFloor(ctx context.Context, c *ssh.Client, path string) error {
	l, err := c.ListenUnix(path)
	if err == nil {
		go floorEcho(ctx, l)
	}
	return err
}

// relayedFloor has a bare relay there pass on what comes over a socket.
func (h *sshHost) relayedFloor(_ context.Context, c *ssh.Client, path string) error {
	session, err := c.NewSession()
	if err != nil {
		return err
	}
	in, err := session.StdinPipe()
	if err != nil {
		return err
	}
	out, err := session.StdoutPipe()
	if err != nil {
		return err
	}
	relay, err := (setup{temp: h.dir}).script("floor_relay.py")
	if err != nil {
		return err
	}
	if err := session.Start("python3 " + relay + " " + path); err != nil {
		return err
	}
	var ready [6]byte
	if _, err := out.Read(ready[:]); err != nil {
		return err
	}
	go floorEchoPieces(twoWay{out, in})
	return nil
}

// sshOptions are those of sessions on the host.
func (s setup) sshOptions(h *sshHost) hermes.Options {
	o := s.options()
	o.Environ = h.environ()
	o.Openers = all.Openers(all.Host{Env: o.Environ, Dir: s.temp})
	o.Settings.Backend, o.Settings.SSH.Host, o.Settings.Python, o.Settings.MaxToolCalls = "ssh", "box", "", 1<<20
	return o
}

// sshCellRows measures a cell of a session there.
func (s setup) sshCellRows(ctx context.Context, h *sshHost) (rows []row, err error) {
	sessions, o := hermes.NewSessions(nil), s.sshOptions(h)
	defer func() { err = errors.Join(err, sessions.Close()) }()
	run := func() error { return cell(ctx, sessions, "ssh", o) }
	if err := run(); err != nil {
		return nil, err
	}
	bare, err := h.dial()
	if err != nil {
		return nil, err
	}
	defer bare.Close() //nolint:errcheck // the measurement is over
	session, err := bare.NewSession()
	if err != nil {
		return nil, err
	}
	in, err := session.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := session.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := session.Start("python3 -c '" + lineKernel + "'"); err != nil {
		return nil, err
	}
	times, err := h.times(each(10, run), each(10, lineCell(in, out, "print(1)")), []int{50, 5, 2})
	for i, rtt := range rtts() {
		name, trip := fmt.Sprintf("ssh warm cell, past an RTT of %d ms", rtt.Milliseconds()), times[i].trip
		rows = append(rows, newRow(name, "ms", ms(times[i].product-trip), ms(times[i].floor-trip), atMost(1)))
	}
	return rows, err
}

// sshWriteRows counts the round trips of a tool that writes a file of 1 MB: those that two files more take,
// and those that fit into the time that it takes longer there than here.
func (s setup) sshWriteRows(ctx context.Context, h *sshHost) (rows []row, err error) {
	sessions, o := hermes.NewSessions(nil), s.sshOptions(h)
	defer func() { err = errors.Join(err, sessions.Close()) }()
	const code = `
import time
from hermes_tools import write_file
text, name = "x" * 1000000, "%s"
start = time.perf_counter()
for _ in range(%d):
    answer = write_file(name, text)
    assert "error" not in answer, answer
print(time.perf_counter() - start)
`
	script := func(n int) []byte { return fmt.Appendf(nil, code, filepath.Join(h.there, "written"), n) }
	write := func() ([]time.Duration, error) {
		r := sessions.Run(ctx, "ssh", o, hermes.Script{Code: script(1)}, false)
		seconds, err := strconv.ParseFloat(strings.TrimSpace(r.Output), 64)
		if r.Status != hermes.Success {
			err = fmt.Errorf("write: %s %s", r.Status, r.Error)
		}
		return []time.Duration{time.Duration(seconds * float64(time.Second))}, err
	}
	if _, err := write(); err != nil { // the connection of its calls is open now
		return nil, err
	}
	counted := func(n int) (float64, error) {
		path := filepath.Join(s.temp, "write.py")
		if err := os.WriteFile(path, script(n), 0o600); err != nil {
			return 0, err
		}
		h.wire.Reset()
		_, err := timed(ctx, 1, s.sshRun("--output", "json", path)...)()
		return float64(h.wire.Trips()), err
	}
	var one, three float64
	if err := h.at(far, func() error {
		if one, err = counted(1); err == nil {
			three, err = counted(3)
		}
		return err
	}); err != nil {
		return nil, err
	}
	nothing := func() ([]time.Duration, error) { return []time.Duration{0}, nil }
	times, err := h.times(write, nothing, []int{10, 0, 5})
	return []row{
		newRow("ssh, 1 MB written by a tool, counted", "round trips", (three-one)/2, 0, atMost(2)),
		newRow("ssh, 1 MB written by a tool, by time", "round trips", trips(times[2].product, times[0].product, times[2].trip), 0, goal{}),
		newRow("ssh, 1 MB written by a tool, RTT 0 ms", "ms", ms(times[0].product), 0, goal{}),
	}, err
}
