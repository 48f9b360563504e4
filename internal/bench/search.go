package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hermes-exec/hermes-exec/backend/all"
	"github.com/hermes-exec/hermes-exec/tool"
)

// searchPatterns are what the rows of search_files look for: what a program that looks for literals
// is good at, and what it is not. Both dialects read them alike.
func searchPatterns() []string {
	return []string{"nowhere", "TODO", `\bTODO\b`, `func \w+Conn\(`, `[A-Z]\w+ struct`, "(?i)todo"}
}

// searchRows measures searches of a generated tree by search_files and by a walker in Go, in turns.
// The helper process is warm, as in every call of a run but the first.
func searchRows(ctx context.Context, s setup) ([]row, error) {
	root := filepath.Join(s.temp, "tree")
	if err := growTree(root, 5000, 100, 200); err != nil {
		return nil, err
	}
	env, end, err := s.searched(ctx, root)
	if err != nil {
		return nil, err
	}
	defer end()
	var rows []row
	for _, pattern := range searchPatterns() {
		r, err := rival{env: env, pattern: pattern, what: "5,000 files", blocks: 5, floor: walkTree}.row(ctx)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", pattern, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// searched opens an environment here, for tools that act in root.
func (s setup) searched(ctx context.Context, root string) (env *tool.Env, end func(), err error) {
	vars := map[string]string{"PATH": os.Getenv("PATH"), "HOME": s.temp}
	b, err := all.Openers(all.Host{Env: vars, Dir: root})["local"](ctx, &url.URL{
		Scheme: "local", Path: root, OmitHost: true, RawQuery: url.Values{"python": {s.python}}.Encode(),
	})
	if err != nil {
		return nil, nil, err
	}
	files := tool.NewFiles(b, vars)
	end = func() { // what fails here fails after the measurement
		_ = files.Close()
		_ = b.Close()
	}
	return &tool.Env{Backend: b, Dir: root, Environ: vars, Files: files}, end, nil
}

// rival is a search by the product and by its floor.
type rival struct {
	env           *tool.Env
	pattern, what string
	blocks        int
	floor         func(root string, re *regexp.Regexp) (int, error)
}

func (v rival) row(ctx context.Context) (row, error) {
	re, err := regexp.Compile("(?m)" + v.pattern)
	if err != nil {
		return row{}, err
	}
	want, err := v.floor(v.env.Dir, re) // also brings the tree into memory
	if err != nil {
		return row{}, err
	}
	check := func(got int) error {
		if got != want {
			return fmt.Errorf("found %d lines and %d", got, want)
		}
		return nil
	}
	product := timedSearch(func() (int, error) { return searchTree(ctx, v.env, v.pattern) }, check)
	floor := timedSearch(func() (int, error) { return v.floor(v.env.Dir, re) }, check)
	if _, err := product(); err != nil {
		return row{}, err
	}
	p, f, err := interleave(v.blocks, product, floor)
	if err != nil {
		return row{}, err
	}
	name := fmt.Sprintf("search_files %s, %s, %d lines", v.pattern, v.what, want)
	return newRow(name, "ms", ms(p), ms(f), ratioAtMost(2.5)), nil
}

// timedSearch makes a sample of one search.
func timedSearch(search func() (int, error), check func(int) error) sample {
	return func() ([]time.Duration, error) {
		start := time.Now()
		n, err := search()
		took := time.Since(start)
		if err == nil {
			err = check(n)
		}
		return []time.Duration{took}, err
	}
}

// searchTree is the product's search.
func searchTree(ctx context.Context, env *tool.Env, pattern string) (int, error) {
	all := tool.Seven()
	i := slices.IndexFunc(all, func(t tool.Tool) bool { return t.Spec().Name == "search_files" })
	args, err := json.Marshal(map[string]string{"pattern": pattern})
	if err != nil {
		return 0, err
	}
	result, err := all[i].Call(ctx, env, args)
	if err != nil {
		return 0, err
	}
	var found struct {
		Total int `json:"total_count"`
	}
	err = json.Unmarshal(result, &found)
	return found.Total, err
}

// words are what the files of the tree are made of.
func words() []string {
	return strings.Fields("the of func return if err nil struct type package import for range string int " +
		"context deadline Deadline Config Server Handler close open read write buffer conn listen value key")
}

// growTree makes a tree of source-like files of at least so many lines and up to so many more, of 40
// bytes each, the same every time.
func growTree(root string, files, lines, more int) error {
	seed, vocabulary := uint32(1), words()
	next := func(n int) int {
		seed = seed*1664525 + 1013904223
		return int(seed>>8) % n
	}
	for i := range files {
		dir := filepath.Join(root, fmt.Sprintf("pkg%02d", i%40), fmt.Sprintf("part%d", i%7))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		var text strings.Builder
		for range lines + next(more) {
			switch next(500) {
			case 0:
				text.WriteString("// TODO: look at this again")
			case 1:
				text.WriteString("func dialConn(name string) error {")
			case 2:
				text.WriteString("type Server struct {")
			case 3:
				text.WriteString("x := foo(bar)")
			}
			for range next(15) {
				text.WriteString(" " + vocabulary[next(len(vocabulary))])
			}
			text.WriteByte('\n')
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.go", i)), []byte(text.String()), 0o600); err != nil {
			return err
		}
	}
	return nil
}
