package hermes

import (
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/tool"
)

// specs are the tools of these names.
func specs(names ...string) []tool.Spec {
	var list []tool.Spec
	for _, t := range tool.Seven() {
		for _, name := range names {
			if t.Spec().Name == name {
				list = append(list, t.Spec())
			}
		}
	}
	return list
}

// failing is the evidence of a script that ended with an exception.
func failing(lastLine string) evidence {
	return evidence{
		status: Failure, kind: KindScript, python: "/usr/bin/python3",
		stderr: "Traceback (most recent call last):\n  File \"/s/script.py\", line 1, in <module>\n    f()\n" + lastLine + "\n",
		tools:  specs("read_file", "search_files", "terminal", "web_search"),
		others: []string{"patch", "web_extract", "write_file"},
	}
}

func TestHint(t *testing.T) {
	with := func(e evidence, change func(*evidence)) evidence {
		change(&e)
		return e
	}
	offline := func(e *evidence) { e.noNetwork = true }
	for _, tt := range []struct {
		name string
		evidence
		want []string // parts of the hint; nil: there is none
	}{
		{
			"P170 P172 a tool that is not enabled", failing("ImportError: cannot import name 'patch' from 'hermes_tools' (/s/hermes_tools.py)"),
			[]string{"patch is not enabled", "read_file, search_files, terminal, web_search", "json_parse"},
		},
		{
			"a name that nobody has", failing("ImportError: cannot import name 'launch_rocket' from 'hermes_tools' (/s/hermes_tools.py)"),
			[]string{"no launch_rocket", "Available tools: read_file, search_files, terminal, web_search"},
		},
		{
			"a near name", failing("ImportError: cannot import name 'web_serach' from 'hermes_tools' (/s/hermes_tools.py)"),
			[]string{"did you mean web_search?"},
		},
		{
			"a near name that Python has noticed too", failing("ImportError: cannot import name 'readfile' from 'hermes_tools' (/s/hermes_tools.py). Did you mean: 'read_file'?"),
			[]string{"did you mean read_file?"},
		},
		{
			"a near attribute", failing("AttributeError: module 'hermes_tools' has no attribute 'search_file'"),
			[]string{"did you mean search_files?"},
		},
		{
			"an attribute that is not enabled", failing("AttributeError: module 'hermes_tools' has no attribute 'write_file'"),
			[]string{"write_file is not enabled"},
		},
		{
			"P175 a helper without import", failing("NameError: name 'json_parse' is not defined"),
			[]string{"from hermes_tools import json_parse"},
		},
		{
			"a tool without import", failing("NameError: name 'terminal' is not defined. Did you mean: 'term'?"),
			[]string{"from hermes_tools import terminal"},
		},
		{
			"the early name of a tool without import", failing("NameError: name 'search' is not defined"),
			[]string{"from hermes_tools import search`"},
		},
		{
			"a disabled tool without import", failing("NameError: name 'write_file' is not defined"),
			[]string{"write_file is not enabled"},
		},
		{
			"a near name that is called", with(failing("NameError: name 'web_serch' is not defined"), func(e *evidence) { e.code = []byte("web_serch('x')") }),
			[]string{"did you mean web_search?"},
		},
		{"a near name that is a variable", with(failing("NameError: name 'terminals' is not defined"), func(e *evidence) { e.code = []byte("print(terminals)") }), nil},
		{"another name", failing("NameError: name 'foo' is not defined"), nil},
		{
			"P175 a third-party module", failing("ModuleNotFoundError: No module named 'pandas'"),
			[]string{"pandas", "/usr/bin/python3"},
		},
		{"a part of one", failing("ModuleNotFoundError: No module named 'google.cloud'"), []string{"module google "}},
		{
			"a module beside a FILE that was sent alone", with(failing("ModuleNotFoundError: No module named 'helper'"), func(e *evidence) { e.shipped = "job.py" }),
			[]string{"helper", "Only job.py itself was sent"},
		},
		{
			"a tool as a module", failing("ModuleNotFoundError: No module named 'web_search'"),
			[]string{"from hermes_tools import web_search"},
		},
		{
			"a tool of another module", with(failing("ModuleNotFoundError: No module named 'hermes'"), func(e *evidence) { e.code = []byte("from hermes import Agent, read_file\n") }),
			[]string{"called hermes_tools", "from hermes_tools import read_file`"},
		},
		{
			"another module that is not there", with(failing("ModuleNotFoundError: No module named 'mine'"), func(e *evidence) { e.code = []byte("from mine import x\nread_file(1)\n") }),
			[]string{"mine is not installed"},
		},
		{"the product as a module", failing("ModuleNotFoundError: No module named 'hermes'"), []string{"called hermes_tools"}},
		{
			"aio as a module", failing("ModuleNotFoundError: No module named 'hermes_tools.aio'; 'hermes_tools' is not a package"),
			[]string{"from hermes_tools import aio`", "await aio."},
		},
		{"the module under a near name", failing("ModuleNotFoundError: No module named 'hermes_tool'"), []string{"called hermes_tools"}},
		{
			"P175 a result as text", with(failing("AttributeError: 'dict' object has no attribute 'splitlines'"), func(e *evidence) { e.made = 1 }),
			[]string{"dicts", `["content"]`},
		},
		{"a result as JSON", with(failing("TypeError: the JSON object must be str, bytes or bytearray, not dict"), func(e *evidence) { e.made = 1 }), []string{"dicts"}},
		{"a result as a pattern's subject", with(failing("TypeError: expected string or bytes-like object, got 'dict'"), func(e *evidence) { e.made = 1 }), []string{"dicts"}},
		{"a result added to text", with(failing(`TypeError: can only concatenate str (not "dict") to str`), func(e *evidence) { e.made = 1 }), []string{"dicts"}},
		{"a slice of a result", with(failing("TypeError: unhashable type: 'slice'"), func(e *evidence) { e.made = 1 }), []string{"dicts"}},
		{"a slice of a result since 3.12", with(failing("KeyError: slice(None, 100, None)"), func(e *evidence) { e.made = 1 }), []string{"dicts"}},
		{"a dict as text, and no tool was called", failing("AttributeError: 'dict' object has no attribute 'splitlines'"), nil},
		{"an attribute that no text has", with(failing("AttributeError: 'dict' object has no attribute 'foo'"), func(e *evidence) { e.made = 1 }), nil},
		{
			"a key of an error value", with(failing("KeyError: 'content'"), func(e *evidence) { e.made, e.lastError = 1, "no such file: x." }),
			[]string{"no such file: x. A failed call"},
		},
		{"a key that no tool returns", with(failing("KeyError: 'colour'"), func(e *evidence) { e.made, e.lastError = 1, "no such file" }), nil},
		{"a key, and no call failed", with(failing("KeyError: 'content'"), func(e *evidence) { e.made = 1 }), nil},
		{
			"B059 a variable that was dropped, by key", with(failing("KeyError: 'DB_URL'"), func(e *evidence) { e.dropped = []string{"DB_URL", "OTHER"} }),
			[]string{"DB_URL", "--env DB_URL"},
		},
		{
			"B059 by what the script says",
			evidence{status: Failure, kind: KindScript, stderr: "X_API_KEY not set\n", dropped: []string{"X_API_KEY"}},
			[]string{"--env X_API_KEY"},
		},
		{
			"B059 by what it prints",
			evidence{status: Failure, kind: KindScript, stdout: "missing: SOME_SETTING\n", dropped: []string{"SOME_SETTING"}},
			[]string{"--env SOME_SETTING"},
		},
		{"B059 by what it reads", with(failing("TypeError: argument of type 'NoneType' is not iterable"), func(e *evidence) {
			e.code, e.dropped = []byte(`v = os.environ.get("MY_SETTING")`), []string{"MY_SETTING"}
		}), []string{"--env MY_SETTING"}},
		{
			"a credential of the agent", with(failing("KeyError: 'OPENAI_API_KEY'"), func(e *evidence) { e.dropped = []string{"OPENAI_API_KEY"} }),
			[]string{"OPENAI_API_KEY", "no script gets"},
		},
		{"a variable that is not set at all", with(failing("KeyError: 'NOT_THERE'"), func(e *evidence) { e.dropped = []string{"DB_URL"} }), nil},
		{"a short name in a text", evidence{status: Failure, kind: KindScript, stderr: "_ is bad", dropped: []string{"_", "PWD"}}, nil},
		{"no network, by an address", with(failing("OSError: [Errno 101] Network is unreachable"), offline), []string{"--network bridge"}},
		{
			"no network, by a name", with(failing("urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>"), offline),
			[]string{"--network bridge"},
		},
		{"no network, with musl", with(failing("socket.gaierror: [Errno -3] Try again"), offline), []string{"--network bridge"}},
		{
			"no network, by another program",
			evidence{
				status: Failure, kind: KindScript, noNetwork: true,
				stderr: "fatal: unable to access 'https://example.com/x/': Could not resolve host: example.com\n",
			},
			[]string{"--network bridge"},
		},
		{"nothing that has to do with no network", with(failing("OSError: [Errno 111] Connection refused"), offline), nil},
		{"no way, though there is a network", failing("OSError: [Errno 101] Network is unreachable"), nil},
		{
			"a backend of matplotlib with windows",
			failing("ImportError: Cannot load backend 'TkAgg' which requires the 'tk' interactive framework, as 'headless' is currently running"),
			[]string{"no display", "TkAgg", "--figures"},
		},
		{"a window of Tk's own", failing("_tkinter.TclError: no display name and no $DISPLAY environment variable"), []string{"no display", "--figures"}},
		{"another error of Tk's", failing("_tkinter.TclError: bad screen distance"), nil},
		{"B072 no memory", evidence{status: Failure, kind: KindOOM, memory: 64 << 20}, []string{"64 MiB", "--memory"}},
		{
			"no memory, which files take too",
			evidence{status: Failure, kind: KindOOM, memory: 64 << 20, memoryDir: "/tmp"},
			[]string{"64 MiB", "--memory", "Files in /tmp count as memory."},
		},
		{"no memory on a machine that is not limited", evidence{status: Failure, kind: KindOOM}, nil},
		{"P171 another failure", failing("ZeroDivisionError: division by zero"), nil},
		{"P171 nothing on stderr", evidence{status: Failure, kind: KindScript}, nil},
		{"an exception that was only logged", evidence{
			status: Failure, kind: KindScript,
			stderr: "Traceback (most recent call last):\n  File \"x\", line 1\nModuleNotFoundError: No module named 'pandas'\ngiving up\n",
		}, nil},
		{"text that looks like one", evidence{status: Failure, kind: KindScript, stderr: "ModuleNotFoundError: No module named 'pandas'\n"}, nil},
		{"P173 success", evidence{status: Success, stdout: "x", made: 1}, nil},
		{"P173 success with a traceback on stderr", with(failing("ModuleNotFoundError: No module named 'pandas'"), func(e *evidence) { e.status, e.kind = Success, "" }), nil},
		{"B015 tools were called and nothing was printed", evidence{status: Success, made: 1}, []string{"print"}},
		{
			"a call was refused and nothing was printed",
			evidence{status: Success, refused: 1, refusal: "write_file: argument 'content' must be a string, not an object."},
			[]string{"1 tool call was refused", "'content' must be a string, not an object. The", `"error"`},
		},
		{
			"a call was refused, and the script says that all is well",
			evidence{status: Success, refused: 2, made: 1, refusal: "write_file: missing argument 'path'", stdout: "saved\n", code: []byte("write_file(); print('saved')")},
			[]string{"2 tool calls were refused", "the first: write_file: missing argument 'path'"},
		},
		{
			"a call was refused, which was printed",
			evidence{status: Success, refused: 1, refusal: "write_file: argument 'path' must be a string", stdout: `{"error": "write_file: argument \'path\' must be a string"}`},
			nil,
		},
		{
			"a call was refused in many words, which were printed",
			evidence{
				status: Success, refused: 1, refusal: "read_file: argument 'path' must be at least one character long",
				stdout: `{'error': "read_file: argument 'path' must be at least one character long"}`,
			},
			nil,
		},
		{
			"a call was refused, which the script asks for",
			evidence{status: Success, refused: 1, refusal: "write_file: missing argument 'path'", stdout: "no\n", code: []byte(`if "error" in write_file(): print("no")`)},
			nil,
		},
		{
			"a call was refused, which may have been printed",
			evidence{status: Success, refused: 1, refusal: "write_file: missing argument 'path'", stdout: "…", cut: true},
			nil,
		},
		{"nothing was called and nothing was printed", evidence{status: Success}, nil},
		{
			"artifacts that nobody asked for",
			with(failing("KeyError: 'HERMES_ARTIFACTS'"), func(e *evidence) { e.code = []byte("os.environ['HERMES_ARTIFACTS']") }),
			[]string{"--artifacts DIR"},
		},
		{
			"artifacts that nobody asked for, by get",
			with(failing("TypeError: unsupported operand type(s) for +: 'NoneType' and 'str'"), func(e *evidence) { e.code = []byte("os.environ.get('HERMES_ARTIFACTS') + '/x'") }),
			[]string{"--artifacts DIR"},
		},
		{
			"artifacts that somebody asked for",
			with(failing("KeyError: 'HERMES_ARTIFACTS'"), func(e *evidence) { e.code, e.artifacts = []byte("{}['HERMES_ARTIFACTS']"), true }),
			nil,
		},
		{"a timeout", with(failing("ModuleNotFoundError: No module named 'pandas'"), func(e *evidence) { e.status, e.kind = Timeout, KindTimeout }), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := hint(tt.evidence)
			if (got == "") != (tt.want == nil) {
				t.Errorf("hint %q", got)
			}
			for _, part := range tt.want {
				if !strings.Contains(got, part) {
					t.Errorf("hint %q lacks %q", got, part)
				}
			}
		})
	}
}
