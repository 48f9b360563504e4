"""What can be told of a script before it runs."""

import base64
import sys
import unittest

import support  # noqa: F401 - makes the library importable

from _hermes_exec import preflight

TOOLS = [
    {"name": "read_file", "params": ["path", "offset", "limit"], "required": ["path"], "text": "content"},
    {"name": "terminal", "params": ["command", "timeout"], "required": ["command"], "text": "output"},
    {"name": "search_files", "alias": "search", "params": ["pattern", "path"], "required": ["pattern"]},
]
IMPORT = "from hermes_tools import read_file, terminal, search_files\n"


def look(code: object, alone: bool = True) -> "list[str]":
    data = code if isinstance(code, bytes) else str(code).encode()
    request = {
        "code": base64.b64encode(data).decode(),
        "tools": TOOLS,
        "helpers": ["json_parse", "retry", "aio"],
        "others": ["web_search"],
        "alone": alone,
    }
    return ["%d%s %s" % (f.line, "!" if f.fatal else "", f.message) for f in preflight.check(request)]


DICT = "what read_file returns is a dict, not a text: its text is in [\"content\"]"
TAKES = "read_file takes path, offset, limit"

WRONG = {
    "from hermes_tools import web_search": ["1 web_search is not enabled; enabled are: read_file, search, search_files, terminal"],
    "from hermes_tools import readfile": ["1 hermes_tools has no readfile; did you mean read_file?"],
    "from hermes_tools import xyz": ["1 hermes_tools has no xyz"],
    "import hermes_tools as h\nh.web_search('x')": ["2 web_search is not enabled; enabled are: read_file, search, search_files, terminal"],
    "import hermes_tools\nhermes_tools.read_files('x')": ["2 hermes_tools has no read_files; did you mean read_file?"],
    IMPORT + "read_file(file='a')": ["2 read_file has no parameter file: " + TAKES, "2 read_file lacks path: " + TAKES],
    IMPORT + "read_file('a', 1, 2, 3)": ["2 read_file gets 4 arguments: " + TAKES],
    IMPORT + "x = [\n read_file()]": ["3 read_file lacks path: " + TAKES],
    "import hermes_tools\nhermes_tools.read_file(nam='a', path='b')": ["2 read_file has no parameter nam: " + TAKES],
    IMPORT + "print(read_file('a').splitlines())": ["2 " + DICT],
    IMPORT + "x = read_file('a')\nfor l in x.split(): pass": ["3 " + DICT],
    IMPORT + "def f():\n    x = read_file('a')\n    return x[:10]": ["4 " + DICT],
    IMPORT + "x = read_file('a')[0]": ["2 " + DICT],
    IMPORT + "print('got ' + read_file('a'))": ["2 " + DICT],
    IMPORT + "import json\nx = json.loads(terminal('ls'))": ["3 what terminal returns is a dict, not a text: its text is in [\"output\"]"],
    IMPORT + "search_files('x').strip()": ["2 what search_files returns is a dict, not a text"],
    "x = read_file('a')": ["1 read_file is used, but not imported: from hermes_tools import read_file"],
    "print(json_parse('{}'))": ["1 json_parse is used, but not imported: from hermes_tools import json_parse"],
    "x = (": ["1! syntax error: '(' was never closed" if sys.version_info >= (3, 10) else "1! syntax error: unexpected EOF while parsing"],
    "print(1)\nreturn 3": ["2! syntax error: 'return' outside function"],
    b"x = '\xff'": ["1! syntax error: "],
}

RIGHT = [
    IMPORT + "x = read_file('a', limit=3)\nprint(x['content'].splitlines(), x.get('error'), x.keys(), 'content' in x)",
    IMPORT + "read_file(*a)\nread_file(**k)\nread_file('a', **k)",
    IMPORT + "x = read_file('a')\nx = 'text'\nx.split()",
    IMPORT + "def f(x):\n    return x.split()\nx = read_file('a')",
    IMPORT + "def read_file(x, y, z, q): pass\nread_file(1, 2, 3, 4)",
    IMPORT + "x = read_file('a')['content'].split()[0]",
    "from hermes_tools import search, aio, retry\nsearch('x')['matches'][0]",
    "from hermes_tools import *\nread_file('a')",
    "from other import *\nread_file('a')",
    "def terminal(): pass\nterminal()",
    "from other import read_file\nread_file(1, 2, 3, 4).split()",
    "import hermes_tools as h\nh.read_file('a')\nh.x = 3\nh.__name__",
    b"# coding: latin-1\nx = '\xff'",
    "",
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
        self.assertEqual(look("x = read_file('a')", alone=False), [])

    def test_nothing_escapes(self) -> None:
        for code in ("(" * 5000, "x = " + "-" * 100000 + "1", "a\0b", b"\xff\xfe", "x" * 100000):
            with self.subTest(code[:10]):
                look(code)


if __name__ == "__main__":
    unittest.main()
