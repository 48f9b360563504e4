"""The source of a cell, decoded and compiled with the messages that Python gives for a file.

What Python looks up in the file, it does not find for a cell: the line of an error that is found after
parsing (a return outside a function), and where a byte stands that is no text.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import List, Union

_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=]")  # PEP 263


def decode(source: bytes, name: str) -> str:
    """The text of a cell, with "\\n" for every end of a line."""
    problem = ""
    encoding = "utf-8"
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(source).readline)[0]
    except SyntaxError as e:
        problem = e.msg
    try:
        text = source.decode(encoding)
    except UnicodeDecodeError as e:
        line = 1 + source.count(b"\n", 0, e.start)
        problem = "(unicode error) %s" % e
        if not any(_COOKIE.match(first) for first in source.split(b"\n", 2)[:2]):
            problem = (
                "Non-UTF-8 code starting with '\\x%02x' in %s on line %d, but no encoding declared; "
                "see https://peps.python.org/pep-0263/ for details" % (source[e.start], name, line)
            )
        raise SyntaxError(problem, (name, line, None, None)) from None
    if problem:
        raise SyntaxError(problem, (name, 1, None, None))
    return io.IncrementalNewlineDecoder(None, True).decode(text)


def lines(text: str) -> List[str]:
    """The lines of a text as linecache has them: the last one ends too, or the marks of a traceback stand wrong."""
    found = io.StringIO(text).readlines()  # splitlines would end one at a form feed too
    if found and not found[-1].endswith("\n"):
        found[-1] += "\n"
    return found


def parse(text: str, name: str) -> ast.Module:
    tree = compile(text, name, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    assert isinstance(tree, ast.Module)
    return tree


def build(source: Union[str, ast.Module, ast.Interactive], name: str, lines: List[str]) -> CodeType:
    """Makes code of what parse returned, or of a text. Lines are those of the text."""
    mode = "single" if isinstance(source, ast.Interactive) else "exec"
    try:
        return compile(source, name, mode, dont_inherit=True)  # type: ignore[no-any-return]
    except SyntaxError as e:
        if e.text is None and e.filename == name and 0 < (e.lineno or 0) <= len(lines):
            e.text = lines[e.lineno - 1]  # type: ignore[operator]
        raise
