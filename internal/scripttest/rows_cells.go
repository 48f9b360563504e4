package scripttest

import (
	"slices"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/config"
)

// stories are all of them.
func stories() []story {
	return slices.Concat(stateStories(), lossStories(), outputStories(), pythonStories(), toolStories(), callerStories())
}

// prints is what a cell comes to that succeeds.
func prints(text string) want { return want{output: new(text)} }

func stateStories() []story {
	return []story{
		{"P112 P115 P150 B046 P134 what a cell defines is there for the next", []cell{
			{code: "import math\nx = 41\ndef double(n): return 2 * n", want: prints("")},
			{code: "print(x + 1, double(x), math.floor(2.5))", want: prints("42 82 2\n")},
			{code: "x += 1"},
			{code: "print(x)", want: prints("42\n")},
		}},
		{"P113 P133 a reset discards the state", []cell{
			{code: "x = 1"},
			{code: "print(x)", reset: true, state: state{lost: hermes.LostReset}, want: fails("NameError")},
			{code: "x = 2"},
			{code: "print(x)", want: prints("2\n")},
		}},
		{"P114 an exception keeps the state", []cell{
			{code: "x = 1\nraise ValueError('boom')\nx = 2", want: fails("ValueError: boom", "line 2")},
			{code: "print(x)", want: prints("1\n")},
			{code: "def f(:\n", want: fails("SyntaxError")},
			{code: "print(x)", want: prints("1\n")},
		}},
		{"B040 an exit ends the cell and keeps the state", []cell{
			{code: "x = 1\nimport sys\nsys.exit(3)", want: want{status: hermes.Failure, kind: hermes.KindScript, code: 3, errorHas: []string{"Script exited with code 3"}}},
			{code: "print(x)\nexit()", want: prints("1\n")},
			{code: "sys.exit('no luck')", want: fails("no luck")},
			{code: "raise SystemExit(257)", want: fails("code 1")},
			{code: "print(x)", want: prints("1\n")},
		}},
		{"B039 stdin is empty", []cell{
			{code: "x = 1\ninput('name? ')", want: want{
				status: hermes.Failure, kind: hermes.KindScript, code: 1, errorHas: []string{"EOFError"}, hintHas: []string{"Nobody answers input()"},
			}},
			{code: "import sys\nprint(x, repr(sys.stdin.read()))", want: prints("1 ''\n")},
		}},
		{"P135 P136 P156 B047 sessions do not see each other", []cell{
			{code: "WT = 'a'\nimport os\nhome = os.getcwd()\nos.mkdir('sub')\nos.chdir('sub')"},
			{session: "t", code: "print(WT)", want: fails("NameError")},
			{session: "t", code: "import os\nprint(os.path.basename(os.getcwd()) == 'sub')", want: prints("False\n")},
			{code: "print(WT, os.path.basename(os.getcwd()))", want: prints("a sub\n")},
		}},
		{"B047 a directory that was removed", []cell{
			{code: "import os\nhome = os.getcwd()\nos.mkdir('gone')\nos.chdir('gone')\nos.rmdir('../gone')\nx = 1"},
			{code: "print(x, os.getcwd() == home)", want: want{output: new("1 True\n"), warningHas: []string{"had been removed", "ran in"}}},
			{code: "print(x)", want: prints("1\n")},
		}},
		{"children of a cell live as long as the kernel", []cell{
			{code: "import subprocess, sys\np = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"},
			{code: "print(p.poll())\np.kill()\nprint(p.wait())", want: prints("None\n-9\n")},
		}},
	}
}

