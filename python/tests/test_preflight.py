"""What can be told of a script before it runs."""

import base64
import sys
import unittest

import support  # noqa: F401 - makes the library importable

from _hermes_exec import preflight

TOOLS = [
    {
        "name": "read_file",
        "params": ["path", "offset", "limit"],
        "required": ["path"],
        "types": {"path": {"type": "string"}, "offset": {"type": "integer", "nullable": True}},
        "keys": ["content", "total_lines"],
        "holds": 'its text is in ["content"]',
    },
    {
        "name": "terminal",
        "params": ["command", "timeout"],
        "required": ["command"],
        "types": {"command": {"type": "string"}, "timeout": {"type": "number", "nullable": True}},
        "keys": ["output", "exit_code"],
        "holds": 'its text is in ["output"]',
    },
    {
        "name": "search_files",
        "alias": "search",
        "params": ["pattern", "path", "output_mode", "all"],
        "required": ["pattern"],
        "types": {"output_mode": {"type": "string", "enum": ["content", "count"]}, "all": {"type": "boolean"}},
        "keys": ["matches"],
        "rows": {"in": ["matches"], "keys": ["path", "line"]},
    },
    {
        "name": "write_file",
        "params": ["path", "content"],
        "required": ["path", "content"],
        "types": {"path": {"type": "string"}, "content": {"type": "string"}},
        "keys": ["status"],
    },
    {"name": "hits", "params": ["query"], "required": ["query"], "keys": ["data"], "rows": {"in": ["data", "web"], "keys": ["url"]}},
    {"name": "ticket", "params": ["id"], "required": ["id"], "keys": []},
]
IMPORT = "from hermes_tools import read_file, terminal, search_files, write_file, ticket, hits\n"
STAR = "from hermes_tools import *\n"


def look(code: object, alone: bool = True, known: "dict[str, str] | None" = None) -> "list[str]":
    return ["%d%s %s" % (f.line, "!" if f.fatal else "", f.message) for f in found(code, alone, known)]


def found(code: object, alone: bool = True, known: "dict[str, str] | None" = None) -> "list[preflight.Finding]":
    data = code if isinstance(code, bytes) else str(code).encode()
    request = {
        "code": base64.b64encode(data).decode(),
        "tools": TOOLS,
        "helpers": ["json_parse", "retry", "aio"],
        "others": ["web_search"],
        "name": "a.py",
        "alone": alone,
        "known": known,
    }
    return preflight.check(request)


def steps(code: str, alone: bool) -> "tuple[int, int]":
    """How much there is to find in a script, and how many lines of preflight that takes: a time would depend on the machine."""
    count = 0

    def trace(*_: object) -> object:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        seen = found(code, alone)
    finally:
        sys.settrace(before)
    return len(seen), count


DICT = "what read_file returns is a dict, not a text: its text is in [\"content\"]"
GOES = "what search_files returns is a dict, and this gives its keys: its keys are matches"
LOOKS = "what read_file returns is a dict, and in looks at its keys: its text is in [\"content\"]"
STDOUT = 'what terminal returns has no "stdout": its text is in ["output"]; its keys are output, exit_code'
CANNOT = "what read_file returns is a dict, which content of write_file cannot be: its text is in [\"content\"]"
TAKES = "read_file takes path, offset, limit"

FILE = 'what search_files has in ["matches"] has no "file": its keys are path, line'
WEB = 'its list is in ["data"]["web"]'
FENCED = "a Markdown fence: take the lines with ``` away, and leave what stands between them"
ASYNC = ": it has to stand in an async def, which asyncio.run runs; the tools that are not of aio need no await"
PARTS = "hermes_tools is no package: from hermes_tools import aio, and then await aio.read_file(...), or any other tool"

