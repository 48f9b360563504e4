package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// largeLog is how long the log is that is searched, in bytes.
const largeLog = 2 << 30

// searchLargeRows measures searches of very many files and of a very large one, and the memory that
// the helper took for each.
func searchLargeRows(ctx context.Context, s setup) ([]row, error) {
	root, logs := filepath.Join(s.temp, "tree"), filepath.Join(s.temp, "logs")
	if err := errors.Join(growTree(root, 100_000, 20, 60), growLog(logs)); err != nil {
		return nil, err
	}
	trees := rival{what: "100,000 files", blocks: 3, floor: walkTree}
	rows, err := s.searchLarge(ctx, root, trees, "nowhere", "TODO", `[A-Z]\w+ struct`)
	if err != nil {
		return rows, err
	}
	lines := rival{what: "a log of 2 GB", blocks: 3, floor: scanTree}
	more, err := s.searchLarge(ctx, logs, lines, "nowhere", "FATAL", "took=29", "status")
	return append(rows, more...), err
}

// searchLarge measures searches of one directory.
func (s setup) searchLarge(ctx context.Context, dir string, v rival, patterns ...string) ([]row, error) {
	env, end, err := s.searched(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer end()
	v.env = env
	var rows []row
	for _, v.pattern = range patterns {
		r, err := v.row(ctx)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", v.pattern, err)
		}
		rows = append(rows, r)
	}
	var most int64
	for _, pid := range descendants(os.Getpid()) {
		most = max(most, highWater(pid))
	}
	return append(rows, newRow("its memory, "+v.what, "MB RSS", float64(most)/1e6, 0, atMost(64))), nil
}

// growLog makes a log whose last line, and one in a hundred thousand, tells of something else than all others.
func growLog(dir string) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "server.log"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var part strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&part, "2026-11-30T03:%02d:%02d.%03d INFO server request id=%08x path=/v1/items/%d status=200 took=%dms\n",
			i/7%60, i%60, i%1000, uint32(i*2654435761), i, i%300)
	}
	part.WriteString("2026-11-30T03:59:59.999 FATAL disk full\n")
	w := bufio.NewWriterSize(f, 1<<20)
	for n := 0; n < largeLog; n += part.Len() {
		if _, err := w.WriteString(part.String()); err != nil {
			return err
		}
	}
	return w.Flush()
}

// descendants lists the processes below one, as /proc has them; nothing where there is none.
func descendants(pid int) []int {
	below := []int{pid}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // it has just ended
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		var state string
		var parent int
		if _, err := fmt.Sscan(rest, &state, &parent); err == nil {
			children[parent] = append(children[parent], pidOf(name))
		}
	}
	for i := 0; i < len(below); i++ {
		below = append(below, children[below[i]]...)
	}
	return below[1:]
}

func pidOf(stat string) int {
	pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
	if err != nil {
		return 0
	}
	return pid
}
