package kerneltest

import (
	"context"
	"fmt"
	"strings"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/kernel"
)

func exitCases() []testCase {
	return []testCase{
		{"status 0", func(ctx context.Context, e *env) { e.want(e.cell(ctx, "x = 1"), 0, "") }},
		{"status 3", func(ctx context.Context, e *env) { e.want(e.cell(ctx, "import sys; sys.exit(3)"), 3, "") }},
		{"status n and 255", func(ctx context.Context, e *env) { e.want(e.cell(ctx, "import sys; sys.exit(256 + 7)"), 7, "") }},
		{"exit with a text is 1", func(ctx context.Context, e *env) {
			d := e.cell(ctx, "import sys; sys.exit('no luck')")
			e.want(d, 1, "")
			e.wantStderr(d, "no luck\n")
		}},
		{"exit without an argument is 0", func(ctx context.Context, e *env) { e.want(e.cell(ctx, "raise SystemExit"), 0, "") }},
		{"a kernel tells who ended the cell", func(ctx context.Context, e *env) {
			for code, exited := range map[string]bool{"import sys; sys.exit(1)": true, "raise SystemExit": true, "1/0": false, "x = 1": false} {
				if d := e.cell(ctx, code); d.Outcome == nil || d.Exited != (exited && !e.config.Fresh) {
					e.Errorf("%s: %+v, %v", code, d.Outcome, d.err)
				}
			}
		}},
		{"exception", func(ctx context.Context, e *env) {
			d := e.cell(ctx, "print('before')\ndef f():\n    return 1/0  # here\nf()\n")
			e.want(d, 1, "before\n")
			e.wantStderr(d, "Traceback", "return 1/0  # here", "ZeroDivisionError")
		}},
		{"syntax error", func(ctx context.Context, e *env) {
			d := e.cell(ctx, "def f(:\n")
			e.want(d, 1, "")
			e.wantStderr(d, "SyntaxError")
		}},
		{"syntax error that is found after parsing", func(ctx context.Context, e *env) {
			d := e.cell(ctx, "x = 1\nreturn x  # here\n")
			e.want(d, 1, "")
			e.wantStderr(d, "line 2\n    return x  # here\n    ^", "SyntaxError: 'return' outside function")
		}},
		{"killed", func(ctx context.Context, e *env) {
			d := e.cell(ctx, "import os, signal\nprint('on')\nos.kill(os.getpid(), signal.SIGKILL)")
			if d.Outcome == nil || d.Exit == nil || d.Exit.Signal != backend.Kill || d.stdout != "on\n" {
				e.Errorf("got %+v, %v, %q", d.Outcome, d.err, d.stdout)
			}
		}},
	}
}

func printCases() []testCase {
	return []testCase{
		{"P49 in order", func(ctx context.Context, e *env) {
			e.want(e.cell(ctx, "for i in range(100): print(i)"), 0, numbers(100))
		}},
		{"P132 below Python", func(ctx context.Context, e *env) {
			e.want(e.cell(ctx, "import os, subprocess, sys\nprint('py')\nsys.stdout.flush()\nos.write(1, b'raw\\n')\n"+
				"os.system('echo shell')\nsubprocess.run([sys.executable, '-c', 'print(\"child\")'])\nprint('end')"),
				0, "py\nraw\nshell\nchild\nend\n")
		}},
		{"bytes are not touched", func(ctx context.Context, e *env) {
			d := e.cell(ctx, "import sys\nsys.stdout.buffer.write(bytes(range(256)))")
			if len(d.stdout) != 256 || d.stdout[255] != 255 {
				e.Errorf("got %q", d.stdout)
			}
		}},
		{"B052 any script, whatever the locale", func(ctx context.Context, e *env) {
			e.want(e.cell(ctx, "print('Ελλάδα 中文 🎉')"), 0, "Ελλάδα 中文 🎉\n")
		}},
		{"streams apart", func(ctx context.Context, e *env) {
			d := e.cell(ctx, "import sys\nfor i in range(20): print(i); print(i, file=sys.stderr)")
			e.want(d, 0, numbers(20))
			if d.stderr != numbers(20) {
				e.Errorf("stderr: %q", d.stderr)
			}
		}},
		{"Keep bounds what crosses", func(ctx context.Context, e *env) {
			d := e.exec(ctx, kernel.Cell{
				Code: []byte("import sys\nsys.stdout.write('a' * 100 + 'b' * 10**7 + 'c' * 100)"),
				Keep: &backend.Keep{Head: 100, Tail: 100},
			})
			e.want(d, 0, strings.Repeat("a", 100)+strings.Repeat("c", 100))
			if d.Outcome != nil && (d.Stdout != backend.Counts{Total: 1e7 + 200, Omitted: 1e7}) {
				e.Errorf("counts %+v", d.Stdout)
			}
		}},
		{"B020 a child in the background does not delay the end", func(ctx context.Context, e *env) {
			e.want(e.cell(ctx, "import subprocess, sys\n"+
				"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\nprint('done')"), 0, "done\n")
		}},
	}
}

