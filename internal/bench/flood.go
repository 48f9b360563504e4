package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// floodMB is how much the flooding script prints.
const floodMB = 100

// flood is a pair of rows: how fast a script can print, and what that costs hermes-exec in memory. The
// script times its own writing, and leaves the rate in a file: the start of programs is no part of it.
type flood struct {
	name, memory string                // of the rows
	product      func(mb int) []string // the command that prints so much
	floor        []string
	rate         string // the file
	mb, repeat   int    // 0: floodMB, 5 times
}

// floodRows measures a flood in each output format.
func floodRows(ctx context.Context, s setup) ([]row, error) {
	script, err := s.script("flood.py")
	if err != nil {
		return nil, err
	}
	rate := filepath.Join(s.temp, "rate")
	var rows []row
	for _, format := range []string{"json", "text"} {
		r, err := flood{
			name: fmt.Sprintf("%d MB of stdout, %s", floodMB, format), memory: "its growth of memory, " + format, rate: rate,
			product: func(mb int) []string {
				return []string{s.product, "run", "--quiet", "--output", format, "--python", s.python, script, "--", strconv.Itoa(mb), rate}
			},
			floor: floorArgs("read", s.python, script, strconv.Itoa(floodMB), rate),
		}.rows(ctx)
		if err != nil {
			return rows, err
		}
		rows = append(rows, r...)
	}
	return rows, nil
}

// rows measures both.
func (f flood) rows(ctx context.Context) ([]row, error) {
	var products, floors []float64
	var quietest, loudest int64
	for range cmp.Or(f.repeat, 5) {
		little, _, err := rated(ctx, f.rate, f.product(0))
		if err != nil {
			return nil, err
		}
		peak, mbps, err := rated(ctx, f.rate, f.product(cmp.Or(f.mb, floodMB)))
		if err != nil {
			return nil, err
		}
		quietest, loudest = max(quietest, little), max(loudest, peak)
		products = append(products, mbps)
		if _, mbps, err = rated(ctx, f.rate, f.floor); err != nil {
			return nil, err
		}
		floors = append(floors, mbps)
	}
	growth := float64(loudest-quietest) / 1e6
	return []row{
		newRow(f.name, "MB/s", median(products), median(floors), ratioAtLeast(0.8)),
		newRow(f.memory, "MB", growth, 0, atMost(8)),
	}, nil
}

// rated runs a command and returns the most memory that it had, in bytes, and the rate that the
// script left in a file.
func rated(ctx context.Context, rate string, args []string) (peak int64, mbps float64, err error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stderr = os.Stderr // stdout is the null device: what hermes-exec prints costs no second reader
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	peak, err = watchMemory(cmd)
	if err != nil {
		return 0, 0, fmt.Errorf("%v: %w", args, err)
	}
	data, err := os.ReadFile(rate)
	if err != nil {
		return 0, 0, err
	}
	mbps, err = strconv.ParseFloat(strings.TrimSpace(string(data)), 64)
	return peak, mbps, err
}

// watchMemory waits for cmd and returns the high-water mark of its resident memory; 0 where /proc
// does not tell. What wait reports instead would be that of its largest child.
func watchMemory(cmd *exec.Cmd) (int64, error) {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	var peak int64
	for {
		select {
		case err := <-done:
			return peak, err
		case <-tick.C:
			peak = max(peak, highWater(cmd.Process.Pid))
		}
	}
}

func highWater(pid int) int64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	var kb int64
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		return 0
	}
	return kb << 10
}