WRONG = {
    "from hermes_tools import web_search": ["1 web_search is not enabled; enabled are: hits, read_file, search, search_files, terminal, ticket, write_file"],
    "from hermes_tools import readfile": ["1 hermes_tools has no readfile; did you mean read_file?"],
    "from hermes_tools import web_serch": [
        "1 hermes_tools has no web_serch; web_search is not enabled; enabled are: hits, read_file, search, search_files, terminal, ticket, write_file"
    ],
    "from hermes_tools import list_files": ["1 hermes_tools has no list_files"],
    "from hermes_tools import red_file": ["1 hermes_tools has no red_file; did you mean read_file?"],
    "from hermes_tools import serach_fiels": ["1 hermes_tools has no serach_fiels; did you mean search_files?"],
    "from hermes_tools.aio import terminal": ["1 " + PARTS],
    "import hermes_tools.aio": ["1 " + PARTS],
    "from hermes_tools import xyz": ["1 hermes_tools has no xyz"],
    "import hermes_tools as h\nh.web_search('x')": ["2 web_search is not enabled; enabled are: hits, read_file, search, search_files, terminal, ticket, write_file"],
    "import hermes_tools\nhermes_tools.read_files('x')": ["2 hermes_tools has no read_files; did you mean read_file?"],
    IMPORT + "read_file(file='a')": ["2 read_file has no parameter file: " + TAKES, "2 read_file lacks path: " + TAKES],
    IMPORT + "read_file('a', 1, 2, 3)": ["2 read_file gets 4 arguments: " + TAKES],
    IMPORT + "x = [\n read_file()]": ["3 read_file lacks path: " + TAKES],
    "import hermes_tools\nhermes_tools.read_file(nam='a', path='b')": ["2 read_file has no parameter nam: " + TAKES],
    STAR + "read_file(file='a')": ["2 read_file has no parameter file: " + TAKES, "2 read_file lacks path: " + TAKES],
    STAR + "r = read_file('a')\nprint(r.strip())": ["3 " + DICT],
    STAR + "web_search('x')": ["2 web_search is not enabled; enabled are: hits, read_file, search, search_files, terminal, ticket, write_file"],
    STAR + "async def f(): return (await aio.read_file('a')).strip()": ["2 " + DICT],
    IMPORT + "print(read_file('a').splitlines())": ["2 " + DICT],
    IMPORT + "x = read_file('a')\nfor l in x.split(): pass": ["3 " + DICT],
    IMPORT + "def f():\n    x = read_file('a')\n    return x[:10]": ["4 " + DICT],
    IMPORT + "x = read_file('a')[0]": ["2 " + DICT],
    IMPORT + "print('got ' + read_file('a'))": ["2 " + DICT],
    IMPORT + "import json\nx = json.loads(terminal('ls'))": ["3 what terminal returns is a dict, not a text: its text is in [\"output\"]"],
    IMPORT + "search_files('x').strip()": ["2 what search_files returns is a dict, not a text: its keys are matches"],
    IMPORT + "ticket(3).strip()": ["2 what ticket returns is a dict, not a text"],
    # To go through a result gives its keys.
    IMPORT + "for m in search_files('x'):\n    print(m['path'])": ["2 " + GOES],
    IMPORT + "x = [m['path'] for m in search_files('x')]": ["2 " + GOES],
    IMPORT + "for i, m in enumerate(search_files('x')): pass": ["2 " + GOES],
    IMPORT + "r = search_files('x')\nfor m in r:\n    print(m['path'])": ["3 " + GOES],
    IMPORT + "r = search_files('x')\nprint([m.get('path') for m in r])": ["3 " + GOES],
    IMPORT + "r = search_files('x')\nfor path, line in r: pass": ["3 " + GOES],
    IMPORT + "out, code = terminal('ls')": [
        '2 what terminal returns is a dict, and this gives its keys: its text is in ["output"]'
    ],
    IMPORT + "print('\\n'.join(search_files('x')))": ["2 " + GOES],
    IMPORT + "print(len(search_files('x')))": ["2 what search_files returns is a dict, and len counts its keys: its keys are matches"],
    # in looks at its keys.
    IMPORT + "if 'TODO' in read_file('a'): pass": ["2 " + LOOKS],
    IMPORT + "x = read_file('a')\nif 'TODO' not in x: pass": ["3 " + LOOKS],
    # The rows of a result.
    IMPORT + "for m in search_files('x')['matches']: print(m['file'], m['line'])": ["2 " + FILE],
    IMPORT + "r = search_files('x')\nms = r.get('matches', [])\nif not ms: print(len(ms))\nfor m in ms[:3]:\n    print(m, m['file'])": ["6 " + FILE],
    IMPORT + "r = search_files('x')\nprint([m['file'] for m in r['matches'] or []], {m['path'] for m in r['matches']})": ["3 " + FILE],
    IMPORT + "for i, m in enumerate(search_files('x')['matches']): print(f'{i} {m[\"file\"]}')": ["2 " + FILE],
    IMPORT + "m = search_files('x')['matches'][0]\nprint(m['file'])": ["3 " + FILE],
    IMPORT + "print(search_files('x')['matches'][0]['file'])": ["2 " + FILE],
    IMPORT + "for m in search_files('x')['matches']: print(m.path)": [
        '2 what search_files has in ["matches"] are dicts: write ["path"], not .path'
    ],
    IMPORT + "for h in hits('x')['data']: print(h['url'])": ['2 what hits has in ["data"] is a dict, and this gives its keys: ' + WEB],
    IMPORT + "print(hits('x')['data'][0]['url'], hits('x')['data'][:3])": ['2 what hits has in ["data"] is a dict: ' + WEB],
    IMPORT + "r = hits('x')\nprint(r['data']['results'])": ['3 what hits has in ["data"] has no "results": ' + WEB],
    IMPORT + "for h in hits('x')['data']['web']: print(h['title'])": [
        '2 what hits has in ["data"]["web"] has no "title": its keys are url'
    ],
    # An attribute.
    IMPORT + "r = terminal('ls')\nprint(r.output)": ['3 what terminal returns is a dict: write ["output"], not .output'],
    IMPORT + "print(terminal('ls').stdout)": ['2 what terminal returns is a dict, which has no .stdout: its text is in ["output"]'],
    IMPORT + "r = ticket('a')\nprint(r.id)": ["3 what ticket returns is a dict, which has no .id"],
    # What needs no await.
    IMPORT + "async def f():\n    r = await terminal('x')": [
        "3 terminal returns its result without await; what is awaited is aio.terminal(...): from hermes_tools import aio"
    ],
    # A key that the tool has not.
    IMPORT + "print(terminal('ls')['stdout'])": ["2 " + STDOUT],
    IMPORT + "x = terminal('ls')\nprint(x['stdout'])": ["3 " + STDOUT],
    IMPORT + "print(terminal('ls').get('stdout').strip())": ["2 " + STDOUT],
    IMPORT + "x = search_files('x', path='.')['files']": ['2 what search_files returns has no "files": its keys are matches'],
    IMPORT + "x = terminal('ls')\ndef f():\n    return x['stdout']": ["4 " + STDOUT],
    IMPORT + "if (x := terminal('ls')):\n    print(x['stdout'])": ["3 " + STDOUT],
    IMPORT + "x: dict = terminal('ls')\nprint(x['stdout'])": ["3 " + STDOUT],
    # To look at a result, or to ask for another key, is not to ask for that one.
    IMPORT + "x = terminal('ls')\nprint(x, len(x), list(x), x.keys(), str(x)[:9], f'{x}')\nprint(x['stdout'])": ["4 " + STDOUT],
    IMPORT + "import json\nx = terminal('ls')\nprint(json.dumps(x, indent=2))\nprint('x: ' + str(x))\nprint(x['stdout'])": ["6 " + STDOUT],
    IMPORT + "x = terminal('ls')\nprint(', '.join(x))\nprint(x['stdout'])": ["4 " + STDOUT],
    IMPORT + "x = terminal('ls')\nif x and x.get('output') and 'exit_code' in x.keys(): print(x['stdout'])": ["3 " + STDOUT],
    IMPORT + "x = terminal('ls')\nif 'error' in list(x): pass\nprint(x['stdout'])": ["4 " + STDOUT],
    IMPORT + "x = terminal('ls')\nprint(x.get('stdout').strip(), x['stdout'])": ["3 " + STDOUT],
    IMPORT + "x = terminal('ls')\ny = terminal('ls')\nif y.get('stdout'): print(x['stdout'])": ["4 " + STDOUT],
    IMPORT + "x = terminal('ls')\ntry: x['stdout']\nexcept KeyError: pass\nprint(terminal('ls')['stdout'])": ["5 " + STDOUT],
    IMPORT + "from json import loads as parse, loads\nloads(read_file('a'))\nparse(read_file('a'))": ["3 " + DICT],
    IMPORT + "for m in sorted(search_files('x')): print(m['path'])": ["2 " + GOES],
    IMPORT + "r = search_files('x')\nfor m in list(r): print(m['path'])": ["3 " + GOES],
    IMPORT + "for path, line in sorted(search_files('x')): pass": ["2 " + GOES],
    # A result as an argument.
    IMPORT + "write_file('b', read_file('a'))": ["2 " + CANNOT],
    IMPORT + "x = read_file('a')\nwrite_file('b', content=x)": ["3 " + CANNOT],
    IMPORT + "write_file(*a, content=read_file('a'))": ["2 " + CANNOT],
    IMPORT + "import re\nre.findall('x', read_file('a'))": ["3 " + DICT],
    IMPORT + "x = int(terminal('nproc'))": ["2 what terminal returns is a dict, not a text: its text is in [\"output\"]"],
    IMPORT + "if read_file('a') == 'x': pass": ["2 " + DICT],
    IMPORT + "x = ''\nx += read_file('a')": ["3 " + DICT],
    # A literal of another type.
    IMPORT + "write_file('x.json', {'a': 1})": ["2 content of write_file must be a string, not a dict"],
    IMPORT + "write_file('x.json',\n content=[n for n in y])": ["3 content of write_file must be a string, not a list"],
    IMPORT + "write_file('x.json', 3)": ["2 content of write_file must be a string, not the number 3"],
    IMPORT + "write_file(None, f'{x}')": ["2 path of write_file must be a string, not None"],
    IMPORT + "terminal(['ls', '-l'])": ["2 command of terminal must be a string, not a list"],
    IMPORT + "terminal(('ls', '-l'))": ["2 command of terminal must be a string, not a tuple"],
    IMPORT + "terminal('ls', timeout='5')": ["2 timeout of terminal must be a number, not a string"],
    IMPORT + "terminal('ls', timeout=True)": ["2 timeout of terminal must be a number, not the boolean True"],
    IMPORT + "read_file('a', offset='3')": ["2 offset of read_file must be an integer, not a string"],
    IMPORT + "read_file('a', offset=-1.5)": ["2 offset of read_file must be an integer, not a number"],
    IMPORT + "search_files('x', output_mode='files_with_matches')": [
        "2 output_mode of search_files must be one of content, count, not 'files_with_matches'"
    ],
    IMPORT + "search_files('x', all='yes')": ["2 all of search_files must be a boolean, not a string"],
    IMPORT + "data = {'a': 1}\ndata['b'] = 2\nwrite_file('x.json', data)": ["4 content of write_file must be a string, not a dict"],
    # aio has the same tools.
    "from hermes_tools import aio\nasync def f():\n    return (await aio.read_file('a')).split()": ["3 " + DICT],
    "import hermes_tools as h\nasync def f():\n    return await h.aio.read_file(file='a', path='b')": ["3 read_file has no parameter file: " + TAKES],
    # What a script is ready for is another thing, and what only tells of it is not.
    IMPORT + "try:\n    x = read_file('a').split()\nexcept OSError: pass": ["3 " + DICT],
    IMPORT + "try:\n    x = read_file('a')\n    y = x.split()\nexcept Exception as e: print(e)": ["4 " + DICT],
    IMPORT + "try: pass\nexcept KeyError:\n    x = terminal('ls')['stdout']": ["4 " + STDOUT],
    "x = read_file('a')": ["1 read_file is used, but not imported: from hermes_tools import read_file"],
    IMPORT
    + "import json\nfrom hermes_tools import retry\nopen(read_file('a'))\nopen('b', 'w').write(read_file('a'))\nretry(terminal('ls'))\nretry(lambda: terminal('ls'))": [
        '4 what read_file returns is a dict, not a text: its text is in ["content"]',
        '5 what read_file returns is a dict, not a text: its text is in ["content"]',
        '6 what terminal returns is a dict, and retry calls what it gets, as in retry(lambda: terminal(command)): its text is in ["output"]',
    ],
    IMPORT
    + "if terminal('test -f x'): pass\nwhile not terminal('true'): pass\nprint(1 if terminal('x') else 2)\nif terminal('x')['exit_code']: pass\nr = terminal('x')\nif r: pass": [
        '2 what terminal returns is a dict, which is true whatever came of the call: its text is in ["output"]',
        '3 what terminal returns is a dict, which is true whatever came of the call: its text is in ["output"]',
        '4 what terminal returns is a dict, which is true whatever came of the call: its text is in ["output"]',
    ],
    STAR + "json_parse(read_file('a'))": ['2 what read_file returns is a dict, not a text: its text is in ["content"]'],
    IMPORT
    + "print(search_files('x')['matches']['path'])": [
        '2 what search_files has in ["matches"] is a list: take one of it, as in ["matches"][0]["path"], or go through it'
    ],
    IMPORT
    + "found = hits('x')['data']['web']\nprint(found['url'], found[0]['url'])": [
        '3 what hits has in ["data"]["web"] is a list: take one of it, as in ["data"]["web"][0]["url"], or go through it'
    ],
    "print(json_parse('{}'))": ["1 json_parse is used, but not imported: from hermes_tools import json_parse"],
    "x = (": ["1! syntax error: '(' was never closed" if sys.version_info >= (3, 10) else "1! syntax error: unexpected EOF while parsing"],
    "print(1)\nreturn 3": ["2! syntax error: 'return' outside function"],
    b"x = '\xff'": ["1! syntax error: "],
    # What a model has written around a script, or only where a function may have it.
    "```python\nprint(1)\n```\n": ["1! syntax error: " + FENCED],
    "\n  ```\nprint(1)\n```": ["2! syntax error: " + FENCED],
    "print(1)\n```\n": ["2! syntax error: " + FENCED],
    IMPORT + "await terminal('ls')": ["2! syntax error: 'await' outside function" + ASYNC],
    IMPORT + "def f():\n    async with x: pass": ["3! syntax error: 'async with' outside async function" + ASYNC],
    # What is too deep to be looked at well is looked at as far as that goes.
    IMPORT + "terminal()\nx = y" + ".f(1)" * 600: ["2 terminal lacks command: terminal takes command, timeout"],
}

