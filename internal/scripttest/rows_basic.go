package scripttest

import (
	"strings"
	"testing"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/config"
)

func basicRows() []row {
	return []row{
		{name: "P7 print", code: "print('hello')", want: want{output: new("hello\n")}},
		{name: "B002 nothing is printed", code: "x = 1", want: want{output: new("")}},
		{name: "P49 prints in order", code: "for i in range(5): print(i)", want: want{output: new("0\n1\n2\n3\n4\n")}},
		{name: "no final newline", code: "print('x', end='')", want: want{output: new("x")}},
		{name: "B097 the script's own status", code: "import sys; print('x'); sys.exit(125)", want: want{
			status: hermes.Failure, kind: hermes.KindScript, code: 125, output: new("x\n"), errorHas: []string{"Script exited with code 125"},
		}},
		{name: "exit n is n and 255", code: "import sys; sys.exit(257)", want: want{
			status: hermes.Failure, kind: hermes.KindScript, code: 1, errorHas: []string{"Script exited with code 1"},
		}},
		{name: "exit with a text", code: "import sys; sys.exit('no luck')", want: want{
			status: hermes.Failure, kind: hermes.KindScript, code: 1, output: new("\n--- stderr ---\nno luck\n"), errorHas: []string{"no luck"},
		}},
		{name: "P12 an exception after prints", code: "print('before')\nraise ValueError('boom')", want: want{
			status: hermes.Failure, kind: hermes.KindScript, code: 1,
			outputHas: []string{"before\n\n--- stderr ---\nTraceback", "raise ValueError('boom')"}, errorHas: []string{"ValueError: boom"},
		}},
		{name: "P45 a syntax error", code: "def f(:\n", want: fails("SyntaxError", "line 1")},
		{name: "P46 a runtime exception", code: "[][1]", want: fails("IndexError")},
		{name: "source that is not UTF-8", code: "print('\xff')", want: fails("SyntaxError", "UTF-8")},
		{name: "P48 P27 no code", code: "", local: true, want: want{
			status: hermes.Failure, kind: hermes.KindUsage, code: -1000, errorHas: []string{"No code provided.", "`code`", "required"},
		}},
		{name: "P67 blank code", code: " \n\t\n", want: want{
			status: hermes.Failure, kind: hermes.KindUsage, code: -1000, errorHas: []string{"No code provided."},
		}},
		{name: "a NUL in the source", code: "a = 1\nb = '\x00'\n", want: want{
			status: hermes.Failure, kind: hermes.KindUsage, code: -1000, errorHas: []string{"line 2", "NUL"},
		}},
		{name: "a crash", code: "import os, signal\nprint('on', flush=True)\nos.kill(os.getpid(), signal.SIGSEGV)", want: want{
			status: hermes.Failure, kind: hermes.KindSignal, code: -11, output: new("on\n"), errorHas: []string{"signal 11 (SIGSEGV)"},
		}},
		{name: "B129 stdin is empty", code: "try:\n    input()\nexcept EOFError:\n    print('EOF')", want: want{output: new("EOF\n")}},
		{name: "B130 stdin is what was given", code: "import sys; print(sys.stdin.read())", stdin: "ünï\n", want: want{output: new("ünï\n\n")}},
		{name: "arguments", code: "import sys; print(sys.argv[1:])", args: []string{"a b", "--x", ""}, want: want{output: new("['a b', '--x', '']\n")}},
		{name: "B042 asyncio", code: "import asyncio\nasync def f():\n    return 1\nprint(asyncio.run(f()))", want: want{output: new("1\n")}},
		{
			name: "B020 a child in the background", code: "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\nprint('done')",
			want: want{output: new("done\n")},
		},
		{name: "B075 a long script", code: "s = '''" + strings.Repeat("x", 300<<10) + "'''\nprint(len(s))", want: want{output: new("307200\n")}},
		{name: "P105 project mode is in the directory", code: "import os; print(os.getcwd())", local: true, check: func(t *testing.T, r *hermes.Result) {
			if strings.Contains(r.Output, "hermes_sandbox_") {
				t.Errorf("in %s", r.Output)
			}
		}},
		{
			name: "P104 P91 strict mode is in a private directory", code: "import os; print(os.path.basename(os.getcwd()), oct(os.stat('.').st_mode))",
			settings: strict, want: want{outputHas: []string{"hermes_sandbox_", " 0o40700\n"}},
		},
		{
			name: "P108 the tools can be imported in strict mode, wherever", code: "import os; os.chdir('/')\nimport hermes_tools; print(hermes_tools.json_parse('[1]'))",
			settings: strict, want: want{output: new("[1]\n")},
		},
		{
			name: "P108 the tools can be imported in project mode, wherever", code: "import os; os.chdir('/')\nimport hermes_tools; print(hermes_tools.json_parse('[1]'))",
			want: want{output: new("[1]\n")},
		},
		{
			name: "the directory is on sys.path", code: "open('my_own_module.py', 'w').write('x = 5')\nimport my_own_module; print(my_own_module.x)",
			want: want{output: new("5\n")},
		},
		{
			name: "modules of ours may be shadowed", code: "open('struct.py', 'w').write('x = 5')\nopen('socket.py', 'w').write('raise Exception')\nopen('json.py', 'w').write('')\n" +
				"import sys, os\nsys.path.insert(0, os.getcwd())\nimport json\nfrom hermes_tools import terminal\nprint(terminal('echo hi')['output'])",
			settings: func(*config.Settings) {}, want: want{output: new("hi\n\n"), made: 1},
		},
	}
}

