package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

// far is the round trip that they are counted with, near one of a network between here and there.
const (
	near = 50 * time.Millisecond
	far  = 200 * time.Millisecond
)

// sshRows measures what is done on a host that is far away: all that is sent crosses a wire with a delay.
func sshRows(measures ...func(setup, context.Context, *sshHost) ([]row, error)) func(context.Context, setup) ([]row, error) {
	return func(ctx context.Context, s setup) (rows []row, err error) {
		h, err := s.startSSH("box")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, h.close()) }()
		if err := h.use(); err != nil {
			return nil, err
		}
		for _, measure := range measures {
			more, err := measure(s, ctx, h)
			rows = append(rows, more...)
			if err != nil {
				return rows, err
			}
		}
		return rows, nil
	}
}

// trips is how many round trips make the difference between the times here and somewhere far.
func trips(there, here, trip time.Duration) float64 { return float64(there-here) / float64(trip) }

// sshRun is the command line of the product for the host.
func (s setup) sshRun(args ...string) []string {
	return append([]string{s.product, "run", "--quiet", "--backend", "ssh", "--host", "box"}, args...)
}

// sshColdRows measures a whole run that does nothing, from the start of a process to its end.
func (s setup) sshColdRows(ctx context.Context, h *sshHost) ([]row, error) {
	print1, err := s.script("print.py")
	if err != nil {
		return nil, err
	}
	product := timed(ctx, 1, s.sshRun("--output", "json", print1)...)
	floor := timed(ctx, 1, h.session("python3 -c 'print(1)'")...)
	times, err := h.times(product, floor, []int{10, 0, 5})
	if err != nil {
		return nil, err
	}
	var counted [2][]float64
	err = h.at(far, func() error {
		for range 3 {
			for i, take := range []sample{product, floor} {
				h.wire.Reset()
				if _, err := take(); err != nil {
					return err
				}
				counted[i] = append(counted[i], float64(h.wire.Trips()))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	here, there := times[0], times[2]
	return []row{
		newRow("ssh cold one-shot print(1), counted", "round trips", median(counted[0]), median(counted[1]), atMost(10)),
		newRow("ssh cold one-shot print(1), by time", "round trips", trips(there.product, here.product, there.trip), trips(there.floor, here.floor, there.trip), goal{}),
		newRow("ssh cold one-shot print(1), RTT 0 ms", "ms", ms(here.product), ms(here.floor), goal{}),
		newRow("ssh cold one-shot print(1), RTT 200 ms", "ms", ms(there.product), ms(there.floor), goal{}),
	}, nil
}

// rtts are the round trips of the rows.
func rtts() []time.Duration { return []time.Duration{0, near, far} }

// pair are the times of one operation, and how long a round trip really was then.
type pair struct{ product, floor, trip time.Duration }

// times measures both at each of rtts, in so many blocks.
func (h *sshHost) times(product, floor sample, blocks []int) (times [3]pair, err error) {
	for i, rtt := range rtts() {
		if blocks[i] == 0 {
			continue
		}
		if err := h.at(rtt, func() (err error) {
			if times[i].trip, err = h.roundTrip(); err == nil {
				times[i].product, times[i].floor, err = interleave(blocks[i], product, floor)
			}
			return err
		}); err != nil {
			return times, err
		}
	}
	return times, nil
}

// sshFloodRows measures how fast a script there can print, as text, which has to cross.
func (s setup) sshFloodRows(ctx context.Context, h *sshHost) (rows []row, err error) {
	script, err := s.script("flood.py")
	if err != nil {
		return nil, err
	}
	rate := filepath.Join(h.there, "rate")
	for _, one := range []struct {
		rtt        time.Duration
		mb, repeat int
	}{{0, floodMB, 5}, {near, floodMB, 3}, {far, 40, 3}} {
		at := fmt.Sprintf(", RTT %d ms", one.rtt.Milliseconds())
		f := flood{
			name: fmt.Sprintf("ssh, %d MB of stdout as text%s", one.mb, at), memory: "ssh, its growth of memory" + at, rate: rate,
			mb: one.mb, repeat: one.repeat,
			product: func(mb int) []string { return s.sshRun("--output", "text", script, "--", strconv.Itoa(mb), rate) },
			floor:   h.session(fmt.Sprintf("python3 %s %d %s", script, one.mb, rate)),
		}
		if err := h.at(one.rtt, func() error {
			more, err := f.rows(ctx)
			rows = append(rows, more...)
			return err
		}); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// sshCrossingRows counts what crosses of a flood in json, where what is past the limits stays there.
func (s setup) sshCrossingRows(ctx context.Context, h *sshHost) ([]row, error) {
	script, err := s.script("flood.py")
	if err != nil {
		return nil, err
	}
	crossed := func(mb int) (float64, error) {
		h.wire.Reset()
		_, err := timed(ctx, 1, s.sshRun("--output", "json", script, "--", strconv.Itoa(mb), filepath.Join(h.there, "rate"))...)()
		up, down := h.wire.Bytes()
		return float64(up+down) / 1e6, err
	}
	little, err := crossed(0)
	if err != nil {
		return nil, err
	}
	much, err := crossed(floodMB)
	return []row{newRow(fmt.Sprintf("ssh, what crosses of %d MB of stdout, json", floodMB), "MB", much-little, 0, atMost(5.5))}, err
}