func inputCases() []testCase {
	return []testCase{
		{"B129 stdin is empty", func(ctx context.Context, e *env) {
			d := e.cell(ctx, "input('name? ')")
			e.want(d, 1, "name? ")
			e.wantStderr(d, "EOFError")
		}},
		{"arguments", func(ctx context.Context, e *env) {
			e.want(e.exec(ctx, kernel.Cell{Code: []byte("import sys; print(sys.argv[1:])"), Args: []string{"-x", "a b", "", "ü"}}),
				0, "['-x', 'a b', '', 'ü']\n")
		}},
		{"the script is what __file__ names", func(ctx context.Context, e *env) {
			e.want(e.cell(ctx, "import os, sys; print(sys.argv[0] == __file__, os.path.isfile(__file__))"), 0, "True True\n")
		}},
		{"variables are those of one cell", func(ctx context.Context, e *env) {
			const code = "import os, subprocess, sys\nfor n in 'AB': print(os.environ.get(n))\n" +
				"subprocess.run([sys.executable, '-c', 'import os; print(os.environ.get(\"A\"))'])"
			e.want(e.exec(ctx, kernel.Cell{Code: []byte(code), Env: map[string]string{"A": "a=ü\n", "B": ""}}), 0, "a=ü\n\n\na=ü\n\n")
			e.want(e.exec(ctx, kernel.Cell{Code: []byte(code), Env: map[string]string{"B": "b"}}), 0, "None\nb\nNone\n")
			e.want(e.cell(ctx, code), 0, "None\nNone\nNone\n")
		}},
		{"directory", func(ctx context.Context, e *env) {
			e.open(0)
			if err := e.backend.Put(ctx, "sub dir/x", strings.NewReader(""), 0); err != nil {
				e.Fatal(err)
			}
			e.want(e.exec(ctx, kernel.Cell{Code: []byte("import os; print(os.listdir('.'))"), Dir: e.backend.Info().Dir + "/sub dir"}), 0, "['x']\n")
		}},
		{"B075 a script of 5 MB", func(ctx context.Context, e *env) {
			code := "s = '''" + strings.Repeat("0123456789abcde\n", 5<<20/16) + "'''\nprint(len(s))\n"
			e.want(e.cell(ctx, code), 0, fmt.Sprintln(5<<20))
		}},
		{"source that is not UTF-8", func(ctx context.Context, e *env) {
			d := e.cell(ctx, "x = 1\n\nprint('\xff')\n")
			e.want(d, 1, "")
			e.wantStderr(d, "SyntaxError: Non-UTF-8 code starting with '\\xff' in ", ", but no encoding declared")
		}},
		{"source in its own encoding", func(ctx context.Context, e *env) {
			e.want(e.cell(ctx, "# coding: latin-1\nprint('\xe9')\n"), 0, "é\n")
		}},
	}
}

func pythonCases() []testCase {
	return []testCase{
		{"a real __main__", func(ctx context.Context, e *env) {
			e.want(e.cell(ctx, `import inspect, pickle, sys
class C:
    def m(self):
        return 1  # source
print(__name__, sys.modules['__main__'].C is C, pickle.loads(pickle.dumps(C())).m(), '# source' in inspect.getsource(C))
`), 0, "__main__ True 1 True\n")
		}},
		{"B042 asyncio.run", func(ctx context.Context, e *env) {
			e.want(e.cell(ctx, "import asyncio\nasync def f(): return 7\nprint(asyncio.run(f()))"), 0, "7\n")
		}},
		{"multiprocessing", func(ctx context.Context, e *env) {
			e.want(e.cell(ctx, `import multiprocessing
def double(n):
    return 2 * n
if __name__ == '__main__':
    for method in 'fork', 'forkserver', 'spawn':
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(double, [1, 2, 3]), flush=True)
`), 0, "fork [2, 4, 6]\nforkserver [2, 4, 6]\nspawn [2, 4, 6]\n")
		}},
		{"sys.stdout is a file", func(ctx context.Context, e *env) {
			e.want(e.cell(ctx, "import os, sys\nos.write(sys.stdout.fileno(), b'x\\n')"), 0, "x\n")
		}},
	}
}

func stateCases(fresh bool) []testCase {
	if !fresh {
		return []testCase{
			{"names stay", func(ctx context.Context, e *env) {
				e.want(e.cell(ctx, "x = 41"), 0, "")
				e.want(e.cell(ctx, "print(x + 1)"), 0, "42\n")
			}},
			{"each cell has its own script", func(ctx context.Context, e *env) {
				const look = "import sys; print(sys.argv)"
				e.want(e.exec(ctx, kernel.Cell{Code: []byte(look), Script: "a b/job.py", Args: []string{"x"}}), 0, "['a b/job.py', 'x']\n")
				e.want(e.cell(ctx, "print(sys.argv == [__file__])"), 0, "True\n")
			}},
			{"descriptors do not stay as a cell has left them", func(ctx context.Context, e *env) {
				const look = "import os, sys\nprint('py')\nos.write(1, b'raw\\n')\nos.system('echo sub')\nprint(repr(sys.stdin.read()), file=sys.stderr)"
				for _, code := range []string{
					"import os; os.closerange(0, 3)", "import os; os.dup2(os.open(os.devnull, os.O_RDWR), 1); os.dup2(1, 2)",
					"import os; os.set_blocking(1, False); os.set_blocking(2, False)",
					"import sys; sys.stdin.close(); sys.stdout.close(); sys.stderr.close()", "exit()",
				} {
					e.want(e.cell(ctx, code), 0, "")
					d := e.cell(ctx, look)
					e.want(d, 0, "py\nraw\nsub\n")
					if d.stderr != "''\n" {
						e.Errorf("after %s: stderr %q", code, d.stderr)
					}
				}
			}},
		}
	}
	return []testCase{{"names do not stay", func(ctx context.Context, e *env) {
		e.want(e.cell(ctx, "x = 41"), 0, "")
		d := e.cell(ctx, "print(x + 1)")
		e.want(d, 1, "")
		e.wantStderr(d, "NameError")
	}}}
}

// numbers are the lines 0 to n−1.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}
