package hermes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/keep"
	"github.com/hermes-exec/hermes-exec/tool"
)

// preflightWait bounds a look at a script that has failed. Its result waits for it.
const preflightWait = 5 * time.Second

// maxPreflight is how long a script may be that is looked at for a hint, in bytes. Models write no
// longer ones.
const maxPreflight = 1 << 20

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
	Tools   []lookTool `json:"tools"`
	Helpers []string   `json:"helpers"`
	Others  []string   `json:"others"`
	Alone   bool       `json:"alone"`
}

type lookTool struct {
	Name     string   `json:"name"`
	Alias    string   `json:"alias,omitempty"`
	Params   []string `json:"params"`
	Required []string `json:"required"`
	Text     string   `json:"text,omitempty"`
}

// Check looks at a script without running it, with the interpreter that would run it: its syntax, and
// how it uses the tools. A cell of a session may use what earlier cells have defined.
func (e *Env) Check(ctx context.Context, s Script, cell bool) ([]Finding, error) {
	src, err := readSource(s, e.options.Dir, e.Info().SameHost)
	if err != nil {
		return nil, err
	}
	return e.look(ctx, src.code, !cell)
}

// look has the interpreter look at code.
func (e *Env) look(ctx context.Context, code []byte, alone bool) ([]Finding, error) {
	request, err := json.Marshal(lookAt{
		Code: code, Tools: lookTools(e.tools.Specs()), Helpers: tool.Helpers(), Others: append([]string{}, e.others...), Alone: alone,
	})
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
	var answer struct{ Findings []Finding }
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return nil, fmt.Errorf("check the script: %w", err)
	}
	return answer.Findings, nil
}

func lookTools(specs []tool.Spec) []lookTool {
	list := []lookTool{}
	for _, s := range specs {
		t := lookTool{Name: s.Name, Alias: tool.Alias(s.Name), Params: []string{}, Required: []string{}}
		switch s.Name {
		case "read_file":
			t.Text = "content"
		case "terminal":
			t.Text = "output"
		}
		for _, p := range s.Params {
			name := tool.ParamName(p.Name)
			t.Params = append(t.Params, name)
			if p.Required {
				t.Required = append(t.Required, name)
			}
		}
		list = append(list, t)
	}
	return list
}

// foreseen is the hint about a failure that could be seen before: the first finding of a script that
// failed. One that has nothing to do with the tools is not looked at.
func (r *run) foreseen() string {
	code := r.source.code
	if r.outcome == nil || len(code) > maxPreflight || !bytes.Contains(code, []byte("hermes_tools")) {
		return ""
	}
	ctx, cancel := context.WithTimeout(r.env.life, preflightWait)
	defer cancel()
	findings, err := r.env.look(ctx, code, r.session == nil)
	if err != nil {
		r.env.log.DebugContext(ctx, "no hint", "error", err)
		return ""
	}
	for _, f := range findings {
		if !f.Fatal { // Python has told that itself, and better
			return "In the script, " + f.String() + "."
		}
	}
	return ""
}
