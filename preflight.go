package hermes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/keep"
	"github.com/hermes-exec/hermes-exec/kernel"
	"github.com/hermes-exec/hermes-exec/tool"
)

// preflightWait bounds a look at a script that has failed. Its result waits for it.
const preflightWait = 5 * time.Second

// maxPreflight is how long a script may be that is looked at for a hint, in bytes. Models write no
// longer ones.
const maxPreflight = 1 << 20

// maxCheck and checkWait bound a look that was asked for. Longer scripts are generated, and their
// tree takes up to 600 times as much memory.
const (
	maxCheck  = 4 << 20
	checkWait = time.Minute
)

// maxFindings is how much a look may tell, in bytes.
const maxFindings = 16 << 20

// Finding is what is wrong with a script, for certain.
type Finding struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
	Fatal   bool   `json:"fatal"` // it is a syntax error: nothing of the script would run
}

// String is the finding as one line.
func (f Finding) String() string { return fmt.Sprintf("line %d: %s", f.Line, f.Message) }

// lookAt is a request to python/hermes/preflight.py.
type lookAt struct {
	Code    []byte     `json:"code"` // as base64: it may be no text
	Name    string     `json:"name"` // what a person calls it
	Tools   []lookTool `json:"tools"`
	Helpers []string   `json:"helpers"`
	Others  []string   `json:"others"`
	Alone   bool       `json:"alone"`

	Known map[string]string `json:"known"` // names that earlier cells have left, and which tools they are
}

type lookTool struct {
	Name     string   `json:"name"`
	Alias    string   `json:"alias,omitempty"`
	Params   []string `json:"params"`
	Required []string `json:"required"`

	Types map[string]lookType `json:"types"` // of Params

	Keys  []string `json:"keys"`            // that a result can have; none: nobody knows
	Holds string   `json:"holds,omitempty"` // where its content is, in words

	Rows *lookRows `json:"rows,omitempty"`
}

// lookRows is where a result has a list of dicts, and what keys these can have.
type lookRows struct {
	In   []string `json:"in"`
	Keys []string `json:"keys"`
}

// lookType is what a parameter can be.
type lookType struct {
	Type     tool.Type `json:"type"`
	Nullable bool      `json:"nullable,omitempty"`
	Enum     []string  `json:"enum,omitempty"`
}

// Check looks at a script without running it, with the interpreter that would run it: its syntax, and
// how it uses the tools. A cell of a session may use what earlier cells have defined. What would not be
// run for what it holds, as a script that is empty, is a finding too, and no error. One that is too large to
// be looked at, or takes too long, is an error.
func (e *Env) Check(ctx context.Context, s Script, cell bool) ([]Finding, error) {
	src, err := loadSource(s, e.options.Dir, e.Info().SameHost)
	if err != nil {
		return nil, err
	}
	if flaw := src.flaw(); flaw != nil {
		return []Finding{*flaw}, nil
	}
	if n := len(src.code); n > maxCheck {
		err := fmt.Errorf("check the script: it has %d bytes, and at most %d are looked at", n, maxCheck)
		return nil, usageError{backend.Advise(err, "keep its data in a file, or run it unchecked")}
	}
	return e.check(ctx, src.code, lookAt{Name: cmp.Or(s.File, s.Name), Alone: !cell}, checkWait)
}

// check has the interpreter look at code for as long as it may take.
func (e *Env) check(ctx context.Context, code []byte, at lookAt, wait time.Duration) ([]Finding, error) {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	seen, err := e.look(limited, code, at)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = backend.Advise(fmt.Errorf("check the script: it takes longer than %v", wait), "check it in parts, or run it unchecked")
	}
	if err != nil {
		return nil, err
	}
	findings := make([]Finding, len(seen))
	for i, s := range seen {
		findings[i] = s.Finding
	}
	return findings, nil
}

// sighting is a finding, and other lines in which an exception may tell of it.
type sighting struct {
	Finding

	Raises []int `json:"raises"`
}

// in tells whether a traceback that goes through some lines can be of this finding.
func (s sighting) in(lines []int) bool {
	return slices.ContainsFunc(lines, func(n int) bool { return n == s.Line || slices.Contains(s.Raises, n) })
}

