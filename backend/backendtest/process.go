package backendtest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hermes-exec/hermes-exec/backend"
)

func processCases() []testCase {
	return []testCase{
		{"exit status", exitStatus},
		{"exit by signal", exitBySignal},
		{"argv byte-exact", argvExact},
		{"env is the whole environment", envExact},
		{"env empty", envEmpty},
		{"dir", dirs},
		{"program looked up in PATH of Env", lookup},
		{"stdin 1 MiB to stdout with stderr apart", stdinToStdout},
		{"stdin nil is EOF", stdinNil},
		{"stdin that blocks does not delay Wait", stdinBlocks},
		{"stdin that never ends is left", stdinEndless},
		{"descriptors 0 1 2 and no others", descriptors},
		{"descriptor 3 is the control stream", controlDescriptor},
		{"signals at their defaults", signalDefaults},
		{"session of its own", ownSession},
	}
}

func exitStatus(ctx context.Context, e *env) {
	for _, code := range []int{0, 1, 2, 42, 127, 255} {
		p := e.start(ctx, e.py("import sys;sys.exit(int(sys.argv[1]))", itoa(code)))
		if got, want := p.exit(ctx), (backend.ExitError{Code: code}); got != want {
			e.Errorf("exit %d: got %+v", code, got)
		}
	}
}

func exitBySignal(ctx context.Context, e *env) {
	for _, sig := range []backend.Signal{backend.Kill, backend.Terminate, 6, 11} {
		code := "import os,sys;os.kill(os.getpid(),int(sys.argv[1]))"
		e.start(ctx, e.py(code, itoa(int(sig)))).wantSignal(ctx, sig)
	}
}

func argvExact(ctx context.Context, e *env) {
	args := []string{
		"", " ", "\n", "a\nb\r\n", "\t", `"`, `'`, `''"'"''`, `\`, `\\n`, "$HOME", "${x}", "`id`", "$(id)",
		"!", "!!", "~", "*", "?", "--", "-c", "#", ";", "&", "|", "%s%d%%", "é", "日本", "\U0001F600",
		"\xff\xfe", "\x80abc", "\x01\x02\x1b[31m\x7f", strings.Repeat("long ", 20000), "",
	}
	code := "import json,os,sys;print(json.dumps([os.fsencode(a).decode('latin-1') for a in sys.argv[1:]]))"
	wantList(e, e.output(ctx, e.py(code, args...)), args)

	many := slices.Repeat([]string{"x y", ""}, 2000)
	wantList(e, e.output(ctx, e.py(code, many...)), many)
}

// wantList compares a JSON list, in which a character stands for a byte, with a list.
func wantList(e *env, got string, want []string) {
	e.Helper()
	var list []string
	if err := json.Unmarshal([]byte(got), &list); err != nil {
		e.Fatalf("%v: %.200q", err, got)
	}
	for i, text := range list {
		list[i] = fromLatin1(text)
	}
	if len(list) != len(want) {
		e.Fatalf("%d entries, want %d", len(list), len(want))
	}
	for i := range want {
		if list[i] != want[i] {
			e.Errorf("%d: got %.200q, want %.200q", i, list[i], want[i])
		}
	}
}

func fromLatin1(text string) string {
	raw := make([]byte, 0, len(text))
	for _, char := range text {
		raw = append(raw, byte(char))
	}
	return string(raw)
}

func envExact(ctx context.Context, e *env) {
	cmd := e.py("import json,os;print(json.dumps([(k+b'='+v).decode('latin-1') for k,v in sorted(os.environb.items())]))")
	maps.Copy(cmd.Env, map[string]string{
		"SPACE": "a b  c ", "QUOTE": `"'\`, "LINES": "a\nb\n", "EQUALS": "a=b=", "EMPTY": "", "DOLLAR": "$PATH`id`",
		"UTF8": "日本é", "BYTES": "\xff\xfe", "lower.dot-dash": "1", "LONG": strings.Repeat("x", 100_000),
	})
	var want []string
	for name, value := range cmd.Env {
		want = append(want, name+"="+value)
	}
	slices.SortFunc(want, func(a, b string) int {
		return strings.Compare(strings.SplitN(a, "=", 2)[0], strings.SplitN(b, "=", 2)[0])
	})
	wantList(e, e.output(ctx, cmd), want)
}

func envEmpty(ctx context.Context, e *env) {
	for _, vars := range []map[string]string{nil, {}} {
		cmd := backend.Cmd{Args: []string{"/usr/bin/env"}, Env: vars}
		if got := e.output(ctx, cmd); got != "" {
			e.Errorf("something was added: %q", got)
		}
	}
}

func dirs(ctx context.Context, e *env) {
	odd := e.scratch("a dir/with 'quotes' é\n")
	e.put(ctx, odd+"/file", "", 0o600)
	for dir, want := range map[string]string{"": e.Info().Dir, "/": "/", odd: odd} {
		cmd := e.py("import os;print(os.path.samefile('.',os.sys.argv[1]))", want)
		cmd.Dir = dir
		if got := e.output(ctx, cmd); got != "True\n" {
			e.Errorf("Dir %q is not %q", dir, want)
		}
	}
}

func lookup(ctx context.Context, e *env) {
	bin := e.scratch("bin")
	e.put(ctx, bin+"/hx-prog", "#!/bin/sh\necho \"$0 $*\"\n", 0o755)
	for _, tc := range []struct{ program, dir, path string }{
		{"hx-prog", "", "/nonexistent:" + bin + ":/usr/bin:/bin"},
		{bin + "/hx-prog", "", "/usr/bin:/bin"},
		{"./hx-prog", bin, "/usr/bin:/bin"},
	} {
		cmd := backend.Cmd{Args: []string{tc.program, "1", "2"}, Dir: tc.dir, Env: e.vars("PATH=" + tc.path)}
		if got := e.output(ctx, cmd); !strings.HasSuffix(got, "hx-prog 1 2\n") {
			e.Errorf("%+v: got %q", tc, got)
		}
	}
}

