package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend/all"
	"github.com/hermes-exec/hermes-exec/config"
)

// sessionRows measures cells of sessions: as calls from the shell, and in the process that holds
// them.
func sessionRows(ctx context.Context, s setup) ([]row, error) {
	var rows []row
	for _, measure := range []func(context.Context, setup) ([]row, error){callRows, cellRows, manyRows} {
		more, err := measure(ctx, s)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// callRows measures a call of the program for a cell of a session that lives already.
func callRows(ctx context.Context, s setup) (rows []row, err error) {
	print1, err := s.script("print.py")
	if err != nil {
		return nil, err
	}
	home := filepath.Join(s.temp, "home")
	if err := os.Setenv("HERMES_HOME", home); err != nil {
		return nil, err
	}
	defer func() {
		end := exec.CommandContext(context.WithoutCancel(ctx), s.product, "session", "end", "--all")
		err = errors.Join(err, end.Run(), os.Unsetenv("HERMES_HOME"))
	}()
	call := timed(ctx, 10, s.product, "run", "--session", "bench", "--output", "json", "--python", s.python, print1)
	if _, err := call(); err != nil { // the first cell is another row
		return nil, err
	}
	p, f, err := interleave(5, call, timed(ctx, 10, s.product, "version"))
	return []row{newRow("call to a warm session", "ms", ms(p), ms(f), atMost(30))}, err
}

// options are those of a process that holds sessions.
func (s setup) options() hermes.Options {
	o := config.Defaults()
	o.Python, o.Home, o.MaxSessionKernels = s.python, filepath.Join(s.temp, "home"), manySessions
	environ := map[string]string{"PATH": os.Getenv("PATH"), "HOME": s.temp, "HERMES_HOME": o.Home, "TMPDIR": s.temp}
	return hermes.Options{
		Settings: o, Environ: environ, Dir: s.temp, Openers: all.Openers(all.Host{Env: environ, Dir: s.temp}),
	}
}

// cell runs a cell that has to succeed.
func cell(ctx context.Context, sessions *hermes.Sessions, name string, o hermes.Options) error {
	r := sessions.Run(ctx, name, o, hermes.Script{Code: []byte("print(1)")}, false)
	if r.Status != hermes.Success || r.Output != "1\n" || r.Execution != "kernel" {
		return fmt.Errorf("session %s: %s: %q %s", name, r.Status, r.Output, r.Error)
	}
	return nil
}

// cellRows measures first and later cells, and what the processes of a session weigh.
func cellRows(ctx context.Context, s setup) (rows []row, err error) {
	sessions, o := hermes.NewSessions(nil), s.options()
	defer func() { err = errors.Join(err, sessions.Close()) }()
	if err := cell(ctx, sessions, "warm", o); err != nil {
		return nil, err
	}
	floor, stop, err := bareKernel(ctx, s.python)
	if err != nil {
		return nil, err
	}
	p, f, warmErr := interleave(10, each(200, func() error { return cell(ctx, sessions, "warm", o) }), each(200, floor))
	rows = append(rows, newRow("warm cell", "ms", ms(p), ms(f), atMost(0.5)))
	heavy, sizeErr := weigh(sessions)
	rows = append(rows, newRow("agent and idle kernel", "MB RSS", heavy, 0, atMost(25)))

	first := each(1, func() error { return cell(ctx, sessions, "first", o) })
	p, f, firstErr := interleave(12, func() ([]time.Duration, error) {
		defer sessions.End("first")
		return first()
	}, timed(ctx, 1, s.python, "-c", "pass"))
	rows = append(rows, newRow("first cell", "ms", ms(p), ms(f), atMost(math.Round(ms(f)+60))))
	return rows, errors.Join(warmErr, sizeErr, firstErr, stop())
}

// each is a sample of n calls.
func each(n int, f func() error) sample {
	return func() ([]time.Duration, error) {
		times := make([]time.Duration, 0, n)
		for range n {
			start := time.Now()
			if err := f(); err != nil {
				return nil, err
			}
			times = append(times, time.Since(start))
		}
		return times, nil
	}
}

// lineKernel is the least that keeps state: an interpreter that executes lines and answers each.
const lineKernel = "import sys\nfor line in sys.stdin: exec(line); sys.stdout.flush()"

// bareKernel starts one.
func bareKernel(ctx context.Context, python string) (cell, stop func() error, err error) {
	cmd := exec.CommandContext(ctx, python, "-c", lineKernel)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	return lineCell(in, out, "print(1)"), func() error { return errors.Join(in.Close(), cmd.Wait()) }, cmd.Start()
}

// lineCell executes a line that prints one.
func lineCell(in io.Writer, out io.Reader, line string) func() error {
	lines := bufio.NewReader(out)
	return func() error {
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			return err
		}
		_, err := lines.ReadString('\n')
		return err
	}
}

// weigh sums up the memory of a kernel and of the agent, in MB. Between them is a supervisor, a fork
// of the agent's.
func weigh(sessions *hermes.Sessions) (total float64, err error) {
	list := sessions.List()
	if len(list) != 1 {
		return 0, fmt.Errorf("%d sessions where one was expected", len(list))
	}
	pid := strconv.Itoa(list[0].PID)
	for _, counts := range []bool{true, false, true} {
		data, err := os.ReadFile("/proc/" + pid + "/status")
		if err != nil {
			return 0, err
		}
		facts := map[string]string{}
		for line := range strings.Lines(string(data)) {
			if name, value, ok := strings.Cut(line, ":"); ok {
				facts[name] = strings.TrimSpace(value)
			}
		}
		kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(facts["VmRSS"], " kB"), 64)
		if err != nil {
			return 0, err
		}
		if counts {
			total += kilobytes / 1024
		}
		pid = facts["PPid"]
	}
	return total, nil
}

// manySessions is how many live at the same time.
const manySessions = 100

// manyRows counts the replies of sessions that all live at the same time.
func manyRows(ctx context.Context, s setup) (rows []row, err error) {
	sessions, o := hermes.NewSessions(nil), s.options()
	defer func() { err = errors.Join(err, sessions.Close()) }()
	var replies atomic.Int64
	for range 2 {
		replies.Store(0)
		var g errgroup.Group
		g.SetLimit(16)
		for i := range manySessions {
			g.Go(func() error {
				err := cell(ctx, sessions, strconv.Itoa(i), o)
				if err == nil {
					replies.Add(1)
				}
				return err
			})
		}
		err = errors.Join(err, g.Wait())
	}
	alive := 0
	for _, info := range sessions.List() {
		if info.PID != 0 && info.ExecutionCount == 2 {
			alive++
		}
	}
	goal := goal{AtLeast: manySessions, Absolute: true}
	return []row{
		newRow("100 sessions: second replies", "of 100", float64(replies.Load()), 0, goal),
		newRow("100 sessions: kernels alive", "of 100", float64(alive), 0, goal),
	}, err
}