RIGHT = [
    # Rows that may have got other keys, or of which the script looks for them.
    IMPORT + "for m in search_files('x')['matches']: m['file'] = m['path']\nprint(m['file'])",
    IMPORT + "r = search_files('x')\nfor m in r['matches']: m.update(file=1)\nfor n in r['matches']: print(n['file'])",
    IMPORT + "r = search_files('x')\nfix(r['matches'])\nfor m in r['matches']: print(m['file'])",
    IMPORT + "r = search_files('x')\nfix(r)\nfor m in r['matches']: print(m['file'])",
    IMPORT + "r = search_files('x')\nr['matches'] = []\nfor m in r['matches']: print(m['file'])",
    IMPORT + "ms = search_files('x')['matches']\nms.append({'file': 1})\nfor m in ms: print(m['file'])",
    IMPORT + "ms = search_files('x')['matches'] + [{'file': 1}]\nfor m in ms: print(m['file'])",
    IMPORT + "ms = search_files('x').get('matches', [{'file': 1}])\nfor m in ms: print(m['file'])",
    IMPORT + "ms = search_files('x')['matches']\nms[0]['file'] = 1\nfor m in ms: print(m['file'])",
    IMPORT + "ms = search_files('x')['matches']\nfor m in ms:\n    if 'file' in m: print(m['file'])",
    IMPORT + "ms = search_files('x')['matches']\nfor m in ms:\n    if m.get('file'): print(m['file'])",
    IMPORT + "w = 'file'\nms = search_files('x')['matches']\nfor m in ms:\n    if m.get(w): print(m['file'])",
    IMPORT + "ms = search_files('x')['matches']\nfor m in ms:\n    try: print(m['file'])\n    except KeyError: pass",
    IMPORT + "for m in search_files('x')['matches']: print(m['path'])\nfor m in other: print(m['file'])",
    IMPORT + "for m in search_files('x')['matches']: print(m['path'])\nf = lambda m: m['file']",
    IMPORT + "r = search_files('x')\nfor ms in r.values(): change(ms)\nfor m in r['matches']: print(m['file'])",
    IMPORT + "ms = sorted(search_files('x')['matches'], key=fix)\nfor m in ms: print(m['file'])",
    IMPORT + "a, b = search_files('x')['matches'][:2]\na['file'] = 1\nfor m in search_files('x')['matches']: print(m['path'])",
    IMPORT + "d = hits('x')['data']\nd['results'] = d['web']\nprint(d['results'])",
    IMPORT + "for h in hits('x')['data']['web']: print(h['url'])\nprint(hits('x').get('data', {}).get('web', [])[:3])",
    IMPORT + "print('data' in hits('x'), hits('x')['data'], hits('x')['data'].get('web'))",
    IMPORT + "r = terminal('ls')\nif hasattr(r, 'output'): print(r.output)",
    IMPORT + "r = terminal('ls')\ntry: print(r.output)\nexcept AttributeError: pass",
    IMPORT + "r = terminal('ls')\nr = Result(r)\nprint(r.output)",
    "async def terminal(x): pass\nasync def f(): await terminal('x')",
    "from hermes_tools import aio\nasync def f(): await aio.terminal('x')",
    # Arguments of which nobody knows what they are, or which are what they may be.
    IMPORT + "write_file(Path('a'), str({}))\nterminal('ls', timeout=5)\nterminal('ls', None)\nterminal('ls', timeout=-x)\nread_file('a', 3.0)",
    IMPORT + "ticket({'a': 1})\nsearch_files('x', output_mode='count', all=True)\nsearch_files({}.get('x'), output_mode=mode)",
    IMPORT + "data = {'a': 1}\ndata = str(data)\nwrite_file('x', data)",
    IMPORT + "data = {'a': 1}\nif not isinstance(data, dict): write_file('x', data)",
    IMPORT + "data = {'a': 1}\ndef f(data): write_file('x', data)\nf(str(data))",
    IMPORT + "def write_file(path, content): pass\nwrite_file('x.json', {'a': 1})",
    # Long chains are deep trees.
    IMPORT + "x = y" + ".f(1)" * 600,
    IMPORT + "x = " + " + ".join(["'a'"] * 1200),
    "x = '''\n```\nsome text\n```\n'''",
    IMPORT + "x = read_file('a', limit=3)\nprint(x['content'].splitlines(), x.get('error'), x.keys(), 'content' in x)",
    IMPORT + "read_file(*a)\nread_file(**k)\nread_file('a', **k)",
    IMPORT + "x = read_file('a')\nx = 'text'\nx.split()",
    IMPORT + "def f(x):\n    return x.split()\nx = read_file('a')",
    IMPORT + "def read_file(x, y, z, q): pass\nread_file(1, 2, 3, 4)",
    IMPORT + "x = read_file('a')['content'].split()[0]",
    "from hermes_tools import search, aio, retry\nsearch('x')['matches'][0]",
    STAR + "print(read_file('a')['content'], json_parse('{}'))",
    STAR + "from other import *\nread_file('a').split()",
    STAR + "def web_search(q): return q\nweb_search('x')",
    STAR + "def read_file(p): return p\nread_file(1).split()",
    "from other import *\nread_file('a')",
    "def terminal(): pass\nterminal()",
    "from other import read_file\nread_file(1, 2, 3, 4).split()",
    "import hermes_tools as h\nh.read_file('a')\nh.x = 3\nh.__name__",
    b"# coding: latin-1\nx = '\xff'",
    # A script that asks what it has.
    IMPORT + "x = read_file('a')\nif isinstance(x, str):\n    print(x.split())",
    IMPORT + "x = read_file('a')\nprint(x.strip() if isinstance(x, str) else x['content'])",
    IMPORT + "x = read_file('a')\nif hasattr(x, 'split'): x.split()",
    IMPORT + "x = read_file('a')\nif type(x) is str: x.split()",
    IMPORT + "x = terminal('ls')\nprint(x['stdout'] if 'stdout' in x else x['output'])",
    IMPORT + "x = terminal('ls')\nif 'stdout' in x:\n    print(x.get('stdout'))",
    IMPORT + "x = terminal('ls')\nprint(x.get('stdout') or x.get('output'), x.get('stderr', ''))",
    IMPORT + "x = read_file('a')\nif 'error' in x or 'content' not in x: print(x['error'])",
    IMPORT + "r = terminal('ls')\nif r.get('stderr'): print(r['stderr'])",
    IMPORT + "r = terminal('ls')\nif r.get('stderr', '').strip(): print(r['stderr'])",
    IMPORT + "r = terminal('ls')\nif r.get('stderr'): print(r.get('stderr').strip())",
    IMPORT + "r = terminal('ls')\nif r.get('rows') is not None: print(r.get('rows')[0])",
    IMPORT + "r = terminal('ls')\nif 'stderr' in r.keys(): print(r['stderr'])",
    IMPORT + "r = terminal('ls')\nif 'stderr' in list(r): print(r['stderr'])",
    IMPORT + "r = terminal('ls')\nif 'stderr' not in sorted(r.keys()): pass\nelse: print(r['stderr'])",
    IMPORT + "r = terminal('ls')\nif 'stderr' in str(r): print(r['stderr'])",
    IMPORT + "import json\nr = terminal('ls')\nif 'stderr' in json.dumps(r): print(r['stderr'])",
    IMPORT + "r = terminal('ls')\nif any('stderr' == k for k in r): print(r['stderr'])",
    IMPORT + "r = terminal('ls')\nfor k in r:\n    if k == 'stderr': print(r['stderr'])",
    IMPORT + "r = terminal('ls')\nfor k, v in r.items():\n    if k == 'stderr': print(r['stderr'])",
    IMPORT + "r = terminal('ls')\nkeys = list(r)\nif 'stderr' in keys: print(r['stderr'])",
    IMPORT + "r = terminal('ls')\nkeys = r.keys()\nif 'stderr' in keys: print(r['stderr'])",
    IMPORT + "r = terminal('ls')\nif {'stderr'} <= set(r): print(r['stderr'])",
    IMPORT + "r = terminal('ls')\nif r.keys() & {'stderr'}: print(r['stderr'])",
    IMPORT + "r = terminal('ls')\nif r.__contains__('stderr'): print(r['stderr'])",
    IMPORT + "r = terminal('ls')\nget = r.get\nif get('stderr'): print(r['stderr'])",
    IMPORT + "w = 'stderr'\nr = terminal('ls')\nif w in r: print(r['stderr'])",
    IMPORT + "w = 'stderr'\nr = terminal('ls')\nif r.get(w): print(r['stderr'])",
    IMPORT + "w = 'TODO'\nr = read_file('a')\nif w in r or 'TODO' in r: pass",
    IMPORT + "x = read_file('a')\nif x.__class__ is str: x.split()",
    IMPORT + "r = terminal('ls')\ntry:\n    r['stderr']\n    old = True\nexcept KeyError:\n    old = False\nif old: print(r['stderr'])",
    # Keys may be what a script goes through.
    IMPORT + "for k in sorted(read_file('a')): print(k)",
    IMPORT + "r = read_file('a')\nfor k in sorted(r): print(k)",
    IMPORT + "print([k for k in list(read_file('a'))], {k for k in set(read_file('a'))})",
    IMPORT + "r = read_file('a')\nprint('It has ' + ', '.join(r))\nkeys = []\nkeys += r",
    IMPORT + "r = terminal('ls')\nif 'stderr' in ' '.join(r): print(r['stderr'])",
    # A function of the script does what the script has it do.
    IMPORT + "def dump(d): d['x'] = 1\nr = terminal('ls')\ndump(r)\nprint(r['x'])",
    IMPORT + "def print(d): d['x'] = 1\nr = terminal('ls')\nprint(r)\nr['x']",
    IMPORT + "from mine import dump, dumps\nr = terminal('ls')\ndump(r)\ndumps(r)\nr['x']",
    IMPORT + "import mine as json\nr = terminal('ls')\njson.dump(r, 1)\nr['x']",
    IMPORT + "import mine\nr = terminal('ls')\nmine.print(r)\nr['x']",
    IMPORT + "def loads(x): return x\nloads(terminal('ls'))",
    IMPORT + "import mine\nmine.loads(terminal('ls'))\nmine.int(terminal('ls'))",
    IMPORT + "def len(x): return x['output']\nlen(terminal('ls'))",
    IMPORT + "def enumerate(x): return x['matches']\nfor m in enumerate(search_files('x')): print(m['path'])",
    IMPORT + "def sorted(x): return x['matches']\nr = search_files('x')\nfor m in sorted(r): print(m['path'])",
    # Names may mean anything where a script makes them in other ways.
    IMPORT + "r = terminal('ls')\nlocals()['r'] = 's'\nr.split()",
    IMPORT + "r = terminal('ls')\nglobals().update(r='s')\nr.split()",
    IMPORT + "r = terminal('ls')\nexec('r = 1')\nprint(r + 1)",
    IMPORT + "names = globals\nnames()['terminal'] = str\nterminal('ls').split()",
    IMPORT + "r = terminal('ls')\nfrom other import *\nr.split()",
    # One that is ready for what may be missing.
    "try:\n    from hermes_tools.aio import terminal\nexcept ImportError: pass",
    "from .hermes_tools.aio import terminal\nfrom hermes_tools_more import x",
    "try:\n    from hermes_tools import web_search\nexcept ImportError:\n    web_search = None",
    "try:\n    from hermes_tools import web_search, nothing\n    there = True\nexcept Exception:\n    there = False",
    "try:\n    from hermes_tools import web_search\nexcept (KeyError, ImportError): pass",
    "import contextlib\nwith contextlib.suppress(ImportError):\n    from hermes_tools import web_search",
    "import typing\nif typing.TYPE_CHECKING:\n    from hermes_tools import web_search",
    "import hermes_tools as h\ntry:\n    h.web_search('x')\nexcept AttributeError: pass",
    "import hermes_tools as h\nif hasattr(h, 'web_search'): h.web_search('x')",
    "import hermes_tools as h\nif 'web_search' in dir(h): h.web_search('x')",
    "try:\n    terminal('ls')\nexcept NameError: pass",
    "if 'terminal' in globals(): terminal('ls')",
    IMPORT + "try:\n    x = terminal('ls')['stdout']\nexcept KeyError: pass",
    IMPORT + "try:\n    x = terminal('ls')['stdout']\nexcept LookupError: pass",
    IMPORT + "import json\nx = read_file('a')\ntry:\n    y = json.loads(x)\nexcept Exception:\n    y = x",
    IMPORT + "try:\n    read_file('a', encoding='x')\nexcept TypeError:\n    read_file('a')",
    # One that changes what it has.
    IMPORT + "x = terminal('ls')\nx['stdout'] = x['output']\nprint(x['stdout'])",
    IMPORT + "x = terminal('ls')\nx.update(stdout='')\nprint(x['stdout'])",
    IMPORT + "x = terminal('ls')\nadd_names(x)\nprint(x['stdout'])",
    IMPORT + "r = terminal('ls')\nr.__setitem__('x', 1)\nprint(r['x'])",
    IMPORT + "r = terminal('ls')\nr.__ior__({'x': 1})\nprint(r['x'])",
    IMPORT + "x = terminal('ls')\ny = x\ny['stdout'] = 3\nprint(x['stdout'])",
    "import hermes_tools as h\nh.read_file = lambda p: 'text'\nh.read_file('a').split()",
    # What is right with a dict.
    IMPORT + "x = read_file('a')\nfor i, k in enumerate(x): print(i, k, k.upper(), x[k])",
    IMPORT + "x = read_file('a')\nfor k in x: print(k, x[k])\nfor k, v in x.items(): print(k, v)",
    IMPORT + "x = read_file('a')\nprint(len(x), list(x), sorted(x), x == {}, f'{x}', '%s' % x, [x, x])",
    IMPORT + "for m in search_files('x')['matches']: print(m['path'])",
    IMPORT + "print(ticket(3)['colour'], 'x' in ticket(3))",
    IMPORT + "class A:\n    x = read_file('a')\n    def f(self): return self.x",
    "from hermes_tools import aio\nasync def f():\n    t = aio.read_file('a')\n    return t.split()",
    "",
]