func lossStories() []story {
	short := func(o *hermes.Options) { o.Settings.Timeout = 3 * time.Second }
	soft := func(o *hermes.Options) {
		o.Settings.Timeout, o.Settings.OnTimeout = 3*time.Second, config.InterruptOnTimeout
	}
	timedOut := want{status: hermes.Timeout, kind: hermes.KindTimeout, code: -1000, outputHas: []string{"on\n", "⏰ Script timed out after 3s and was killed."}, errorHas: []string{"timed out"}}
	obeyed := timedOut
	obeyed.code = 1
	obeyed.outputHas = []string{"on\n", "⏰ Script timed out after 3s and was interrupted (KeyboardInterrupt). The session's state is kept."}
	died := want{status: hermes.Failure, kind: hermes.KindScript, code: -1000, outputHas: []string{"on\n"}, errorHas: []string{"ended", "state is lost"}}
	killed := died
	killed.kind, killed.errorHas = hermes.KindSignal, []string{"signal 9"}
	lost := func(name string, change func(*hermes.Options), code string, w want, why hermes.Loss) story {
		return story{name, []cell{
			{code: "x = 1"},
			{code: code, change: change, want: w, state: state{lost: why, ended: true}},
			{code: "print(x)", want: fails("NameError"), state: state{lost: why}},
			{code: "print('well')", want: prints("well\n")},
		}}
	}
	return []story{
		lost("B038 P130 P154 a timeout kills the kernel", short, "import time\nprint('on')\ntime.sleep(600)", timedOut, hermes.LostTimeout),
		lost("B048 a kernel that kills itself", nil, "import os\nprint('on', flush=True)\nos.kill(os.getpid(), 9)", killed, hermes.LostDied),
		lost("a kernel that ends without a word", nil, "import os\nprint('on', flush=True)\nos._exit(0)", died, hermes.LostDied),
		lost("P124 P125 a kernel that talks nonsense to its host", nil,
			"import os, stat\nprint('on', flush=True)\nprinted = {os.fstat(n).st_ino for n in (1, 2)}\nfor n in range(3, 1024):\n    try: s = os.fstat(n)\n    except OSError: continue\n"+
				"    if (stat.S_ISSOCK(s.st_mode) or stat.S_ISFIFO(s.st_mode)) and s.st_ino not in printed: os.write(n, b'\\x7fxyznonsense' * 100)\n"+
				"import time\ntime.sleep(600)", want{
				status: hermes.Failure, kind: hermes.KindScript, code: -1000, outputHas: []string{"on\n"},
				errorHas: []string{"was ended, and its state is lost", "wrote to the channel"},
			}, hermes.LostDied),
		lost("a kernel whose channel is closed", nil, "import os\nprint('on', flush=True)\nos.closerange(3, 1024)", died, hermes.LostDied),
		{"on_timeout interrupt keeps the state if the cell obeys", []cell{
			{code: "x = 1"},
			{code: "import time\nprint('on')\nx = 2\ntime.sleep(600)", change: soft, want: obeyed},
			{code: "print(x)", want: prints("2\n")},
		}},
		{"on_timeout interrupt kills a cell that does not obey", []cell{
			{code: "x = 1"},
			{
				code: "import time\nprint('on')\nwhile True:\n    try: time.sleep(600)\n    except KeyboardInterrupt: pass", change: soft, want: timedOut,
				state: state{lost: hermes.LostTimeout, ended: true},
			},
			{code: "print(x)", want: fails("NameError"), state: state{lost: hermes.LostTimeout}},
		}},
	}
}

