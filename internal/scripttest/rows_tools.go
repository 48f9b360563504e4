package scripttest

import (
	"os"
	"strings"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/config"
)

// spill reads the file with the full text of a result.
func spill(t *testing.T, r *hermes.Result) string {
	t.Helper()
	if r.StdoutSpillPath == "" || r.StdoutSpillTruncated == nil {
		t.Fatalf("no spill: %s", r.Warning)
	}
	data, err := os.ReadFile(r.StdoutSpillPath)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func environRows() []row {
	secret := strings.Fields("OPENAI_API_KEY ANTHROPIC_API_KEY FIRECRAWL_API_KEY GITHUB_TOKEN MODAL_TOKEN_ID MODAL_TOKEN_SECRET " +
		"DB_PASSWORD MY_PASSWD AUTH_CREDENTIAL aws_secret AWS_ACCESS_ID SENTRY_DSN SLACK_WEBHOOK DATABASE_URL LC_URL TENOR_API_KEY " +
		"AUXILIARY_VISION_API_KEY HERMES_BASE_URL HERMES_INTERACTIVE HERMES_KANBAN_DB RANDOM_X")
	kept := strings.Fields("PATH HOME HERMES_PROFILE HERMES_CONFIG HERMES_ENV PYTHONDONTWRITEBYTECODE PYTHONUTF8 PYTHONUNBUFFERED")
	const look = "import os, sys\nprint(*[n for n in sys.argv[1:] if n in os.environ])"
	const lookInShell = "import sys\nfrom hermes_tools import terminal\n" +
		"names = {line.split('=')[0] for line in terminal('env')['output'].splitlines()}\nprint(*[n for n in sys.argv[1:] if n in names])"
	return []row{
		{name: "P20 P21 P64 P110 P184 B058 B061 what is dropped", code: look, args: secret, want: want{output: new("\n")}},
		{name: "P109 P110 what is dropped in strict mode", code: look, args: secret, settings: strict, want: want{output: new("\n")}},
		{name: "B061 terminal gets no more", code: lookInShell, args: secret, want: want{output: new("\n"), made: 1}},
		{name: "P65 P66 P184 what is kept", code: look, args: kept, want: want{output: new(strings.Join(kept, " ") + "\n")}},
		{
			name: "P185 P188 B060 what is readmitted", code: look, args: []string{"TENOR_API_KEY", "DB_PASSWORD", "RANDOM_X"},
			settings: passing("TENOR_API_KEY", "RANDOM_X"), want: want{output: new("TENOR_API_KEY RANDOM_X\n")},
		},
		{
			name: "P189 B060 what nothing readmits", code: look, args: []string{"OPENAI_API_KEY", "TENOR_API_KEY"},
			settings: passing("OPENAI_API_KEY", "TENOR_API_KEY"), want: want{output: new("TENOR_API_KEY\n"), warningHas: []string{"OPENAI_API_KEY"}},
		},
		{
			name: "P204 B018 what is readmitted is masked", code: "import os, sys\nv = os.environ['TENOR_API_KEY']\nprint(v, len(v))\nsys.exit('bad ' + v)",
			settings: passing("TENOR_API_KEY"), want: want{
				status: hermes.Failure, kind: hermes.KindScript, code: 1, output: new("*** 18\n\n--- stderr ---\nbad ***\n"), errorHas: []string{"bad ***"},
			},
		},
		{
			name: "the token is always masked", code: "import os\nprint('<' + os.environ['HERMES_RPC_TOKEN'] + '>')",
			settings: func(s *config.Settings) { s.RedactSecrets = false }, want: want{output: new("<***>\n")},
		},
		{name: "B018 names are not masked", code: "print('MAX_TOKENS=100 {\"api_key\": \"abc123\"}')", want: want{output: new("MAX_TOKENS=100 {\"api_key\": \"abc123\"}\n")}},
		{
			name: "a variable is set", code: "import os; print(os.environ['MODE'])", settings: func(s *config.Settings) { s.EnvSet = map[string]string{"MODE": "fast one"} },
			want: want{output: new("fast one\n")},
		},
		{
			name: "P23 a time zone", code: "import os, datetime\nprint(os.environ['TZ'], datetime.datetime(2024, 7, 1).astimezone().utcoffset())",
			settings: func(s *config.Settings) { s.Timezone = "Asia/Tokyo" }, want: want{output: new("Asia/Tokyo 9:00:00\n")},
		},
		{name: "P24 no time zone", code: "import os; print(os.environ.get('TZ'))", want: want{output: new("None\n")}},
	}
}

// passing readmits variables.
func passing(names ...string) func(*config.Settings) {
	return func(s *config.Settings) { s.EnvPassthrough = names }
}

func toolRows() []row {
	return []row{
		{
			name: "P10 one call", code: "from hermes_tools import terminal\nprint(terminal('echo hi'))", trace: true,
			want: want{made: 1, output: new("{'output': 'hi\\n', 'exit_code': 0}\n")}, check: func(t *testing.T, r *hermes.Result) {
				if len(r.ToolCalls) != 1 || r.ToolCalls[0].Tool != "terminal" || r.ToolCalls[0].Error != nil {
					t.Errorf("trace %+v", r.ToolCalls)
				}
			},
		},
		{
			name: "P44 two tools", code: "from hermes_tools import write_file, read_file\nwrite_file('chain.txt', 'a\\nb\\n')\nprint(read_file('chain.txt')['content'], end='')",
			want: want{made: 2, output: new("a\nb\n")},
		},
		{
			name: "P11 B081 B082 threads get their own answers", code: "from concurrent.futures import ThreadPoolExecutor\nfrom hermes_tools import terminal\n" +
				"with ThreadPoolExecutor(10) as pool:\n    got = list(pool.map(lambda i: terminal(f'echo {i}')['output'], range(20)))\nprint(got == [f'{i}\\n' for i in range(20)])",
			want: want{made: 20, output: new("True\n")},
		},
		{name: "workers of multiprocessing call tools", code: `import multiprocessing
def call(i):
    from hermes_tools import terminal
    return terminal(f'echo {i}')['output'].strip()
if __name__ == '__main__':
    for method in 'fork', 'spawn':
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(call, range(4)), flush=True)
`, want: want{made: 8, output: new("fork ['0', '1', '2', '3']\nspawn ['0', '1', '2', '3']\n")}},
		{
			name: "asyncio", code: "import asyncio\nfrom hermes_tools import aio\nasync def f():\n" +
				"    return await asyncio.gather(*[aio.terminal(f'echo {i}') for i in range(3)])\nprint([r['output'] for r in asyncio.run(f())])",
			want: want{made: 3, output: new("['0\\n', '1\\n', '2\\n']\n")},
		},
		{
			name: "P51 a tool that is not configured answers", code: "from hermes_tools import web_search\nr = web_search('x')\nprint(type(r).__name__, list(r))",
			want: want{made: 1, output: new("dict ['error']\n")},
		},
		{name: "B090 tools and script see the same files", code: `import os
from hermes_tools import read_file, terminal, write_file
os.makedirs('same', exist_ok=True)
write_file('same/a', 'one')
print(open('same/a').read())
open('same/b', 'w').write('two')
print(read_file('same/b')['content'], terminal('cat same/b')['output'])
terminal('printf three > same/c')
os.chdir('same')
print(read_file('c')['content'], terminal('pwd')['output'].strip() == os.getcwd())
`, want: want{made: 6, output: new("one\ntwo two\nthree True\n")}},
		{name: "B053 an argument that is no text", code: "from hermes_tools import terminal\ntry:\n    print(list(terminal('echo \\ud800')))\nexcept Exception as e:\n    print(['error'])\n" +
			"print(terminal('echo next')['output'])", local: true, want: want{outputHas: []string{"['error']\nnext\n"}, made: 1}, check: nil},
		{name: "B018 true bytes between tool and script", code: "import json\nfrom hermes_tools import terminal\n" +
			`print(json.loads(terminal("printf '%s' '{\"api_key\": \"abc123\"}'")["output"])["api_key"])`, want: want{made: 1, output: new("abc123\n")}},
		{name: "P47 a tool that is not enabled cannot be imported", code: "from hermes_tools import terminal", settings: tools("read_file"), want: want{
			status: hermes.Failure, kind: hermes.KindScript, code: 1, errorHas: []string{"ImportError"}, hintHas: []string{"terminal is not enabled", "read_file"},
		}},
		{
			name: "P111 nor called", code: "import hermes_tools\nprint(hermes_tools._call('terminal', {'command': 'echo hi'})['error'])", settings: tools("read_file"),
			local: true, want: want{refused: 1, outputHas: []string{"Tool 'terminal' is not available in execute_code. Available: read_file"}},
		},
		{
			name: "P40 P111 there is no execute_code", code: "import hermes_tools\nprint([n for n in ('execute_code', 'delegate_task') if hasattr(hermes_tools, n)])",
			want: want{output: new("[]\n")},
		},
		{
			name: "a list of tools that matches none", code: "from hermes_tools import json_parse\nprint(json_parse('[2]'))", settings: tools("nothing"),
			want: want{output: new("[2]\n"), warningHas: []string{"nothing"}},
		},
		{name: "P13 shell_quote", code: "from hermes_tools import shell_quote\nprint(shell_quote(\"a b; rm 'x'\"))", want: want{output: new("'a b; rm '\"'\"'x'\"'\"''\n")}},
		{name: "P14 P52 json_parse", code: "from hermes_tools import json_parse\nprint(json_parse('\\ufeff{\"a\": \"x\\ty\\nz\"}'))", want: want{output: new("{'a': 'x\\ty\\nz'}\n")}},
		{
			name: "P53 retry", code: "from hermes_tools import retry\nn = []\ndef f():\n    n.append(1)\n    if len(n) < 3:\n        raise ValueError\n    return 'ok'\nprint(retry(f, delay=0), len(n))",
			want: want{output: new("ok 3\n")},
		},
		{name: "P15 retry that fails", code: "from hermes_tools import retry\ndef f(): raise ValueError('last')\nretry(f, max_attempts=2, delay=0)", want: fails("ValueError: last")},
		{
			name: "B022 what terminal left in the background ends with the run", code: "from hermes_tools import terminal\n" +
				"print(terminal('sh -c \"while :; do echo x >> bg; sleep 0.05; done\" > /dev/null 2>&1 &')['exit_code'])",
			want: want{made: 1, output: new("0\n")},
		},
	}
}

// tools enables only some.
func tools(names ...string) func(*config.Settings) {
	return func(s *config.Settings) { s.Tools = names }
}

func limitRows() []row {
	return []row{
		{
			name: "B070 the budget", code: "from hermes_tools import terminal\nr = [terminal('true') for i in range(5)]\nprint([x.get('exit_code') for x in r], r[4]['error'])",
			settings: func(s *config.Settings) { s.MaxToolCalls = 3 }, want: want{
				made: 3, refused: 2, warningHas: []string{"2 tool call(s) were refused", "limit is 3"},
				output: new("[0, 0, 0, None, None] Tool call limit reached (3). No more tool calls allowed in this execution.\n"),
			},
		},
		{
			name: "P72 the budget is exact under threads", code: "from concurrent.futures import ThreadPoolExecutor\nfrom hermes_tools import terminal\n" +
				"with ThreadPoolExecutor(10) as pool:\n    got = list(pool.map(lambda i: terminal('true'), range(10)))\nprint(sum('error' not in r for r in got))",
			settings: func(s *config.Settings) { s.MaxToolCalls = 1 }, want: want{made: 1, refused: 9, output: new("1\n")},
		},
	}
}

func hintRows() []row {
	return []row{
		{name: "B015 tools were called and nothing was printed", code: "from hermes_tools import terminal\nterminal('ls')", want: want{
			made: 1, output: new(""), hintHas: []string{"print"},
		}},
		{name: "a call was refused and nothing was printed", code: "from hermes_tools import write_file\nwrite_file('x.json', {'a': 1})", local: true, want: want{
			refused: 1, output: new(""), hintHas: []string{"1 tool call was refused", "'content' must be a string, not an object"},
		}},
		{name: "P175 a helper without import", code: "print(json_parse('{}'))", want: want{
			status: hermes.Failure, kind: hermes.KindScript, code: 1, hintHas: []string{"from hermes_tools import json_parse"},
		}},
		{
			name: "P177 the fix of the hint works, below a __future__ line", code: "from __future__ import annotations\nfrom hermes_tools import json_parse\nprint(json_parse('{}'))",
			want: want{output: new("{}\n")},
		},
		{name: "P175 a missing module", code: "import no_such_module_at_all.part", local: true, want: want{
			status: hermes.Failure, kind: hermes.KindScript, code: 1, hintHas: []string{"no_such_module_at_all "},
		}},
		{name: "P175 a result as text", code: "from hermes_tools import terminal\nterminal('ls').splitlines()", want: want{
			status: hermes.Failure, kind: hermes.KindScript, code: 1, made: 1, hintHas: []string{"dicts"},
		}},
		{name: "a loop over a result", code: "from hermes_tools import search_files\nfor m in search_files('x'):\n    print(m['path'])", local: true, want: want{
			status: hermes.Failure, kind: hermes.KindScript, code: 1, made: 1, hintHas: []string{"line 2: what search_files returns is a dict"},
		}},
		{
			name: "a key that no match has", local: true,
			code: "from hermes_tools import search_files\nimport tempfile\nwith tempfile.TemporaryDirectory() as d:\n    open(d + '/x', 'w').write('needle')\n" +
				"    for m in search_files('needle', path=d)['matches']:\n        print(m['line_number'])",
			want: want{status: hermes.Failure, kind: hermes.KindScript, code: 1, made: 1, hintHas: []string{`line 6: what search_files has in ["matches"] has no "line_number"`, "line, content"}},
		},
		{name: "a slice of a result", code: "from hermes_tools import terminal\nprint(terminal('ls')[:10])", local: true, want: want{
			status: hermes.Failure, kind: hermes.KindScript, code: 1, made: 1, hintHas: []string{"dicts"},
		}},
		{name: "a key of an error value", code: "from hermes_tools import read_file\nprint(read_file('not there')['content'])", want: want{
			status: hermes.Failure, kind: hermes.KindScript, code: 1, made: 1, hintHas: []string{"not there", "A failed call"},
		}},
		{name: "a near name", code: "from hermes_tools import web_serach", want: want{
			status: hermes.Failure, kind: hermes.KindScript, code: 1, hintHas: []string{"did you mean web_search?"},
		}},
		{name: "B059 a variable that was dropped", code: "import os\nprint(os.environ['DB_PASSWORD'])", want: want{
			status: hermes.Failure, kind: hermes.KindScript, code: 1, hintHas: []string{"DB_PASSWORD", "--env"},
		}},
		{name: "P171 another failure", code: "1 / 0", want: fails("ZeroDivisionError")},
	}
}