func strict(s *config.Settings) { s.Mode = config.Strict }

func outputRows() []row {
	return []row{
		{name: "B052 any script", code: "print('Ελλάδα 中文 🎉')", want: want{output: new("Ελλάδα 中文 🎉\n")}},
		{name: "B053 a lone surrogate", code: "import sys\nsys.stdout.buffer.write('a\\ud800b'.encode('utf-8', 'surrogatepass'))", want: want{output: new("a\ufffd\ufffd\ufffdb")}},
		{name: "bytes that are no text", code: "import sys\nsys.stdout.buffer.write(b'a\\xffb\\0')", want: want{output: new("a\ufffdb\x00")}},
		{name: "colours are stripped", code: "print('\\x1b[31mred\\x1b[0m')", want: want{output: new("red\n")}},
		{
			name: "P132 what a child prints", code: "import os, subprocess, sys\nprint('a', flush=True)\nos.system('echo b')\nos.write(1, b'c\\n')\nsubprocess.run(['echo', 'd'])",
			want: want{output: new("a\nb\nc\nd\n")},
		},
		{name: "stderr of a success is not in the output", code: "import sys\nprint('out')\nprint('err', file=sys.stderr)", want: want{output: new("out\n")}},
		{
			name: "B001 P70 P71 P80 P201 a long output", code: "print('HEAD')\nfor i in range(20000): print('line', i)\nprint('TAIL')", check: longOutput,
			want: want{outputHas: []string{"OUTPUT TRUNCATED", "HEAD\n", "\nTAIL\n"}, warningHas: []string{"truncated", "read_file"}},
		},
		{name: "P209 exactly the budget", code: "print('x' * 70000, end='')", check: func(t *testing.T, r *hermes.Result) {
			if strings.Count(r.Output, "x") != 50000 || r.StdoutOmitted != 20000 {
				t.Errorf("%d shown, %d omitted", strings.Count(r.Output, "x"), r.StdoutOmitted)
			}
		}},
		{name: "P34 P202 a short output has no notice and no file", code: "print('x' * 40000)", check: func(t *testing.T, r *hermes.Result) {
			if r.StdoutTruncated || r.StdoutSpillPath != "" || r.Warning != "" {
				t.Errorf("truncated: %q, %q", r.StdoutSpillPath, r.Warning)
			}
		}},
		{
			name: "P205 a spill that ends early", code: "print('é' * 3000, end='')", settings: func(s *config.Settings) { s.MaxStdout, s.MaxSpill = 100, 1001 },
			check: func(t *testing.T, r *hermes.Result) {
				if data := spill(t, r); data != strings.Repeat("é", 500) || !*r.StdoutSpillTruncated {
					t.Errorf("spill of %d bytes", len(data))
				}
			},
		},
		{name: "B004 a flood", code: "import sys\nfor i in range(2000): sys.stdout.write('0123456789abcdef' * 4096)", check: func(t *testing.T, r *hermes.Result) {
			if r.StdoutTotal != 2000<<16 || r.StdoutCaptured != 50000 || r.StdoutCaptured+r.StdoutOmitted != r.StdoutTotal || !*r.StdoutSpillTruncated {
				t.Errorf("%d = %d + %d", r.StdoutTotal, r.StdoutCaptured, r.StdoutOmitted)
			}
			if data := spill(t, r); len(data) != 5_000_000 {
				t.Errorf("spill of %d bytes", len(data))
			}
		}},
		{name: "stderr has its own limit", code: "import sys\nsys.stderr.write('e' * 20000)\nsys.exit(2)", want: want{
			status: hermes.Failure, kind: hermes.KindScript, code: 2, outputHas: []string{"STDERR TRUNCATED - 10000 bytes omitted out of 20000"},
			warningHas: []string{"stderr was truncated"},
		}},
		{
			name: "P50 B006 B007 B029 a timeout", code: "import time\nprint('step-1')\ntime.sleep(600)", settings: func(s *config.Settings) { s.Timeout = 3 * time.Second },
			want: want{
				status: hermes.Timeout, kind: hermes.KindTimeout, code: -15, output: new("step-1\n\n⏰ Script timed out after 3s and was killed."),
				errorHas: []string{"Script timed out after 3s and was killed."},
			},
		},
		{
			name: "B031 a timeout that is ignored", code: "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('on')\nwhile True: time.sleep(1)",
			settings: func(s *config.Settings) { s.Timeout, s.KillGrace = 3*time.Second, 200*time.Millisecond },
			want:     want{status: hermes.Timeout, kind: hermes.KindTimeout, code: -9, outputHas: []string{"on\n", "⏰"}},
		},
	}
}

// longOutput checks the counts of a truncated output and its spill.
func longOutput(t *testing.T, r *hermes.Result) {
	t.Helper()
	if !r.StdoutTruncated || r.StdoutCaptured != 50000 || r.StdoutTotal != r.StdoutCaptured+r.StdoutOmitted || r.StdoutTotal < 200000 {
		t.Errorf("truncated %v: %d = %d + %d", r.StdoutTruncated, r.StdoutTotal, r.StdoutCaptured, r.StdoutOmitted)
	}
	data := spill(t, r)
	if int64(len(data)) != r.StdoutTotal || !strings.Contains(data, "\nline 10000\n") || *r.StdoutSpillTruncated {
		t.Errorf("spill of %d bytes", len(data))
	}
	if !strings.Contains(r.Warning, r.StdoutSpillPath) {
		t.Errorf("the warning does not name the spill: %s", r.Warning)
	}
}