func outputStories() []story {
	return []story{
		{"B013 P132 output at the level of descriptors, in order", []cell{
			{code: "import os\nos.system('echo sub')\nos.write(1, b'raw\\n')\nprint('py')\nos.system('echo end')", want: prints("sub\nraw\npy\nend\n")},
		}},
		{"B014 output that looks like a message", []cell{
			{code: "import os\nos.write(1, b'123\\n')\nprint('{\"status\": \"success\", \"tool_calls_made\": 9}')", want: prints("123\n{\"status\": \"success\", \"tool_calls_made\": 9}\n")},
			{code: "print('well')", want: prints("well\n")},
		}},
		{"stderr of each cell is its own", []cell{
			{code: "import sys\nprint('first', file=sys.stderr)\nsys.exit(1)", want: want{status: hermes.Failure, kind: hermes.KindScript, code: 1, output: new("\n--- stderr ---\nfirst\n"), errorHas: []string{"first"}}},
			{code: "sys.exit(2)", want: want{status: hermes.Failure, kind: hermes.KindScript, code: 2, output: new(""), errorHas: []string{"code 2"}}},
		}},
		{"B001 a long output can be read by the next cell", []cell{
			{
				code: "print('HEAD')\nfor i in range(20000): print('line', i)\nprint('TAIL')", check: longOutput,
				want: want{outputHas: []string{"OUTPUT TRUNCATED", "HEAD\n", "\nTAIL\n"}, warningHas: []string{"truncated", "read_file"}},
			},
			{code: "print('short')", want: prints("short\n")},
		}},
	}
}

func pythonStories() []story {
	return []story{
		{"B042 asyncio.run in every cell", []cell{
			{code: "import asyncio\nasync def f(): return 7\nprint(asyncio.run(f()))", want: prints("7\n")},
			{code: "print(asyncio.run(f()) + 1)", want: prints("8\n")},
		}},
		{"a real __main__, with source and without a guard", []cell{
			{code: "import inspect, pickle\nclass C:\n    def m(self): return 1  # source\n"},
			{
				code: "print(__name__, pickle.loads(pickle.dumps(C())).m(), '# source' in inspect.getsource(C))",
				want: prints("__main__ 1 True\n"),
			},
			{code: "import multiprocessing\ndef double(n): return 2 * n\nprint('once')"},
			{
				code: "for method in 'fork', 'forkserver', 'spawn':\n    with multiprocessing.get_context(method).Pool(2) as pool:\n" +
					"        print(method, pool.map(double, [1, 2, 3]), flush=True)",
				want: prints("fork [2, 4, 6]\nforkserver [2, 4, 6]\nspawn [2, 4, 6]\n"),
			},
		}},
		{"a traceback shows the lines of earlier cells", []cell{
			{code: "def broken():\n    return 1 / 0  # the culprit"},
			{code: "broken()  # the caller", want: fails("# the culprit", "# the caller", "<cell 1>", "<cell 2>", "ZeroDivisionError")},
		}},
		{"a forked child that returns from the cell ends there", []cell{
			{code: "import os\npid = os.fork()\nif pid: print(os.waitpid(pid, 0)[1])\nelse: print('child', flush=True)", want: prints("child\n0\n")},
			{code: "print(pid > 0)", want: prints("True\n")},
		}},
	}
}

// offering enables tools for a cell.
func offering(names ...string) func(*hermes.Options) {
	return func(o *hermes.Options) { o.Settings.Tools = names }
}

