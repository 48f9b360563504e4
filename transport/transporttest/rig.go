package transporttest

import (
	"bytes"
	"context"
	"embed"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/python"
	"github.com/hermes-exec/hermes-exec/transport"
)

//go:embed testdata/*.py
var testdata embed.FS

// rig is an environment with a served endpoint and what a script needs.
type rig struct {
	t         *testing.T
	backend   backend.Backend
	transport transport.Transport
	endpoint  transport.Endpoint
	tools     *tools
	env       map[string]string
	stage     string // where hermes_tools.py and the scripts lie
	dir       string // where scripts run; "" is the stage
	cancel    context.CancelCauseFunc
	served    chan error
	ended     func() error
}

func newRig(t *testing.T, cfg Config, o transport.Options) *rig {
	t.Helper()
	r := &rig{t: t, backend: cfg.Open(t), transport: cfg.New(o), tools: newTools(), served: make(chan error, 1)}
	t.Cleanup(func() { _ = r.backend.Close() })
	endpoint, err := r.transport.Open(t.Context(), r.backend)
	if err != nil {
		t.Fatalf("open the transport: %v", err)
	}
	r.endpoint = endpoint
	r.ended = sync.OnceValue(func() error { return <-r.served })
	r.serve()
	r.prepare()
	return r
}

// serve serves the endpoint until the end of the test.
func (r *rig) serve() {
	ctx, cancel := context.WithCancelCause(background(r.t))
	r.cancel = cancel
	go func() { r.served <- r.endpoint.Serve(ctx, r.tools) }()
	r.t.Cleanup(func() {
		_ = r.endpoint.Close()
		_ = r.ended()
		cancel(nil)
	})
}

// serveEnd returns what Serve returned.
func (r *rig) serveEnd() error { return r.ended() }

// prepare puts the stub into the environment.
func (r *rig) prepare() {
	r.t.Helper()
	info := r.backend.Info()
	r.stage = join(info.Scratch, "stage")
	r.env = maps.Clone(info.Env)
	maps.Copy(r.env, r.endpoint.Env())
	r.env["PYTHONPATH"] = r.stage
	r.env["PYTHONDONTWRITEBYTECODE"] = "1"
	r.env["PYTHONUTF8"] = "1"
	stub, err := python.Stub()
	r.must(err)
	r.put("hermes_tools.py", slices.Concat(stub, r.file("tools.py")))
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// file returns a file of testdata.
func (r *rig) file(name string) []byte {
	r.t.Helper()
	data, err := testdata.ReadFile("testdata/" + name)
	r.must(err)
	return data
}

// put writes a file to the stage.
func (r *rig) put(name string, data []byte) {
	r.t.Helper()
	r.must(r.backend.Put(r.t.Context(), join(r.stage, name), bytes.NewReader(data), 0o600))
}

// process is a started script.
type process struct {
	backend.Process
	out, errs lockedBuffer
}

// start starts a script of testdata.
func (r *rig) start(name string, args ...string) *process {
	r.t.Helper()
	r.put(name, r.file(name))
	p := &process{}
	cmd := backend.Cmd{
		Args: append([]string{r.backend.Info().Python.Path, join(r.stage, name)}, args...),
		Dir:  r.dir, Env: r.env, Stdout: &p.out, Stderr: &p.errs,
	}
	if cmd.Dir == "" {
		cmd.Dir = r.stage
	}
	started, err := r.backend.Start(r.t.Context(), cmd)
	r.must(err)
	p.Process = started
	return p
}

// wait waits for a script, which must succeed.
func (r *rig) wait(p *process) {
	r.t.Helper()
	if err := p.Wait(r.t.Context()); err != nil {
		r.t.Fatal(describe("script", err, p))
	}
}

// run runs a script that says at its end that all is well.
func (r *rig) run(name string, args ...string) {
	r.t.Helper()
	p := r.start(name, args...)
	if err := p.Wait(r.t.Context()); err != nil || p.out.String() != "ok\n" {
		r.t.Fatal(describe(name, err, p))
	}
}

// lockedBuffer is a buffer that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
