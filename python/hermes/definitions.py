"""The file that __main__.__file__ names in a kernel.

Workers of multiprocessing import it in place of the cells: with the import, def and class statements
of all cells they find the functions that they are to call, and no cell runs twice. inspect reads the
source of classes from it.
"""

from __future__ import annotations

import ast
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Collection, List, Tuple

_KINDS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_CLASSES_KNOW_THEIR_LINE = sys.version_info >= (3, 13)


class _Definition:
    def __init__(self, names: Tuple[str, ...], text: str) -> None:
        self.names = names
        self.text = text
        self.holds = True  # it was not replaced, and did not fail
        self.replaced = []  # type: List[_Definition]

    def shown(self) -> str:
        """Its place in the file is never given away: classes remember their lines."""
        return self.text if self.holds else "\n" * self.text.count("\n")


class Definitions:
    def __init__(self, path: str) -> None:
        self.path = path
        self._futures = []  # type: List[str]  # they have to stand in the first line, together
        self._all = []  # type: List[_Definition]
        self._new = []  # type: List[_Definition]  # of the latest cell
        self._lines = 1  # so many are taken
        self._write()

    def add(self, tree: ast.Module, source: str) -> None:
        """Takes over the definitions of a cell that is about to run: its own workers need them.
        Tells the classes in tree in which line of the file they stand."""
        self._new = []
        futures = len(self._futures)
        lines = source.encode("utf-8", "surrogatepass").splitlines(True)
        for statement in tree.body:
            if _is_future(statement):
                assert isinstance(statement, ast.ImportFrom)
                self._futures += [a.name for a in statement.names if a.name not in self._futures]
            elif isinstance(statement, _KINDS):
                self._take(statement, lines)
        if self._new or len(self._futures) > futures:
            self._write()

    def keep(self, bound: Collection[str]) -> None:
        """After a cell that failed: takes back what it did not come to define, so that no worker
        fails at an import that failed here."""
        failed = [d for d in self._new if not all(name in bound for name in d.names)]
        for definition in failed:
            definition.holds = False
            for other in definition.replaced:
                other.holds = True
        if failed:
            self._write()

    def _take(self, statement: ast.stmt, lines: List[bytes]) -> None:
        definition = _Definition(_names(statement), _text(lines, statement))
        for other in self._all:
            if other.holds and other.names == definition.names:
                other.holds = False
                definition.replaced.append(other)
        if _CLASSES_KNOW_THEIR_LINE:
            _tell_lines(statement, self._lines + 1 - _first_line(statement))
        self._lines += definition.text.count("\n") + 1
        self._all.append(definition)
        self._new.append(definition)

    def _write(self) -> None:
        """Where there is no room the old file stays until the next time: workers may miss a function,
        and that is no reason to run no cell, which may be about to make room."""
        try:
            self._replace()
        except OSError:
            pass

    def _replace(self) -> None:
        first = "from __future__ import " + ", ".join(self._futures) if self._futures else ""
        temp = self.path + ".new"
        fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(fd, "w", encoding="utf-8", errors="surrogatepass") as f:
            f.write("\n".join([first] + [d.shown() for d in self._all]) + "\n")
        os.replace(temp, self.path)


def _first_line(statement: ast.stmt) -> int:
    """Counts from the first decorator, which lineno does not."""
    decorators = getattr(statement, "decorator_list", ())  # type: Collection[ast.expr]
    return min([statement.lineno] + [d.lineno for d in decorators])


def _text(lines: List[bytes], statement: ast.stmt) -> str:
    """The source of a statement, with its decorators and the comment behind it."""
    first, last = _first_line(statement) - 1, (statement.end_lineno or statement.lineno) - 1
    taken = lines[first : last + 1]
    rest = taken[-1][statement.end_col_offset :]
    if not rest.lstrip().startswith(b"#"):
        taken[-1] = taken[-1][: statement.end_col_offset]
    if first == statement.lineno - 1:  # it may stand behind another, with a semicolon
        taken[0] = taken[0][statement.col_offset :]
    return b"".join(taken).decode("utf-8", "surrogatepass").rstrip("\r\n")


def _names(statement: ast.stmt) -> Tuple[str, ...]:
    """What a statement binds: its key among the others."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return tuple(a.asname or a.name.partition(".")[0] for a in statement.names if a.name != "*")
    assert isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    return (statement.name,)


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _tell_lines(statement: ast.stmt, shift: int) -> None:
    """From 3.13 on inspect looks for a class at the line that the class knows, in this file: an
    assignment at the head of its body says which that is."""
    for node in ast.walk(statement):
        if isinstance(node, ast.ClassDef):
            line = ast.Assign(
                targets=[ast.Name(id="__firstlineno__", ctx=ast.Store())],
                value=ast.Constant(value=_first_line(node) + shift),
                lineno=node.lineno,
                col_offset=node.col_offset,
            )
            ast.copy_location(line, node)
            at = 1 if ast.get_docstring(node, clean=False) is not None else 0
            node.body.insert(at, ast.fix_missing_locations(line))
