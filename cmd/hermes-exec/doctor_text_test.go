package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// sick is a report of which nearly everything is wrong.
func sick() *report {
	return &report{
		Backend: "docker",
		Transports: []transportReport{
			{Name: "uds", Reason: "bind: operation not permitted"}, {Name: "file", Works: true, CallMS: 0.5},
		},
		Limits:   limitsReport{Timeout: 300, MaxToolCalls: 50, MaxParallel: 16, MaxStdout: 50000, MaxStderr: 10000, MaxSpill: 5000000, MaxLine: 67108864},
		Tools:    []toolReport{{Name: "web_search", Unconfigured: "set web.searxng_url"}},
		Warnings: []string{"a limit is \x1b[31mnot\x07 enforced"},
		Error:    "open environment: docker: cannot connect to the engine at unix:///var/run/a-path-that-is-longer-than-any-line-of-a-terminal/docker.sock; start it",
		failed:   "error", next: "start it",
		reason: "open environment: docker: cannot connect to the engine at unix:///var/run/a-path-that-is-longer-than-any-line-of-a-terminal/docker.sock",
	}
}

// The table is as wide as its reader's terminal, has escapes for colours alone, and those only where they are
// obeyed; what others have said has none.
func TestDoctorTable(t *testing.T) {
	for name, test := range map[string]struct {
		look look
		want string
	}{
		"a file": {look{}, `
      backend         docker
fail  error           open environment: docker: cannot connect to the engine at unix:///var/run/a-path-that-is-longer-than-any-line-of-a-terminal/docker.sock
                      next: start it
fail  transport uds   does not work: bind: operation not permitted
                      next: start it
ok    transport file  works, 0.50 ms a call
                      next: use it: --transport file
      limits          300s, 50 tool calls (16 at once)
                      stdout 50000 bytes, stderr 10000, spill file 5000000, one call 67108864
      tools           none
warn  web_search      is not configured
                      next: set web.searxng_url
warn  warning         a limit is  [31mnot  enforced

Scripts cannot run here yet.
`},
		"a dumb terminal": {look{width: 60}, `
      backend         docker
fail  error           open environment: docker: cannot
                      connect to the engine at
                      unix:///var/run/a-path-that-is-longer-than-any-line-of-a-terminal/docker.sock
                      next: start it
fail  transport uds   does not work: bind: operation not
                      permitted
                      next: start it
ok    transport file  works, 0.50 ms a call
                      next: use it: --transport file
      limits          300s, 50 tool calls (16 at once)
                      stdout 50000 bytes, stderr 10000,
                      spill file 5000000, one call 67108864
      tools           none
warn  web_search      is not configured
                      next: set web.searxng_url
warn  warning         a limit is [31mnot enforced

Scripts cannot run here yet.
`},
		"a narrow one": {look{width: 30}, `
      backend
      docker
fail  error
      open environment:
      docker: cannot connect
      to the engine at
      unix:///var/run/a-path-that-is-longer-than-any-line-of-a-terminal/docker.sock
      next: start it
fail  transport uds
      does not work: bind:
      operation not permitted
      next: start it
ok    transport file
      works, 0.50 ms a call
      next: use it:
            --transport file
      limits
      300s, 50 tool calls (16
      at once)
      stdout 50000 bytes,
      stderr 10000, spill
      file 5000000, one call
      67108864
      tools
      none
warn  web_search
      is not configured
      next: set
            web.searxng_url
warn  warning
      a limit is [31mnot
      enforced

Scripts cannot run here yet.
`},
		"a terminal with colours and glyphs": {look{colour: true, glyphs: true, width: 200}, `
   backend         docker
<31>✗<0>  error           open environment: docker: cannot connect to the engine at unix:///var/run/a-path-that-is-longer-than-any-line-of-a-terminal/docker.sock
                   <1>next:<0> start it
<31>✗<0>  transport uds   does not work: bind: operation not permitted
                   <1>next:<0> start it
<32>✓<0>  transport file  works, 0.50 ms a call
                   <1>next:<0> use it: --transport file
   limits          300s, 50 tool calls (16 at once)
                   stdout 50000 bytes, stderr 10000, spill file 5000000, one call 67108864
   tools           none
<33>!<0>  web_search      is not configured
                   <1>next:<0> set web.searxng_url
<33>!<0>  warning         a limit is [31mnot enforced

Scripts cannot run here yet.
`},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := sick().print(&out, test.look); err != nil {
				t.Fatal(err)
			}
			want := strings.NewReplacer("<", "\x1b[", ">", "m").Replace(strings.TrimPrefix(test.want, "\n"))
			if out.String() != want {
				t.Errorf("got\n%s\nwant\n%s", out.String(), want)
			}
		})
	}
}

// Where a terminal is wider than the longest word is, no line is longer than it, the last included.
func TestDoctorFits(t *testing.T) {
	r, name := sick(), "file"
	r.Error, r.reason, r.Transport = "", "", &name
	for width := 28; width <= 100; width++ {
		var out strings.Builder
		if err := r.print(&out, look{width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n >= width {
				t.Errorf("%d characters on a terminal of %d: %q", n, width, line)
			}
		}
	}
}

// A transport that does not work is no failure where another does.
func TestDoctorTransportNotNeeded(t *testing.T) {
	r, name := sick(), "file"
	r.Error, r.Transport = "", &name
	if row := r.transportRow(r.Transports[0]); row.mark != odd || row.next != "nothing: tool calls travel by file" {
		t.Errorf("%+v", row)
	}
}

// What programs read of doctor has the keys that it had: what the table adds is not in it.
func TestDoctorJSON(t *testing.T) {
	r := sick()
	r.Python = &pythonReport{"/usr/bin/python3", "3.11.2", "--python"}
	got, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"backend":"docker","config":null,"python":{"path":"/usr/bin/python3","version":"3.11.2","found":"--python"},` +
		`"notes":null,"transport":null,"transports":[{"name":"uds","works":false,"chosen":false,"reason":"bind: operation not permitted"},` +
		`{"name":"file","works":true,"call_ms":0.5,"chosen":false}],"limits":{"timeout_seconds":300,"max_tool_calls":50,` +
		`"max_parallel_tool_calls":16,"max_stdout_bytes":50000,"max_stderr_bytes":10000,"max_spill_bytes":5000000,"max_line_bytes":67108864},` +
		`"tools":[{"name":"web_search","unconfigured":"set web.searxng_url"}],"warnings":["a limit is \u001b[31mnot\u0007 enforced"],` +
		`"error":"open environment: docker: cannot connect to the engine at ` +
		`unix:///var/run/a-path-that-is-longer-than-any-line-of-a-terminal/docker.sock; start it"}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