// look has the interpreter look at code. At says what is known of it.
func (e *Env) look(ctx context.Context, code []byte, at lookAt) ([]sighting, error) {
	at.Code, at.Name = code, cmp.Or(at.Name, "the script")
	at.Tools, at.Helpers, at.Others = lookTools(e.tools.Specs()), tool.Helpers(), append([]string{}, e.others...)
	request, err := json.Marshal(at)
	if err != nil {
		return nil, fmt.Errorf("check the script: %w", err)
	}
	info := e.Info()
	var out bytes.Buffer
	var said keep.Last
	const start = "import sys;sys.path.insert(0,sys.argv[1]);from _hermes_exec import preflight;sys.exit(preflight.main())"
	cmd := backend.Cmd{
		Args: []string{info.Python.Path, "-I", "-S", "-X", "utf8", "-c", start, info.Library},
		Dir:  info.Scratch, Stdin: bytes.NewReader(request), Stdout: &out, Stderr: &said,
		Keep: &backend.Keep{Head: maxFindings}, // the script is not the only one that may write there
	}
	if _, err := backend.Run(ctx, e.backend, cmd, nil); err != nil {
		err = fmt.Errorf("check the script: %w", err)
		if why := said.Line(); why != "" {
			err = fmt.Errorf("%w: %s", err, why)
		}
		return nil, err
	}
	var answer struct{ Findings []sighting }
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return nil, fmt.Errorf("check the script: %w", err)
	}
	return answer.Findings, nil
}

func lookTools(specs []tool.Spec) []lookTool {
	list := []lookTool{}
	for _, s := range specs {
		t := lookTool{
			Name: s.Name, Alias: tool.Alias(s.Name), Params: []string{}, Required: []string{},
			Types: map[string]lookType{}, Keys: append([]string{}, s.Keys...), Holds: s.Holds,
		}
		if s.Rows != nil {
			t.Rows = &lookRows{In: s.Rows.In, Keys: s.Rows.Keys}
		}
		for _, p := range s.Params {
			name := tool.ParamName(p.Name)
			t.Params = append(t.Params, name)
			t.Types[name] = lookType{Type: p.Type, Nullable: p.Nullable, Enum: p.Enum}
			if p.Required {
				t.Required = append(t.Required, name)
			}
		}
		list = append(list, t)
	}
	return list
}

// foreseen is the hint about a failure that could be seen before: the first finding of a script that
// failed, in a line that the traceback goes through if there is one. A script that has nothing to do with
// the tools is not looked at.
func (r *run) foreseen(stderr string) string {
	code := r.source.code
	if r.outcome == nil || len(code) > maxPreflight || !r.usesTools(code) {
		return ""
	}
	ctx, cancel := context.WithTimeout(r.env.life, preflightWait)
	defer cancel()
	findings, err := r.env.look(ctx, code, lookAt{Name: r.source.name, Alone: r.session == nil, Known: r.outcome.Tools})
	if err != nil {
		r.env.log.DebugContext(ctx, "no hint", "error", err)
		return ""
	}
	through := tracedLines(stderr, r.source.inPlace)
	for _, f := range findings {
		if !f.Fatal && (through == nil || f.in(through)) { // Python has told a fatal one itself, and better
			return "In the script, " + f.String() + "."
		}
	}
	return ""
}

// usesTools tells whether a script may use tools: it imports them, or an earlier cell has.
func (r *run) usesTools(code []byte) bool {
	if bytes.Contains(code, []byte("hermes_tools")) {
		return true
	}
	for name := range r.outcome.Tools {
		if bytes.Contains(code, []byte(name)) {
			return true
		}
	}
	return false
}

// tracedLines are the lines of a script that the last traceback in a text goes through; nil if there is
// none. The script is a file, or what was made of code: a staged file or a cell.
func tracedLines(text, file string) []int {
	const begin = "Traceback (most recent call last):\n"
	i := strings.LastIndex(text, begin)
	if i < 0 {
		return nil
	}
	lines := []int{}
	for _, m := range regexp.MustCompile(`(?m)^ +File "(.*)", line ([0-9]+)`).FindAllStringSubmatch(text[i:], -1) {
		name := m[1]
		ours := name == file || path.Base(name) == kernel.ScriptName || strings.HasPrefix(name, "<cell ")
		if n, err := strconv.Atoi(m[2]); err == nil && ours {
			lines = append(lines, n)
		}
	}
	return lines
}