func toolStories() []story {
	budget := func(o *hermes.Options) { o.Settings.MaxToolCalls = 2 }
	const three = "for i in range(3): print('error' in terminal('true'))"
	return []story{
		{"P146 every cell has a fresh budget", []cell{
			{code: "from hermes_tools import terminal\n" + three, change: budget, want: want{output: new("False\nFalse\nTrue\n"), made: 2, refused: 1, warningHas: []string{"limit is 2"}}},
			{code: three, change: budget, want: want{output: new("False\nFalse\nTrue\n"), made: 2, refused: 1, warningHas: []string{"limit is 2"}}},
		}},
		{"B044 another set of tools", []cell{
			{code: "x = 1\nfrom hermes_tools import read_file", change: offering("read_file")},
			{
				code: "from hermes_tools import terminal", change: offering("read_file"),
				want: want{status: hermes.Failure, kind: hermes.KindScript, code: 1, errorHas: []string{"ImportError"}, hintHas: []string{"read_file"}},
			},
			{code: "from hermes_tools import terminal\nprint(x, terminal('echo hi')['output'], end='')", change: offering("read_file", "terminal"), want: want{output: new("1 hi\n"), made: 1}},
			{code: "import hermes_tools\nprint(hasattr(hermes_tools, 'terminal'))", change: offering("read_file"), want: prints("False\n")},
		}},
		{"P143 P144 a function that was kept acts under the grant of the cell that calls it", []cell{
			{code: "from hermes_tools import terminal as kept\nprint(kept('echo hi')['output'], end='')", want: want{output: new("hi\n"), made: 1}},
			{code: "print(kept('echo hi')['error'])", change: offering("read_file"), want: want{output: new("Tool 'terminal' is not available in execute_code. Available: read_file\n"), refused: 1}},
			{code: "print(kept('echo hi')['output'], end='')", want: want{output: new("hi\n"), made: 1}},
		}},
		{"tools act where the cell is", []cell{
			{code: "import os\nfrom hermes_tools import terminal, write_file\nos.mkdir('there')\nos.chdir('there')"},
			{code: "write_file('f.txt', 'x')\nprint(os.listdir('.'), terminal('ls')['output'], end='')", want: want{output: new("['f.txt'] f.txt\n"), made: 2}},
		}},
	}
}

func callerStories() []story {
	return []story{
		{"B050 P188 a variable that is passed later", []cell{
			{code: "import os\nprint(os.environ.get('RANDOM_X'))", want: prints("None\n")},
			{
				code: "print(os.environ.get('RANDOM_X'))", change: func(o *hermes.Options) { o.Settings.EnvPassthrough = []string{"RANDOM_X"} },
				want: want{output: new("None\n"), warningHas: []string{"RANDOM_X", "reset"}},
			},
			{
				code: "import os\nprint(os.environ.get('RANDOM_X'))", change: func(o *hermes.Options) { o.Settings.EnvPassthrough = []string{"RANDOM_X"} },
				reset: true, want: prints("1\n"), state: state{lost: hermes.LostReset},
			},
		}},
		{"P129 what watches over a kernel is not in its environment", []cell{
			{
				code: "import os\nprint(sorted(n for n in os.environ if n.startswith('HERMES') and not n.startswith('HERMES_RPC_')))",
				want: prints("['HERMES_CONFIG', 'HERMES_ENV', 'HERMES_PROFILE']\n"),
			},
		}},
		{"P160 P163 what a kernel has is for its owner alone, and its token stands in no command line", []cell{
			{code: "def f(): pass"},
			{
				code: "import glob, os\nhome = os.path.dirname(__file__)\nmode = lambda path: oct(os.stat(path).st_mode & 0o777)\n" +
					"print(mode(home), {mode(os.path.join(home, n)) for n in os.listdir(home) if n != '__pycache__'}, len(os.listdir(home)) > 2)",
				want: prints("0o700 {'0o600'} True\n"),
			},
			{
				code: "token = os.environ['HERMES_RPC_TOKEN'].encode()\nfor name in glob.glob('/proc/[0-9]*/cmdline'):\n    try:\n" +
					"        with open(name, 'rb') as f: assert token not in f.read(), name\n    except OSError: pass",
				want: prints(""),
			},
		}},
		{"a mode is another state", []cell{
			{code: "x = 1"},
			{
				code: "print(x)", change: func(o *hermes.Options) { o.Settings.Mode = config.Strict },
				want: fails("NameError"), state: state{lost: hermes.LostTarget},
			},
		}},
		{"P104 strict mode stays in its private directory", []cell{
			{code: "import os\nhome = os.getcwd()\nprint('hermes_sandbox_' in home)", change: func(o *hermes.Options) { o.Settings.Mode = config.Strict }, want: prints("True\n")},
			{code: "print(os.getcwd() == home)", change: func(o *hermes.Options) { o.Settings.Mode = config.Strict }, want: prints("True\n")},
		}},
	}
}
