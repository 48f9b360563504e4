// Command bench measures hermes-exec against floors: the least that any program has to do for the
// same result, measured in the same run and in turns with the product, so that a busy machine slows
// both alike. It prints a table; with BENCH_JSON=FILE it also writes one JSON object a row.
//
// Every group of rows runs in a process of its own. It is pinned to one processor where the rows are so
// short that moving between processors would be most of them, and where they are about a pipe: how
// fast one is depends four times more on where its two ends happen to run than on what they do.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
)

// group is a set of rows that are measured together.
type group struct {
	name   string
	pinned bool
	run    func(context.Context, setup) ([]row, error)
}

// groups lists what is measured, in the order of the table.
func groups() []group {
	return []group{
		{"run", false, runRows},
		{"calls", true, callsRows},
		{"rpc", true, rpcRows},
		{"spool", true, spoolRows},
		{"flood", true, floodRows},
		{"search", false, searchRows},
		{"search-large", false, searchLargeRows},
		{"web", false, webRows},
		{"session", false, sessionRows},
		{"docker", false, dockerRows},
		{"docker-calls", true, dockerCallRows},
		{"ssh", false, sshRows(setup.sshColdRows)},
		{"ssh-calls", false, sshRows(setup.sshCallRows, setup.sshCellRows, setup.sshWriteRows)},
		{"ssh-flood", false, sshRows(setup.sshCrossingRows, setup.sshFloodRows)},
	}
}

// setup is what a group needs to know.
type setup struct {
	product string // the path of hermes-exec
	python  string // the interpreter of all rows
	temp    string // a directory for what the group makes; removed afterwards
}

func main() {
	os.Exit(realMain(os.Args[1:], os.Stdout, os.Stderr)) //nolint:forbidigo // this is main
}

func realMain(args []string, out, errOut io.Writer) int {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(errOut)
	s := setup{}
	f.StringVar(&s.product, "product", "bin/hermes-exec", "the `program` to measure")
	f.StringVar(&s.python, "python", "/usr/bin/python3", "the `interpreter` of all rows")
	only := f.String("only", "", "measure only these `groups`, separated by commas")
	inside := f.String("inside", "", "measure one `group` in this process and print JSON")
	floor := f.String("floor", "", "be the `floor` of a row")
	if err := f.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *floor != "":
		err = beFloor(ctx, *floor, f.Args(), out)
	case *inside != "":
		err = measureInside(ctx, s, *inside, out)
	default:
		err = measureAll(ctx, s, *only, out)
	}
	if err != nil {
		fmt.Fprintln(errOut, "bench:", err)
		return 1
	}
	return 0
}

// measureAll runs every group in a process of its own and prints the table. A group that fails does
// not hide the others.
func measureAll(ctx context.Context, s setup, only string, out io.Writer) error {
	var rows []row
	var errs []error
	for _, g := range groups() {
		if only != "" && !strings.Contains(","+only+",", ","+g.name+",") {
			continue
		}
		more, err := measureOutside(ctx, s, g)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", g.name, err))
		}
		rows = append(rows, more...)
	}
	printTable(out, s, rows)
	if name := os.Getenv("BENCH_JSON"); name != "" {
		errs = append(errs, writeJSON(name, rows))
	}
	return errors.Join(errs...)
}

// measureOutside starts this program again for one group.
func measureOutside(ctx context.Context, s setup, g group) ([]row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{self, "-product", s.product, "-python", s.python, "-inside", g.name}
	if g.pinned {
		args = append([]string{"taskset", "-c", "0"}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	data, err := cmd.Output()
	var rows []row
	for line := range strings.Lines(string(data)) {
		var r row
		if bad := json.Unmarshal([]byte(line), &r); bad != nil {
			return rows, bad
		}
		rows = append(rows, r)
	}
	return rows, err
}

// measureInside runs one group and prints its rows as JSON.
func measureInside(ctx context.Context, s setup, name string, out io.Writer) error {
	for _, g := range groups() {
		if g.name != name {
			continue
		}
		temp, err := os.MkdirTemp("", "hx-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temp) //nolint:errcheck // a leftover of a benchmark is no failure
		s.temp = temp
		rows, err := g.run(ctx, s)
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		for _, r := range rows {
			if bad := e.Encode(r); bad != nil {
				return bad
			}
		}
		return err
	}
	return fmt.Errorf("unknown group %q", name)
}