// stdinToStdout (B130): stdin is the same on every backend.
func stdinToStdout(ctx context.Context, e *env) {
	data := pattern(1 << 20)
	cmd := e.py("import sys,shutil;sys.stderr.write('apart');shutil.copyfileobj(sys.stdin.buffer,sys.stdout.buffer)")
	cmd.Stdin = strings.NewReader(data)
	p := e.start(ctx, cmd)
	p.wait(ctx)
	if p.out.String() != data {
		e.Errorf("%d bytes came back changed as %d", len(data), len(p.out.String()))
	}
	if got := p.err.String(); got != "apart" {
		e.Errorf("stderr %q", got)
	}
	e.wantCounts(p, backend.Counts{Total: 1 << 20}, backend.Counts{Total: 5})
}

// pattern returns n bytes in which a part that is lost, doubled or moved shows.
func pattern(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(itoa(b.Len()))
		b.WriteByte(byte(b.Len()))
	}
	return b.String()[:n]
}

// wantCounts compares what Output tells.
func (e *env) wantCounts(p backend.Process, stdout, stderr backend.Counts) {
	e.Helper()
	if out, err := p.Output(); out != stdout || err != stderr {
		e.Errorf("counts %+v %+v, want %+v %+v", out, err, stdout, stderr)
	}
}

func stdinNil(ctx context.Context, e *env) {
	if got := e.output(ctx, e.py("import sys;print(repr(sys.stdin.read()))")); got != "''\n" {
		e.Errorf("read %s", got)
	}
}

func stdinBlocks(ctx context.Context, e *env) {
	r, w := io.Pipe()
	defer w.Close()
	cmd := e.py("import sys;print(sys.stdin.readline())")
	cmd.Stdin = r
	p := e.start(ctx, cmd)
	if _, err := io.WriteString(w, "a line\n"); err != nil {
		e.Fatal(err)
	}
	p.wait(ctx)
	if got := p.out.String(); got != "a line\n\n" {
		e.Errorf("got %q", got)
	}
}

// zeros is an endless reader that tells how much was read.
type zeros struct {
	mu sync.Mutex
	n  int64
}

func (z *zeros) Read(p []byte) (int, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.n += int64(len(p))
	clear(p)
	return len(p), nil
}

func (z *zeros) read() int64 {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.n
}

// stdinEndless: little is read for a process that reads little, and nothing for one that has ended. What
// is sent to one that has closed its stdin is dropped as fast as it comes.
func stdinEndless(ctx context.Context, e *env) {
	var endless *zeros
	start := func(code string) *proc {
		endless = &zeros{}
		cmd := e.py(code)
		cmd.Stdin = endless
		return e.start(ctx, cmd)
	}
	ended := func(what string) {
		read := endless.read()
		e.output(ctx, e.py("pass"))
		if late := endless.read() - read; late > 1<<20 {
			e.Errorf("%s: %d bytes were read after its end", what, late)
		}
	}
	p := start("import os,time;os.read(0,10);print('ready',flush=True);time.sleep(600)")
	p.await(ctx, "ready\n")
	if n := endless.read(); n > 64<<20 {
		e.Errorf("reads a little: %d bytes were read for it", n)
	}
	p.kill(ctx)
	ended("killed")
	start("pass").wait(ctx)
	ended("reads nothing")
	start("import os;os.close(0);print('ready',flush=True);os.system('sleep 0.1')").wait(ctx)
	ended("closes it")
}

func descriptors(ctx context.Context, e *env) {
	e.wantDescriptors(ctx, nil, "[0, 1, 2]\n")
}

func controlDescriptor(ctx context.Context, e *env) {
	near, far := duplex()
	defer far.Close()
	e.wantDescriptors(ctx, near, "[0, 1, 2, 3]\n")
}

// wantDescriptors has a process list its descriptors.
func (e *env) wantDescriptors(ctx context.Context, control io.ReadWriteCloser, want string) {
	e.Helper()
	// The listing itself has one descriptor, which is closed when it is looked up afterwards.
	cmd := e.py("import os;print([n for n in sorted(map(int,os.listdir('/proc/self/fd'))) if os.path.exists('/proc/self/fd/%d'%n)])")
	cmd.Control = control
	if got := e.output(ctx, cmd); got != want {
		e.Errorf("descriptors %q, want %q", got, want)
	}
}

func signalDefaults(ctx context.Context, e *env) {
	// Python ignores SIGPIPE for itself, cat does not.
	cmd := e.sh("exec cat /proc/self/status")
	for line := range strings.Lines(e.output(ctx, cmd)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "SigIgn" && name != "SigBlk" {
			continue
		}
		// 32 and 33 are the C library's own: its posix_spawn, which make uses, ignores them for what
		// it starts, and it lets nobody set them.
		const internal = 3 << 31
		set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		if err != nil || set&^internal != 0 {
			e.Errorf("%s is %s (%v)", name, value, err)
		}
	}
}

func ownSession(ctx context.Context, e *env) {
	code := "import os;print(os.getsid(0),os.getsid(os.getppid()))"
	first, second := e.output(ctx, e.py(code)), e.output(ctx, e.py(code))
	if first == "" || strings.Fields(first)[0] == strings.Fields(second)[0] {
		e.Errorf("two processes share a session: %q %q", first, second)
	}
}

// errSource is what failing readers and writers of the cases answer.
var errSource = errors.New("the source fails")
