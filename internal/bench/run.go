package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

//go:embed scripts/*.py
var scripts embed.FS

// script writes a script of this program to the group's directory and returns its path.
func (s setup) script(name string) (string, error) {
	data, err := scripts.ReadFile("scripts/" + name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(s.temp, name)
	return path, os.WriteFile(path, data, 0o600)
}

// runRows measures a whole run that does nothing, from the start of a process to its end.
func runRows(ctx context.Context, s setup) ([]row, error) {
	print1, err := s.script("print.py")
	if err != nil {
		return nil, err
	}
	p, f, err := interleave(
		10,
		timed(ctx, 4, s.product, "run", "--output", "json", "--python", s.python, print1),
		timed(ctx, 4, floorArgs("run", s.python, print1)...),
	)
	if err != nil {
		return nil, err
	}
	return []row{newRow("one-shot print(1)", "ms", ms(p), ms(f), atMost(45))}, nil
}

// callsRows measures whole runs with many tool calls.
func callsRows(ctx context.Context, s setup) ([]row, error) {
	var rows []row
	for _, calls := range []int{50, 5000} {
		r, err := s.callsRow(ctx, calls)
		if err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// callsRow measures a run with tool calls. The product is a program that embeds the library with a
// tool of its own, so that the work of the tool itself is as small as the floor's.
func (s setup) callsRow(ctx context.Context, calls int) (row, error) {
	product, err := s.script("calls.py")
	if err != nil {
		return row{}, err
	}
	floor, err := s.script("floor_calls.py")
	if err != nil {
		return row{}, err
	}
	n := strconv.Itoa(calls)
	p, f, err := interleave(
		5,
		timed(ctx, 3, floorArgs("embed", s.python, product, n)...),
		timed(ctx, 3, floorArgs("calls", s.python, floor, n)...),
	)
	return newRow(fmt.Sprintf("one-shot with %d calls, pinned", calls), "ms", ms(p), ms(f), ratioAtMost(1.5)), err
}

// floorArgs is the command line of this program as a floor.
func floorArgs(name string, args ...string) []string {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return append([]string{self, "-floor", name}, args...)
}

// timed is a sample of n runs of a command.
func timed(ctx context.Context, n int, args ...string) sample {
	return func() ([]time.Duration, error) {
		times := make([]time.Duration, 0, n)
		for range n {
			cmd := exec.CommandContext(ctx, args[0], args[1:]...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			start := time.Now()
			if err := cmd.Run(); err != nil {
				return nil, fmt.Errorf("%v: %w: %s", args, err, out.String())
			}
			times = append(times, time.Since(start))
		}
		return times, nil
	}
}