# Cells in which names may be what earlier cells have made of them.
CELLS = [
    IMPORT + "write_file('x', data)\ndata = {}",
    "x = read_file('a')",
    IMPORT + "print(x.split())\nx = read_file('a')",
    IMPORT + "def f():\n    x = read_file('a')\n    return x\nprint(x.split())",
    IMPORT + "if new:\n    x = read_file('a')\nprint(x.split())",
]


class PreflightTest(unittest.TestCase):
    def test_what_is_wrong(self) -> None:
        for code, want in WRONG.items():
            with self.subTest(code):
                got = look(code)
                if code == b"x = '\xff'":
                    got = [g[: len(want[0])] for g in got]
                self.assertEqual(got, want)

    def test_what_is_right(self) -> None:
        for code in RIGHT:
            with self.subTest(code):
                self.assertEqual(look(code), [])

    def test_a_cell_may_use_what_is_there(self) -> None:
        for code in CELLS:
            with self.subTest(code):
                self.assertEqual(look(code, alone=False), [])
        self.assertEqual(look(IMPORT + "x = read_file('a')\nprint(x.split())", alone=False), ["3 " + DICT])

    def test_what_earlier_cells_have_imported(self) -> None:
        known = {"read_file": "read_file", "run": "terminal", "ht": "hermes_tools", "aio": "aio", "x": "fetch", "TransportError": "TransportError"}
        for code, want in {
            "read_file(name='a')": ["1 read_file has no parameter name: " + TAKES, "1 read_file lacks path: " + TAKES],
            "run()": ["1 terminal lacks command: terminal takes command, timeout"],
            "ht.terminal()": ["1 terminal lacks command: terminal takes command, timeout"],
            "ht.nothing": ["1 hermes_tools has no nothing"],
            "await aio.read_file()": ["1 read_file lacks path: " + TAKES],
            "r = read_file('a')\nr.split()": ["2 " + DICT],
            "x(1, 2, 3)": [],
            "terminal()": [],
            "def read_file(name): pass\nread_file(name='a')": [],
            "for run in []: run()": [],
            "ht = 1\nht.terminal()": [],
            "ht.terminal = print\nht.terminal()": [],
            "from other import *\nread_file(name='a')": [],
        }.items():
            with self.subTest(code):
                self.assertEqual(look(code.replace("await ", "async def f(): await "), alone=False, known=known), want)
                self.assertEqual(look(code.replace("await ", "async def f(): await "), alone=False, known={}), [])

    def test_where_an_exception_tells_of_it(self) -> None:
        for code, want in {
            "for m in search_files('x'):\n    pass\n    m['path']\n    m.get(0)\n": {4, 5},
            "r = search_files('x')\nfor m in r:\n    m['path']": {4},
            "for i, m in enumerate(search_files('x')):\n    m['path']": {3},
            "r = search_files('x')\nfor i, m in enumerate(r):\n    m['path']": {4},
            "terminal(\n    'ls',\n    cmd=3)": {2},
        }.items():
            with self.subTest(code):
                self.assertEqual([f.raises for f in found(IMPORT + code)], [want])
                self.assertEqual(found(IMPORT + code)[0].row()["raises"], sorted(want))

    def test_a_long_script_takes_no_more_for_each_of_its_lines(self) -> None:
        for line, wrong in (
            ("def f%d(): pass\nx%d = read_file('a')\n", 0),
            ("try: read_file()\nexcept TypeError: pass\ny%d = %d\n", 0),
            ("def f%d():\n    try: pass\n    except KeyError: pass\n    x%d = terminal()\n", 1),
        ):
            for alone in (True, False):
                with self.subTest(line, alone=alone):
                    few, many = (steps(IMPORT + "".join(line % (i, i) for i in range(n)), alone) for n in (100, 400))
                    self.assertEqual((few[0], many[0]), (100 * wrong, 400 * wrong))
                    self.assertLess(many[1], 5 * few[1])

    def test_nothing_escapes(self) -> None:
        for code in ("(" * 5000, "x = " + "-" * 100000 + "1", "a\0b", b"\xff\xfe", "x" * 100000):
            with self.subTest(code[:10]):
                look(code)


if __name__ == "__main__":
    unittest.main()
